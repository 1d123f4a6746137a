import { Prisma } from '#database';
import { isWithoutMoney, type PaymentFlow, type PaymentState, type ProviderCode } from '#payments';
import { Problem } from '#problems';
import type { AcceptedRefund } from '../receipts/refunds/accepted-refund.js';
import { askMoneyBack, askWholeBack, makeDue } from './repository/payment-writes.js';
import { capabilitiesOf } from './provider-clients.js';

interface PaidSale {
  id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  values: Record<string, string>;
  merchantId: string;
  fiscal_mode: 'gateway' | 'provider';
  has_further: boolean;
}

const TAKEN: ReadonlySet<PaymentState> = new Set(['captured', 'refunding', 'refund_unknown', 'manual']);

/**
 * With a refund of a sale whose money the gateway collected, the money's way back is written down: it is asked of the provider
 * once the refund's receipt is registered. The refund of a receipt whose money is gone already moves none. While it is not known yet whether
 * the money will be taken, nothing is refunded: it might be taken in full afterwards, and nothing would ask for it back.
 *
 * @throws Problem 409 payment_not_settled, refund_by_provider; 422 partial_refund_unsupported
 */
export async function payBackRefund(tx: Prisma.TransactionClient, refund: AcceptedRefund): Promise<void> {
  const payment = refund.salePaymentId === null ? null : await lockPaid(tx, refund.salePaymentId);
  if (!payment || isWithoutMoney(payment.state)) return;
  if (!TAKEN.has(payment.state)) throw new Problem('payment_not_settled');
  await payBack(tx, payment, refund);
}

/** The same for the saga, which refunds a receipt because its money is not to be had, and releases it only then. */
export async function payBackOwnRefund(tx: Prisma.TransactionClient, refund: AcceptedRefund): Promise<void> {
  const payment = refund.salePaymentId === null ? null : await lockPaid(tx, refund.salePaymentId);
  if (payment && TAKEN.has(payment.state)) await payBack(tx, payment, refund);
}

async function payBack(tx: Prisma.TransactionClient, payment: PaidSale, refund: AcceptedRefund): Promise<void> {
  const amountTiyin = refund.document.totalTiyin;
  refuseUnlessPossible(payment, amountTiyin);
  if (payment.amount_tiyin < BigInt(amountTiyin) + (await promisedOf(tx, payment.id)))
    throw new Problem('nothing_left', 'So much of the money is on its way back, or back, that this is not left of it.');
  // Where the provider registers, its document of the refund follows the money: there is no receipt to wait for first.
  const state = payment.fiscal_mode === 'provider' ? 'requested' : 'waiting';
  await askMoneyBack(tx, { paymentId: payment.id, receiptId: refund.id, amountTiyin, state });
  if (state === 'requested') await makeDue(tx, payment.id);
}

/**
 * All that is left of the money of several receipts, asked of the provider at once: where it gives back no parts, no single receipt can be
 * refunded. The saga refunds each receipt once the money is back. Asked again it is the same; what ended without money stays as it is.
 *
 * @throws Problem 409 payment_of_one_receipt, payment_not_settled, refund_by_provider
 */
export async function payBackWhole(tx: Prisma.TransactionClient, paymentId: string): Promise<void> {
  const payment = await lockPaid(tx, paymentId);
  if (!payment.has_further) throw new Problem('payment_of_one_receipt');
  const isUnderWay = payment.state === 'refunding' || payment.state === 'refund_unknown';
  if (isUnderWay || isWithoutMoney(payment.state)) return;
  if (payment.state !== 'captured') throw new Problem('payment_not_settled', `The payment is ${payment.state}.`);
  refuseProviders(payment);
  const { whole, parts } = await openOf(tx, payment.id);
  if (whole > 0) return;
  if (parts > 0)
    throw new Problem('payment_not_settled', 'A part of it is on its way back; ask again when it is back.');
  await askWholeBack(tx, payment.id);
}

async function lockPaid(tx: Prisma.TransactionClient, paymentId: string): Promise<PaidSale> {
  const [payment] = await tx.$queryRaw<PaidSale[]>`
    SELECT p.id, p.provider, p.flow, p.state, p.amount_tiyin, p.fiscal_mode, a.settings -> 'values' AS "values",
           p.merchant_id AS "merchantId", p.further_receipts <> '{}' AS has_further
      FROM payments p JOIN provider_accounts a ON a.id = p.account_id
     WHERE p.id = ${paymentId} FOR UPDATE OF p`;
  if (!payment) throw new Error(`payment ${paymentId} is missing`);
  return payment;
}

/** A refund f whose receipt b it waits for, and that has not come to nothing. */
const IS_WAITING = Prisma.sql`
  (f.state = 'waiting' AND b.status IS DISTINCT FROM 'rejected' AND b.status IS DISTINCT FROM 'cancelled')`;

/** Sums that are to go back and are not: of one receipt's refund, or all that was left. */
async function openOf(tx: Prisma.TransactionClient, paymentId: string): Promise<{ whole: number; parts: number }> {
  const [row] = await tx.$queryRaw<{ whole: number; parts: number }[]>`
    SELECT count(*) FILTER (WHERE f.receipt_id IS NULL)::int4 AS whole,
           count(*) FILTER (WHERE f.receipt_id IS NOT NULL)::int4 AS parts
      FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id
     WHERE f.payment_id = ${paymentId}
       AND (f.state = 'requested' OR ${IS_WAITING})`;
  return row ?? { whole: 0, parts: 0 };
}

/** What is back or is to go back. In a statement after the payment's lock: it sees what was written under it. */
async function promisedOf(tx: Prisma.TransactionClient, paymentId: string): Promise<bigint> {
  const [row] = await tx.$queryRaw<{ promised: bigint }[]>`
    SELECT coalesce(sum(f.amount_tiyin), 0)::int8 AS promised
      FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id
     WHERE f.payment_id = ${paymentId}
       AND (f.state IN ('requested', 'done') OR ${IS_WAITING})`;
  return row?.promised ?? 0n;
}

function refuseProviders(sale: PaidSale): void {
  const { provider, flow } = sale;
  if (capabilitiesOf(sale).refundInitiator[flow] !== 'provider') return;
  const detail = `Refund it in ${provider}'s own cabinet: the receipt is refunded when ${provider} reports it.`;
  throw new Problem('refund_by_provider', detail);
}

function refuseUnlessPossible(sale: PaidSale, amountTiyin: number): void {
  refuseProviders(sale);
  const { provider, flow, amount_tiyin: paid } = sale;
  const { partialRefunds } = capabilitiesOf(sale);
  const canSplit = partialRefunds.includes(flow) && sale.fiscal_mode === 'gateway';
  if (!canSplit && BigInt(amountTiyin) !== paid) {
    const whole = sale.has_further ? ' Give back all of it: POST /v1/payments/{id}/refunds.' : '';
    const detail = `${provider} gives back the whole sum of this payment or nothing.${whole}`;
    throw new Problem('partial_refund_unsupported', detail);
  }
}
