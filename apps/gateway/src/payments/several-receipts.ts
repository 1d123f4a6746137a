import { LEDGER_REFUND, Prisma, SURPLUS_OPERATION } from '#database';
import type { ReceiptLine, ReceiptStatus } from '#fiscal-domain';
import type { SagaSnapshot } from '#payments';

/** Who asks for the saga's own refunds, where no client does: their key is unique under this name. */
export const SAGA_CLIENT = 'payments';

/** How far the refunds of one sale have come, taken together over its whole sum. `failed`: the one that the saga itself asked for. */
export type FiscalRefund = 'none' | 'pending' | 'registered' | 'failed';

/** One of the further receipts of a payment, as its statements read them. */
export interface FurtherReceipt {
  id: string;
  device_id: string;
  status: ReceiptStatus;
}

/** A receipt of a payment; without a device its provider registers it. */
export type PaidReceipt = Omit<FurtherReceipt, 'device_id'> & { device_id: string | null };

/** A further one as the saga reads it. */
export interface FurtherSale extends FurtherReceipt {
  fiscal_refund: FiscalRefund;
  lines: ReceiptLine[];
}

/** What names the first receipt of a payment and all others. */
export interface ReceiptsOf {
  receipt_id: string;
  receipt_status: ReceiptStatus;
  /** Null: the provider registers it. */
  device_id: string | null;
  /** Null: there is no other. */
  further: FurtherReceipt[] | null;
}

/** All receipts of payment p, the first one included. */
export const ALL_RECEIPTS = Prisma.sql`array_prepend(p.receipt_id, p.further_receipts)`;

/** The further receipts of payment p, or null; a payment for one receipt reads no other row for it. */
export const FURTHER_RECEIPTS = Prisma.sql`
  CASE WHEN p.further_receipts <> '{}' THEN (
    SELECT jsonb_agg(jsonb_build_object('id', o.id, 'device_id', o.device_id, 'status', o.status)
                     ORDER BY array_position(p.further_receipts, o.id))
      FROM receipts o WHERE o.id = ANY(p.further_receipts)) END`;

/** A part of a FROM clause: `fiscal_refund` of the sale in the row `sale`. */
export function fiscalRefundOf(sale: 'r' | 'o'): Prisma.Sql {
  const of = Prisma.raw(sale);
  return Prisma.sql`
    LATERAL (
      SELECT CASE WHEN coalesce(sum(f.total_tiyin) FILTER (WHERE f.status = 'registered'), 0) >= ${of}.total_tiyin
                  THEN 'registered'
                  WHEN bool_or(${LEDGER_REFUND} AND f.status <> 'registered') THEN 'pending'
                  WHEN bool_or(f.client_id = ${SAGA_CLIENT}) THEN 'failed'
                  ELSE 'none' END AS fiscal_refund
        FROM receipts f WHERE f.refund_of = ${of}.id AND f.operation <> ${SURPLUS_OPERATION})`;
}

/** How much more of payment p its receipts' refunds say than went back, or is to go back. */
export const REFUNDED_AHEAD = Prisma.sql`
  ((SELECT coalesce(sum(b.total_tiyin), 0) FROM receipts b
     WHERE b.refund_of = ANY(${ALL_RECEIPTS}) AND b.operation <> ${SURPLUS_OPERATION} AND b.status = 'registered')
   - p.refunded_tiyin
   - (SELECT coalesce(sum(f.amount_tiyin), 0) FROM payment_refunds f LEFT JOIN receipts w ON w.id = f.receipt_id
       WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested')
         AND w.status IS DISTINCT FROM 'rejected' AND w.status IS DISTINCT FROM 'cancelled'))::int8`;

export const FURTHER_SALES = Prisma.sql`
  CASE WHEN p.further_receipts <> '{}' THEN (
    SELECT jsonb_agg(jsonb_build_object('id', o.id, 'device_id', o.device_id, 'status', o.status,
                                        'fiscal_refund', back.fiscal_refund, 'lines', o.document -> 'lines')
                     ORDER BY array_position(p.further_receipts, o.id))
      FROM receipts o CROSS JOIN ${fiscalRefundOf('o')} AS back WHERE o.id = ANY(p.further_receipts)) END`;

/** Every receipt of a payment, the first one first. */
export function receiptsOf({ receipt_id: id, receipt_status: status, device_id, further }: ReceiptsOf): PaidReceipt[] {
  return [{ id, status, device_id }, ...(further ?? [])];
}

/** What came to nothing decides for all. */
const LEAST_FAR: readonly ReceiptStatus[] = [
  ...(['rejected', 'cancelled'] as const),
  ...(['awaiting_payment', 'accepted', 'unknown', 'sending', 'registered'] as const),
];

/**
 * Where the receipts of a payment stand, in one word, as long as its money stays or may come: all of them are made or none, so one that
 * came to nothing speaks for all; else the one that is least far.
 */
export function statusOfAll(payment: ReceiptsOf): ReceiptStatus {
  return firstOf(
    LEAST_FAR,
    receiptsOf(payment).map(({ status }) => status),
  );
}

interface Sale {
  status: ReceiptStatus;
  fiscal_refund: FiscalRefund;
}

type Standing = Pick<SagaSnapshot, 'receipt' | 'fiscalRefund'>;

/** Receipts and their refunds in one word each, while the money stays or may come. */
export function standingOf(sales: readonly Sale[]): Standing {
  const receipt = firstOf(
    LEAST_FAR,
    sales.map(({ status }) => status),
  );
  return { receipt, fiscalRefund: refundOfAll(sales) };
}

/**
 * The same once there is no money: what has not left is cancelled first, what is registered is refunded without waiting for the others, and
 * what may still be registered is waited for.
 */
export function standingWithoutMoney(sales: readonly Sale[]): Standing {
  const isStarted = sales.every(({ status, fiscal_refund: back }) => status !== 'registered' || back !== 'none');
  const receipt = firstOf(
    isStarted
      ? ['awaiting_payment', 'accepted', 'unknown', 'sending', 'registered', 'rejected', 'cancelled']
      : ['awaiting_payment', 'accepted', 'registered'],
    sales.map(({ status }) => status),
  );
  return { receipt, fiscalRefund: refundOfAll(sales) };
}

/** Only what is registered has anything to refund. */
function refundOfAll(sales: readonly Sale[]): SagaSnapshot['fiscalRefund'] {
  const states = sales.filter(({ status }) => status === 'registered').map(({ fiscal_refund: back }) => back);
  if (states.length === 0) return 'none';
  if (states.includes('none')) return states.every((state) => state === 'none') ? 'none' : 'partial';
  return firstOf(['pending', 'failed', 'registered'], states);
}

function firstOf<T extends string>(order: readonly T[], among: readonly string[]): T {
  const found = order.find((each) => among.includes(each));
  if (found === undefined) throw new Error(`none of ${order.join(', ')} among ${among.join(', ')}`);
  return found;
}
