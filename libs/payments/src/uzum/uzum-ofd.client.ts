import { truncateText } from '#fiscal-domain';
import { providerDocument, type FiscalLines, type LineForm, type WantedDocument } from '../fiscal.js';
import type { HttpExchange } from '../http-exchange.js';
import { isUuid, operationId } from '../operation-id.js';
import { statusOf, type CallOutcome, type NoStatus, type PaymentRef } from '../port.js';
import { isObject, textAt, type WireObject } from '../wire.js';

export interface UzumOfdOptions {
  /** `https://ofd-key.inplat-tech.com` */
  apiUrl: string;
  apiKey: string;
  /** The merchant's own number at the tax office; empty: nothing is said. */
  sellerTin: string;
  /** Whether `price` is that of one piece or of the whole line: the documents leave it open. */
  priceOf: 'unit' | 'line';
}

export const UZUM_OFD_LINE_FORM: LineForm = { fractions: true, discounts: true, commission: ['tin', 'pinfl'] };

const MAX_NAME = 63;

type OfdAnswer = { kind: 'answered'; status: number; body: WireObject } | NoStatus;

/**
 * Uzum Fiscalization: registers sales and refunds by lines that are handed in. Its operation id is made of the payment, so that the same
 * sale cannot be handed in as two.
 */
export class UzumOfdClient {
  constructor(
    private readonly options: UzumOfdOptions,
    private readonly exchange: HttpExchange,
  ) {}

  async submitLines(ref: PaymentRef, lines: FiscalLines): Promise<CallOutcome> {
    const body = { ...this.receipt(ref, 'sale', lines), receipt_type: 0 };
    const answer = await this.call('POST', '/v2/receipt', body);
    if (answer.kind !== 'answered') return answer;
    const { status } = answer;
    // Taken, and registered as soon as the tax office answers.
    if (status === 200 || status === 202) return handedIn(ref, answer);
    // "Already sent" is what a repeat is answered.
    if (status === 400 && answer.body['code'] === 2) return handedIn(ref, answer);
    return refusal(answer);
  }

  /** The refund's is registered when it is first asked for: nothing but its operation id is kept there. */
  async fetchDocument(ref: PaymentRef, { which, lines }: WantedDocument): Promise<CallOutcome> {
    const found = await this.call('GET', `/v2/receipt/${idOf(ref, which)}/receipt_url`);
    if (found.kind !== 'answered') return found;
    if (found.status === 200) return handedIn(ref, found);
    if (found.status === 202 || which === 'sale') return statusOf('captured', { providerRef: ref.providerRef });
    if (found.status !== 404) return refusal(found);
    const answer = await this.call('POST', '/v2/refund_receipt', this.receipt(ref, 'refund', lines));
    if (answer.kind !== 'answered') return answer;
    return answer.status === 200 || answer.status === 202 ? handedIn(ref, answer) : refusal(answer);
  }

  private receipt(ref: PaymentRef, which: 'sale' | 'refund', lines: FiscalLines): WireObject {
    const { sellerTin, priceOf } = this.options;
    return {
      ...{ payment_id: paymentIdOf(ref), operation_id: idOf(ref, which) },
      ...{ date_time: new Date(Date.now()).toISOString(), cash_amount: 0 },
      card_amount: lines.reduce((sum, line) => sum + line.totalTiyin + line.discountTiyin, 0),
      items: lines.map((line) => ({
        product_name: truncateText(line.name, MAX_NAME),
        price: priceOf === 'unit' ? line.priceTiyin : line.totalTiyin + line.discountTiyin,
        ...(line.discountTiyin > 0 && { discount: line.discountTiyin }),
        count: line.quantity / 1_000,
        ...{ spic: line.spic, package_code: line.packageCode, vat_percent: line.vatPercent },
        ...sellerOf(line, sellerTin),
      })),
    };
  }

  private async call(method: 'GET' | 'POST', path: string, body?: WireObject): Promise<OfdAnswer> {
    const { apiUrl, apiKey } = this.options;
    const answer = await this.exchange({
      ...{ method, url: `${apiUrl}${path}`, headers: { 'x-api-key': apiKey } },
      ...(body && { body }),
    });
    if (answer.kind !== 'answered') return answer;
    if (answer.status >= 500 || !isObject(answer.body))
      return { kind: 'unknown', detail: `HTTP ${String(answer.status)}` };
    return { kind: 'answered', status: answer.status, body: answer.body };
  }
}

function handedIn(ref: PaymentRef, { body }: { body: WireObject }): CallOutcome {
  const document = providerDocument({ url: textAt(body, 'receipt_url') });
  return statusOf('captured', { providerRef: ref.providerRef, document });
}

function refusal({ status, body }: { status: number; body: WireObject }): CallOutcome {
  const detail = textAt(body, 'message') ?? 'no message';
  return { kind: 'refused', code: String(status), detail };
}

function sellerOf({ commission }: FiscalLines[number], sellerTin: string): WireObject {
  const { pinfl = null } = commission ?? {};
  if (pinfl !== null) return { commission_info: { PINFL: pinfl } };
  const tin = commission?.tin ?? sellerTin;
  return tin === '' ? {} : { commission_info: { TIN: tin } };
}

/** Of a payment on Checkout it is the order's id, as the documents say. */
function paymentIdOf({ ourRef, providerRef }: PaymentRef): string {
  return providerRef !== null && isUuid(providerRef) ? providerRef : operationId(ourRef, 'payment');
}

function idOf({ ourRef }: PaymentRef, which: 'sale' | 'refund'): string {
  return operationId(ourRef, 'ofd', which);
}
