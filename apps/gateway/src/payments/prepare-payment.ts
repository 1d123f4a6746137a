import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { MAX_TIYIN } from '#fiscal-domain';
import { isProvider, type PaymentFlow } from '#payments';
import { Problem, type ProblemError } from '#problems';
import type { Route } from '../fleet/devices/choose-device.js';
import { withoutNulls } from '../http/without-nulls.js';
import { PrepareReceipt, type Prepared, type PreparedForProvider } from '../receipts/prepare-receipt.js';
import type { ReceiptBody } from '../receipts/receipt-body.js';
import type { OpenAccount } from './accounts/account-settings.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { refuseCardData } from './card-data.js';
import { receiptBodies, type PaymentRequestBody } from './payment-request-body.js';
import type { Alternative } from './routing/alternative.js';
import { AUTO, autoFault, chooseProvider, routedFiscalMode } from './routing/choose-provider.js';
import { fiscalModeOf, termsOf, type FiscalMode, type Whole } from './routing/payment-terms.js';
import { PaymentRouting } from './routing/payment-routing.js';

type Refused = Extract<Prepared, { kind: 'refused' }>;
type Sale = Extract<Prepared | PreparedForProvider, { kind: 'prepared' }>;

/** A sale whose money can be collected: through which account, how the money moves, who registers it, and what it becomes. */
export interface PreparedPayment {
  account: OpenAccount;
  flow: PaymentFlow;
  fiscalMode: FiscalMode;
  route: Sale['route'];
  document: StoredReceiptDocument;
  /** The receipts of other sellers, each at a register of its own choice. */
  further: PreparedFurther[];
  whole: Whole;
  /** Where it may go instead while no money has moved; null: the caller has named its provider. */
  alternatives: Alternative[] | null;
}

export interface PreparedFurther {
  body: ReceiptBody;
  route: Route;
  document: StoredReceiptDocument;
}

/** All receipts of a payment; the first one's place may be its provider's. */
interface Sales {
  kind: 'prepared';
  first: Sale;
  further: PreparedFurther[];
  whole: Whole;
}

const NO_ACCOUNT: ProblemError = {
  pointer: '/payment/provider',
  code: 'provider_unknown',
  detail: 'The merchant has no account at this payment provider; set one up under /v1/provider-accounts.',
};

/** Everything about a sale and its payment that can be wrong before money moves. Stores nothing. */
@Injectable()
export class PreparePayment {
  constructor(
    private readonly preparing: PrepareReceipt,
    private readonly accounts: ProviderAccounts,
    private readonly routing: PaymentRouting,
  ) {}

  /** @throws Problem 422 (rules, card data, provider not set up, none fits, mismatch), 503 (no device) */
  prepare(merchantId: string, given: PaymentRequestBody): Promise<PreparedPayment> {
    const body = withoutNulls(given);
    refuseCardData(body);
    return body.payment.provider === AUTO ? this.prepareRouted(merchantId, body) : this.prepareNamed(merchantId, body);
  }

  private async prepareNamed(merchantId: string, body: PaymentRequestBody): Promise<PreparedPayment> {
    const account = await this.accountFor(merchantId, body);
    const fiscalMode = account ? fiscalModeOf(account, body) : 'gateway';
    const prepared = await this.prepareSales(merchantId, body, fiscalMode);
    if (prepared.kind === 'refused' && (account || prepared.problem.errors.length === 0)) throw prepared.problem;
    // All that is wrong at once, as with every sale.
    if (!account || prepared.kind === 'refused') throw withOthers(prepared, NO_ACCOUNT);
    const { first, further, whole } = prepared;
    const { route, document } = sale(first);
    const terms = termsOf(account, body.payment, whole, fiscalMode);
    if (terms.kind === 'refused') throw Problem.fromErrors(terms.faults);
    return { account, flow: terms.flow, fiscalMode, route, document, further, whole, alternatives: null };
  }

  private async prepareRouted(merchantId: string, body: PaymentRequestBody): Promise<PreparedPayment> {
    const routing = await this.routing.of(merchantId);
    const fiscalMode = routedFiscalMode(routing, body);
    const prepared = await this.prepareSales(merchantId, body, fiscalMode);
    const wrong = autoFault(body.payment);
    if (prepared.kind === 'refused') throw wrong ? withOthers(prepared, wrong) : prepared.problem;
    if (wrong) throw Problem.fromErrors([wrong]);
    const { first, further, whole } = prepared;
    const { route, document } = sale(first);
    const chosen = chooseProvider(routing, body, whole, fiscalMode);
    if ('pointer' in chosen) throw Problem.fromErrors([chosen]);
    return { ...chosen, fiscalMode, route, document, further, whole };
  }

  /** Everything that is wrong with any of them, at once. */
  private async prepareSales(
    merchantId: string,
    request: PaymentRequestBody,
    fiscalMode: FiscalMode,
  ): Promise<Sales | Refused> {
    const bodies = receiptBodies(request);
    const first = await this.prepareFirst(merchantId, bodies.first, fiscalMode);
    const refusals: Refused[] = first.kind === 'refused' ? [first] : [];
    const documents: StoredReceiptDocument[] = first.kind === 'refused' ? [] : [first.document];
    const further: PreparedFurther[] = [];
    for (const { pointer, body } of bodies.further) {
      const prepared = await this.preparing.prepare(merchantId, body, { collects: true });
      if (prepared.kind === 'refused') {
        refusals.push(pointedAt(pointer, prepared));
        continue;
      }
      documents.push(prepared.document);
      further.push({ body, route: prepared.route, document: prepared.document });
    }
    const whole = wholeOf(documents);
    const faults = [...repeatedIds(bodies), ...(whole.totalTiyin > MAX_TIYIN ? [TOO_MUCH] : [])];
    const [refusal] = refusals;
    if (refusal && refusals.length + faults.length === 1) return refusal;
    faults.unshift(...refusals.flatMap(({ problem }) => problem.errors));
    if (faults.length > 0) return { kind: 'refused', problem: Problem.fromErrors(faults) };
    // No fault of the request: no register is configured.
    if (refusal) return refusal;
    if (first.kind === 'refused') return first;
    return { kind: 'prepared', first, further, whole };
  }

  private prepareFirst(
    merchantId: string,
    body: ReceiptBody,
    fiscalMode: FiscalMode,
  ): Promise<Prepared | PreparedForProvider> {
    return fiscalMode === 'provider'
      ? this.preparing.prepareForProvider(merchantId, body)
      : this.preparing.prepare(merchantId, body, { collects: true });
  }

  private async accountFor(merchantId: string, { payment }: ReceiptBody): Promise<OpenAccount | undefined> {
    const provider = payment.provider ?? '';
    return isProvider(provider) ? this.accounts.liveOf(merchantId, provider) : undefined;
  }
}

function withOthers(prepared: Sales | Refused, fault: ProblemError): Problem {
  const refusal: Refused | null = prepared.kind === 'refused' ? prepared : null;
  return Problem.fromErrors([...(refusal?.problem.errors ?? []), fault]);
}

const TOO_MUCH: ProblemError = {
  pointer: '/further_receipts',
  code: 'invalid_value',
  detail: 'Together the receipts come to more than one payment can be.',
};

/** Where a fault of a further receipt stands in the request. */
function pointedAt(pointer: string, { problem }: Refused): Refused {
  if (problem.errors.length === 0) return { kind: 'refused', problem };
  const errors = problem.errors.map((error) => ({ ...error, pointer: `${pointer}${error.pointer}` }));
  return { kind: 'refused', problem: Problem.fromErrors(errors) };
}

function wholeOf(documents: readonly StoredReceiptDocument[]): Whole {
  const totalTiyin = documents.reduce((sum, document) => sum + document.totalTiyin, 0);
  return { lines: documents.flatMap(({ lines }) => lines), totalTiyin };
}

/** A receipt is found by its external_id: each has its own. */
function repeatedIds({ first, further }: ReturnType<typeof receiptBodies>): ProblemError[] {
  const seen = new Set([first.external_id]);
  return further.flatMap(({ pointer, body: { external_id: id } }): ProblemError[] => {
    const isRepeated = id !== undefined && seen.has(id);
    seen.add(id);
    const detail = 'Another receipt of this payment has the same external_id.';
    return isRepeated ? [{ pointer: `${pointer}/external_id`, code: 'invalid_value', detail }] : [];
  });
}

function sale(prepared: Sale): Sale {
  if (prepared.document.type === 'sale') return prepared;
  throw Problem.at('/type', 'invalid_value', 'Only the money of a sale can be collected online.');
}
