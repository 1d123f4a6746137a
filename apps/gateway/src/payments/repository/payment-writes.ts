import { Prisma } from '#database';
import type { Statements } from '#ledger';
import { assertPaymentMove, type PaymentState, type ProviderDocument } from '#payments';
import { RECEIPT_POLL_MS } from '../payment-settings.js';
import type { PaymentFacts } from '../payment.rows.js';

/**
 * What is written on payments and their refunds beside the saga's own moves (payment.repository.ts): what a client, a provider's call
 * or a person wants. No other file writes these tables.
 */

/** Something has happened to it: its worker reads it at once. */
export async function makeDue(tx: Statements, paymentId: string): Promise<void> {
  await tx.$executeRaw`UPDATE payments SET due_at = now(), news = news + 1 WHERE id = ${paymentId}`;
}

/** Not later than so. No news: where a worker is at it now, what it reads is enough. */
export async function makeDueWithin(tx: Statements, paymentId: string, ms: number): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET due_at = LEAST(due_at, now() + make_interval(secs => ${ms / 1_000}::float8)) WHERE id = ${paymentId}`;
}

/** Between two readings of one payment's status that hints lead to. */
const HINT_PAUSE_SECONDS = 5;

/**
 * When its status may be read because of a hint: at once, or with the next turn. The row holds it, so all gateways together keep the pace.
 * With the turn it is not compared any more: whatever becomes of the reading, the comparison reads it after the turn has come.
 * @returns in how many milliseconds from now; null: a turn that is still to come covers this hint
 */
export async function takeHintTurn(tx: Statements, paymentId: string): Promise<number | null> {
  const [row] = await tx.$queryRaw<{ in_ms: number }[]>`
    UPDATE payments SET compared_at = NULL,
                        hinted_at = greatest(date_trunc('milliseconds', now()),
                                             hinted_at + make_interval(secs => ${HINT_PAUSE_SECONDS}::int4))
     WHERE id = ${paymentId} AND (hinted_at IS NULL OR hinted_at <= now())
    RETURNING ceil(extract(epoch FROM hinted_at - now()) * 1000)::int4 AS in_ms`;
  return row?.in_ms ?? null;
}

/** A hint that is followed at once, without a pace: it is compared with its provider once more, too. */
export async function noteHint(tx: Statements, paymentId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET compared_at = NULL, hinted_at = greatest(date_trunc('milliseconds', clock_timestamp()),
                                                                   hinted_at + interval '1 millisecond')
     WHERE id = ${paymentId}`;
}

/** What is there already stays: a document comes again and again. */
export function documentKept(which: 'sale' | 'refund', document: ProviderDocument): Prisma.Sql {
  return Prisma.sql`fiscal_documents = jsonb_build_object(${which}::text, ${JSON.stringify(document)}::jsonb)
                                       || coalesce(fiscal_documents, '{}')`;
}

/** The provider's own document, for the saga to put on the receipt. */
export async function keepDocument(
  tx: Statements,
  paymentId: string,
  which: 'sale' | 'refund',
  document: ProviderDocument,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET ${documentKept(which, document)}, due_at = now(), news = news + 1 WHERE id = ${paymentId}`;
}

export async function requestCancel(tx: Statements, paymentId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET cancel_requested_at = coalesce(cancel_requested_at, now()), due_at = now(), news = news + 1,
                        updated_at = now() WHERE id = ${paymentId}`;
}

/** @param sealed the code that the provider has sent to the customer; kept until it was tried */
export async function giveCode(tx: Statements, paymentId: string, sealed: Uint8Array): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET instrument_sealed = ${sealed}, code = 'given', due_at = now(), news = news + 1,
                        updated_at = now() WHERE id = ${paymentId}`;
}

export async function requestCapture(tx: Statements, paymentId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET waits_for_capture = false, due_at = now(), news = news + 1, updated_at = now()
     WHERE id = ${paymentId}`;
}

export async function noteDelivery(tx: Statements, paymentId: string, isDelivered: boolean): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET delivered_at = CASE WHEN ${isDelivered} THEN coalesce(delivered_at, now()) END, updated_at = now()
     WHERE id = ${paymentId}`;
}

/** Its failures and differences are forgotten, and what was left out is tried again. @returns its state; null: no such payment */
export async function tryAnew(tx: Statements, merchantId: string, paymentId: string): Promise<PaymentState | null> {
  const [row] = await tx.$queryRaw<{ state: PaymentState }[]>`
    UPDATE payments SET due_at = now(), news = news + 1, failures = 0, discrepancy = NULL, accepted_difference = NULL, receipt_kept_at = NULL, compared_at = NULL, updated_at = now(),
                        lines_submitted_at = CASE WHEN fiscal_documents -> 'sale' IS NOT NULL THEN lines_submitted_at END,
                        link = CASE link WHEN 'refused' THEN 'missing' ELSE link END
     WHERE id = ${paymentId} AND merchant_id = ${merchantId} RETURNING state`;
  return row?.state ?? null;
}

/** A payment as it was read before its provider was asked, and when. */
export type ComparedPayment = Pick<PaymentFacts, 'id' | 'state' | 'hinted_at' | 'now'>;

/**
 * It was compared with its provider; of no effect where it has moved since, or a hint has come that the reading may not have seen: one since
 * then, or one that a turn covers which was still to come (`takeHintTurn`).
 * @param found `discrepancy` null: both say the same. Null: there was no provider to ask, what is shown of it stays
 */
export async function noteComparison(
  tx: Statements,
  { id, state, hinted_at: hintedAt, now }: ComparedPayment,
  found: { discrepancy: unknown } | null,
): Promise<void> {
  if (hintedAt !== null && hintedAt > now) return;
  const discrepancy = found === null || found.discrepancy === null ? null : JSON.stringify(found.discrepancy);
  await tx.$executeRaw`
    UPDATE payments SET compared_at = now(),
                        discrepancy = CASE WHEN ${found === null} THEN discrepancy ELSE ${discrepancy}::jsonb END
     WHERE id = ${id} AND state = ${state}::payment_state AND hinted_at IS NOT DISTINCT FROM ${hintedAt}::timestamptz(3)`;
}

/**
 * A person has found right what is shown of it: the comparison shows these facts of the provider's no more.
 * @param state in which the person leaves it
 */
export async function acceptDifference(tx: Statements, paymentId: string, state: PaymentState): Promise<void> {
  await tx.$executeRaw`
    UPDATE payments SET accepted_difference = CASE WHEN jsonb_exists(discrepancy, 'ours')
                                                   THEN discrepancy || jsonb_build_object('ours', ${state}::text)
                                                   ELSE discrepancy END,
                        discrepancy = NULL, updated_at = now()
     WHERE id = ${paymentId} AND discrepancy IS NOT NULL`;
}

/** Its receipts stay without this money. Not while a worker has it, which may be refunding one of them. @returns whether it was written */
export async function keepReceipts(tx: Statements, paymentId: string): Promise<boolean> {
  const kept = await tx.$executeRaw`
    UPDATE payments SET receipt_kept_at = now(), due_at = now(), news = news + 1, updated_at = now()
     WHERE id = ${paymentId} AND (lease_until IS NULL OR lease_until < now())`;
  return kept > 0;
}

/** The money of a refund's receipt. `waiting`: until that is registered. */
export async function askMoneyBack(
  tx: Statements,
  refund: { paymentId: string; receiptId: string; amountTiyin: number; state: 'waiting' | 'requested' },
): Promise<void> {
  const { paymentId, receiptId, amountTiyin, state } = refund;
  await tx.$executeRaw`
    INSERT INTO payment_refunds (payment_id, receipt_id, amount_tiyin, state, reason)
    VALUES (${paymentId}, ${receiptId}, ${amountTiyin}::bigint, ${state}::payment_refund_state, 'refund of the receipt')`;
}

/** All that is left of what was taken. */
export async function askWholeBack(tx: Statements, paymentId: string): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason)
    SELECT id, amount_tiyin - refunded_tiyin, 'requested', 'refund of the whole payment' FROM payments WHERE id = ${paymentId}`;
  await makeDue(tx, paymentId);
}

/** A person has found the parts back that were being given back. @returns their sums */
export async function finishParts(tx: Statements, paymentId: string): Promise<bigint[]> {
  const parts = await tx.$queryRaw<{ amount_tiyin: bigint }[]>`
    UPDATE payment_refunds SET state = 'done', finished_at = now()
     WHERE payment_id = ${paymentId} AND state IN ('waiting', 'requested') AND (state = 'requested' OR called_at IS NOT NULL)
    RETURNING amount_tiyin`;
  return parts.map(({ amount_tiyin: tiyin }) => tiyin);
}

/**
 * Of a grouped statement (inbound/payme-groups.ts): made once, from a pair that the table of moves has. The ids find the rows, so
 * states are compared as text: as states they fit the partial index of due payments, which then is read from end to end
 * (docs/adr/0060-lane-reads.md has the same of receipts; measured: 1.6 instead of 1.0 ms of PostgreSQL for a transaction).
 */
function moved(from: PaymentState, to: PaymentState): Prisma.Sql {
  assertPaymentMove(from, to, 'provider');
  return Prisma.raw(`state = '${to}', state_since = now(), updated_at = now(), news = news + 1, failures = 0`);
}

const RESERVED = moved('pending', 'reserved');
const CAPTURED = moved('reserved', 'captured');

/** A part of a grouped statement that holds them locked as pending. @param from a part with payment_id and ends_at */
export function reservePayments(from: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE payments p SET ${RESERVED}, hold_until = d.ends_at, due_at = d.ends_at FROM ${from} d
     WHERE p.id = d.payment_id AND p.state::text = 'pending'`;
}

/** A part of a grouped statement that holds them locked as reserved. @param from a part with payment_id and the provider's id */
export function capturePayments(from: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    UPDATE payments p SET ${CAPTURED}, captured_at = coalesce(captured_at, now()), hold_until = NULL, instrument_sealed = NULL, provider_ref = d.id,
                          due_at = now() + make_interval(secs => ${RECEIPT_POLL_MS / 1_000}::float8)
      FROM ${from} d WHERE p.id = d.payment_id AND p.state::text = 'reserved'`;
}
