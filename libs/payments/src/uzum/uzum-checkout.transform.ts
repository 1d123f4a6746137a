import { providerDocument, type FiscalLines, type ProviderDocument } from '../fiscal.js';
import type { HttpAnswer } from '../http-exchange.js';
import { statusOf, type MoneyStatus, type NoStatus, type PaymentEvidence, type StatusFacts } from '../port.js';
import { integerAt, isObject, objectAt, rrnOf, textAt, type WireObject } from '../wire.js';

const STATUS: Readonly<Record<string, MoneyStatus>> = {
  REGISTERED: 'pending',
  AUTHORIZED: 'authorized',
  COMPLETED: 'captured',
  REFUNDED: 'refunded',
  REVERSED: 'voided',
  DECLINED: 'declined',
  // Only a phone's balance is topped up: never what was asked for here.
  TOP_UP_COMPLETED: 'manual',
};

/** GetOrderStatusResponse. While one of its operations is at work nothing of it is final. */
export function uzumOrderStatus(order: WireObject): StatusFacts {
  const said = STATUS[textAt(order, 'status') ?? ''] ?? 'in_flight';
  const refundedTiyin = integerAt(order, 'refundedAmount');
  const completedTiyin = integerAt(order, 'completedAmount');
  const amountTiyin = integerAt(order, 'amount');
  const takenTiyin = completedTiyin ?? amountTiyin;
  const isPartBack = said === 'refunded' && refundedTiyin !== null && takenTiyin !== null && refundedTiyin < takenTiyin;
  // A sum that is another than the order's was taken: people decide.
  const isOtherSum = said === 'captured' && completedTiyin !== null && completedTiyin !== amountTiyin;
  const money = isOtherSum ? 'manual' : isPartBack ? 'captured' : said;
  const isAtWork = uzumOperations(order).some(({ state }) => state === 'IN_PROGRESS');
  return statusOf(isAtWork ? 'in_flight' : money, {
    providerRef: textAt(order, 'orderId'),
    amountTiyin,
    refundedTiyin,
    evidence: evidenceOf(order),
  });
}

export interface UzumOperation {
  merchantOperationId: string | null;
  operationType: string;
  state: string;
  rrn: string | null;
}

export function uzumOperations(order: WireObject): UzumOperation[] {
  const operations = order['operations'];
  if (!Array.isArray(operations)) return [];
  return operations.filter(isObject).map((operation) => ({
    merchantOperationId: textAt(operation, 'merchantOperationId'),
    operationType: textAt(operation, 'operationType') ?? '',
    state: textAt(operation, 'state') ?? '',
    rrn: textAt(operation, 'rrn'),
  }));
}

function evidenceOf(order: WireObject): PaymentEvidence {
  const taken = uzumOperations(order).find(({ state, rrn }) => state === 'SUCCESS' && rrn !== null);
  return { rrn: rrnOf(taken?.rrn ?? null), phone: null, cardType: uzumCardType(integerAt(order, 'cardType')) };
}

export function uzumCardType(said: number | null): PaymentEvidence['cardType'] {
  if (said === 1) return 'corporate';
  return said === 2 ? 'personal' : null;
}

export type UzumAnswer = { kind: 'result'; result: WireObject } | NoStatus;

/** Codes that say for sure that the money was not moved by this call. Every other one is read up. */
const DEFINITIVE: ReadonlySet<number> = new Set([
  ...[1001, 1006, 2000],
  ...[3001, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010, 3011, 3012, 3013, 3014, 3015, 3016],
  ...[3019, 3020, 3021, 3022, 3023, 3024, 3025, 3027, 3030, 3034, 3036, 3037, 3038, 3039, 3040, 3041, 3042],
  ...[3045, 3046, 3047, 3048, 3050, 3051, 3052, 3053, 3054, 3055, 3056, 3057, 3058, 3059, 3060, 3401, 3404, 3405],
]);

/** `{errorCode, message?, result?}`, always HTTP 200. */
export function uzumAnswer(answer: HttpAnswer): UzumAnswer {
  if (answer.kind !== 'answered') return answer;
  const { status, body } = answer;
  if (!isObject(body)) return { kind: 'unknown', detail: `HTTP ${String(status)} with an unreadable body` };
  const code = integerAt(body, 'errorCode');
  if (status === 200 && code === 0) return { kind: 'result', result: objectAt(body, 'result') };
  const detail = textAt(body, 'message') ?? `HTTP ${String(status)}`;
  if (code !== null && status < 500 && DEFINITIVE.has(code)) return { kind: 'refused', code: String(code), detail };
  return { kind: 'unknown', detail: `HTTP ${String(status)}, errorCode ${String(code)}: ${detail}` };
}

/** The cart by which Checkout registers a one-step payment. Its discounts are nowhere defined well: none get here. */
export function uzumCart(ourRef: string, lines: FiscalLines, sellerTin: string): WireObject {
  return {
    cartId: ourRef,
    receiptType: 'PURCHASE',
    total: lines.reduce((sum, { totalTiyin }) => sum + totalTiyin, 0),
    items: lines.map((line) => ({
      title: line.name,
      productId: productIdOf(line),
      quantity: line.quantity / 1_000,
      unitPrice: line.priceTiyin,
      total: line.totalTiyin,
      receiptParams: receiptParams(line, sellerTin),
    })),
  };
}

/** The cart of a refund: it names neither titles nor prices. */
export function uzumRefundCart(lines: FiscalLines, sellerTin: string): WireObject {
  return {
    total: lines.reduce((sum, { totalTiyin }) => sum + totalTiyin, 0),
    items: lines.map((line) => ({
      productId: productIdOf(line),
      quantity: line.quantity / 1_000,
      receiptParams: receiptParams(line, sellerTin),
    })),
  };
}

function productIdOf({ sku, line }: FiscalLines[number]): string {
  return sku ?? String(line);
}

function receiptParams(line: FiscalLines[number], sellerTin: string): WireObject {
  const { tin = null, pinfl = null } = line.commission ?? {};
  const seller = pinfl === null ? { TIN: tin ?? sellerTin } : { PINFL: pinfl };
  return { spic: line.spic, packageCode: line.packageCode, vatPercent: line.vatPercent, ...seller };
}

/** Of GetReceiptsResponse. */
export function uzumReceipt(result: WireObject, which: 'sale' | 'refund'): ProviderDocument | null {
  const receipts = result['receipts'];
  if (!Array.isArray(receipts)) return null;
  const wanted = which === 'sale' ? 'PURCHASE' : 'REFUND';
  const found = receipts.filter(isObject).find((receipt) => receipt['receiptType'] === wanted);
  return found ? providerDocument({ url: textAt(found, 'receiptUrl') }) : null;
}
