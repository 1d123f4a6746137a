import { Inject, Injectable } from '@nestjs/common';
import { Prisma, SalesDatabase, StatementGroup } from '#database';
import { insertEvents, releaseReceipts } from '#ledger';
import { PAYME_LIFETIME_MS } from '#payments';
import { isDatabaseUnavailable, newId, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { FURTHER_RECEIPTS } from '../several-receipts.js';
import { capturePayments, reservePayments } from '../repository/payment-writes.js';
import type { FoundTransaction, LockedPayment, TransactionRow } from './inbound.repository.js';
import { CallbackSeal, type KeptCall } from './kept-calls.js';

export interface PaymeQuestion {
  accountId: string;
  /** Payme's transaction. */
  id: string | null;
  /** Our payment, where the call names it and nothing is known of the transaction. */
  reference: string | null;
}

/** What is kept of a call beside what it changes. */
type Kept = Pick<KeptCall, 'accountId' | 'address' | 'body' | 'answer'>;

export interface Reservation extends Kept {
  id: string;
  paymentId: string;
  amountTiyin: number;
  providerTimeMs: number;
  createTimeMs: number;
}

export interface Performance extends Kept {
  id: string;
  paymentId: string;
  receiptId: string;
  performTimeMs: number;
  /** For the receipt, where its register takes it. */
  extraInfo: unknown;
}

type FoundRow = { n: bigint; has_live: boolean } & Prefixed<TransactionRow, 't_'> & Prefixed<LockedPayment, 'p_'>;
type Prefixed<Row, Prefix extends string> = {
  [Key in keyof Row & string as `${Prefix}${Key}`]: Row[Key] | null;
};

const RESERVED = reservePayments(Prisma.raw('made'));
const CAPTURED = capturePayments(Prisma.raw('performed'));
const RELEASED = releaseReceipts(Prisma.raw('performed'));
const RESERVATIONS_NOTED = insertEvents(Prisma.sql`
        SELECT a.event_id, f.merchant_id, 'payment.reserved', f.id,
               jsonb_build_object('payment_id', f.id, 'status', 'reserved')
          FROM made m JOIN asked a ON a.account_id = m.account_id AND a.id = m.id AND a.payment_id = m.payment_id
               JOIN free f ON f.id = m.payment_id`);
const PERFORMANCES_NOTED = insertEvents(Prisma.sql`
        SELECT payment_event_id, merchant_id, 'payment.captured', payment_id,
               jsonb_build_object('payment_id', payment_id, 'status', 'captured') FROM performed
        UNION ALL
        SELECT receipt_event_id, merchant_id, 'receipt.accepted', receipt_id,
               jsonb_build_object('receipt_id', receipt_id) FROM performed`);

/**
 * The usual way of an order at Payme: asked for, reserved, paid. Calls that arrive together are read by one statement and written by
 * one (docs/adr/0039-grouped-provider-calls.md).
 *
 * A payment for several receipts is written by itself, with all of them locked.
 *
 * A write takes only rows that no other transaction has locked and that still are as they were read; whatever it leaves out (a repeat
 * at the same moment, a cancel, a payment that ran out) is decided again with the rows locked. Locks as everywhere: receipts first,
 * then payments; none is waited for, so that two groups cannot wait for one another.
 */
@Injectable()
export class PaymeGroups {
  private readonly finding = new StatementGroup((group: readonly PaymeQuestion[]) => this.findAll(group));
  private readonly reserving = new StatementGroup((group: readonly Reservation[]) => this.reserveAll(group));
  private readonly performing = new StatementGroup((group: readonly Performance[]) => this.performAll(group));

  constructor(
    private readonly prisma: SalesDatabase,
    private readonly seals: CallbackSeal,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** As it is committed, not locked. */
  find(question: PaymeQuestion): Promise<FoundTransaction> {
    return this.finding.one(question);
  }

  /** pending → reserved. @returns false: not done, to be decided with locks */
  reserve(reservation: Reservation): Promise<boolean> {
    return this.orWithLocks(this.reserving.one(reservation));
  }

  /** reserved → captured, and the receipt into its lane. @returns false: not done, to be decided with locks */
  perform(performance: Performance): Promise<boolean> {
    return this.orWithLocks(this.performing.one(performance));
  }

  /** Crash window: a commit whose answer was lost. The way with locks finds what it wrote. */
  private async orWithLocks(writing: Promise<boolean>): Promise<boolean> {
    try {
      return await writing;
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.warn({ err: error }, 'payment: calls of Payme were not written together');
      return false;
    }
  }

  private async findAll(group: readonly PaymeQuestion[]): Promise<FoundTransaction[]> {
    const rows = await this.prisma.queryHot<FoundRow>(Prisma.sql`
      SELECT asked.n, t.id AS t_id, t.payment_id AS t_payment_id, t.state AS t_state,
             t.amount_tiyin AS t_amount_tiyin, t.provider_time_ms AS t_provider_time_ms,
             t.create_time_ms AS t_create_time_ms, t.perform_time_ms AS t_perform_time_ms,
             t.cancel_time_ms AS t_cancel_time_ms, t.reason AS t_reason, t.attempt_number AS t_attempt_number,
             p.id AS p_id, p.number AS p_number, p.receipt_id AS p_receipt_id, p.provider AS p_provider,
             p.flow AS p_flow, p.state AS p_state, p.amount_tiyin AS p_amount_tiyin, p.provider_ref AS p_provider_ref,
             p.cancel_requested_at IS NOT NULL AS p_cancel_requested, p.expires_at > now() AS p_is_in_time, p.delivered_at IS NOT NULL AS p_is_delivered,
             r.status AS p_receipt_status, r.device_id AS p_device_id, ${FURTHER_RECEIPTS} AS p_further,
             CASE WHEN r.device_id IS NULL THEN r.document END AS p_document,
             EXISTS (SELECT FROM provider_transactions l WHERE l.payment_id = p.id AND l.is_live) AS has_live
        FROM unnest(${group.map(({ accountId }) => accountId)}::text[], ${group.map(({ id }) => id)}::text[],
                    ${group.map(({ reference }) => reference)}::text[])
             WITH ORDINALITY AS asked (account_id, id, reference, n)
        LEFT JOIN provider_transactions t ON t.account_id = asked.account_id AND t.id = asked.id
        LEFT JOIN payments p ON p.id = coalesce(t.payment_id, asked.reference) AND p.account_id = asked.account_id
        LEFT JOIN receipts r ON r.id = p.receipt_id`);
    const found: FoundTransaction[] = group.map(() => ({ payment: null, transaction: null, hasLive: false }));
    for (const row of rows) found[Number(row.n) - 1] = foundIn(row);
    return found;
  }

  private sealed(group: readonly Kept[]): { reference: string; hex: string }[] {
    return group.map(({ body }) => {
      const { reference, sealed } = this.seals.seal(body);
      return { reference, hex: sealed.toString('hex') };
    });
  }

  private async reserveAll(all: readonly Reservation[]): Promise<boolean[]> {
    const group = withoutRepeats(all);
    const bodies = this.sealed(group);
    const rows = await this.prisma.queryHot<{ account_id: string; id: string }>(Prisma.sql`
      WITH asked AS (
        SELECT * FROM unnest(${column(group, 'accountId')}::text[], ${column(group, 'id')}::text[],
            ${column(group, 'paymentId')}::text[], ${column(group, 'amountTiyin')}::int8[],
            ${column(group, 'providerTimeMs')}::int8[], ${column(group, 'createTimeMs')}::int8[],
            ${group.map(() => newId('evt'))}::text[], ${column(group, 'address')}::text[],
            ${column(bodies, 'reference')}::text[], ${column(bodies, 'hex')}::text[], ${answers(group)}::text[])
          AS a (account_id, id, payment_id, amount_tiyin, provider_time_ms, create_time_ms, event_id, address, reference,
                sealed, answer)
      ), free AS (
        SELECT id, account_id, merchant_id FROM payments
         WHERE id = ANY(${column(group, 'paymentId')}::text[]) AND flow = 'inbound' AND state = 'pending'
           AND cancel_requested_at IS NULL AND expires_at > now()
         ORDER BY id FOR UPDATE SKIP LOCKED
      ), made AS (
        INSERT INTO provider_transactions (account_id, id, payment_id, state, is_live, amount_tiyin, provider_time_ms,
                                           create_time_ms)
        SELECT a.account_id, a.id, a.payment_id, 1, true, a.amount_tiyin, a.provider_time_ms, a.create_time_ms
          FROM asked a JOIN free f ON f.id = a.payment_id AND f.account_id = a.account_id
        ON CONFLICT DO NOTHING RETURNING account_id, id, payment_id,
          to_timestamp((provider_time_ms + ${PAYME_LIFETIME_MS}::int8) / 1000.0) AS ends_at
      ), reserved AS (${RESERVED}
      ), noted AS (${RESERVATIONS_NOTED}
      ), kept AS (
        INSERT INTO provider_callbacks (account_id, address, reference, operation, provider_ref, payment_id, amount_tiyin,
                                        body_sealed, answer)
        SELECT a.account_id, a.address, a.reference, 'CreateTransaction', a.id, a.payment_id, a.amount_tiyin,
               decode(a.sealed, 'hex'), a.answer::jsonb
          FROM made m JOIN asked a ON a.account_id = m.account_id AND a.id = m.id AND a.payment_id = m.payment_id
      )
      SELECT account_id, id FROM made`);
    return doneAmong(all, rows);
  }

  private async performAll(all: readonly Performance[]): Promise<boolean[]> {
    const group = withoutRepeats(all);
    const bodies = this.sealed(group);
    const rows = await this.prisma.queryHot<{ account_id: string; id: string }>(Prisma.sql`
      WITH asked AS (
        SELECT * FROM unnest(${column(group, 'accountId')}::text[], ${column(group, 'id')}::text[],
            ${column(group, 'paymentId')}::text[], ${column(group, 'performTimeMs')}::int8[],
            ${group.map(() => newId('evt'))}::text[], ${group.map(() => newId('evt'))}::text[],
            ${column(group, 'address')}::text[], ${column(bodies, 'reference')}::text[],
            ${column(bodies, 'hex')}::text[], ${answers(group)}::text[],
            ${group.map(({ extraInfo }) => (extraInfo === null ? null : JSON.stringify(extraInfo)))}::text[])
          AS a (account_id, id, payment_id, perform_time_ms, payment_event_id, receipt_event_id, address, reference,
                sealed, answer,
                extra_info)
      ), taken AS (
        SELECT id FROM receipts
         WHERE id = ANY(${column(group, 'receiptId')}::text[]) AND status = 'awaiting_payment' AND device_id IS NOT NULL
         ORDER BY id FOR UPDATE SKIP LOCKED
      ), held AS (
        SELECT p.id, p.receipt_id, p.merchant_id, p.amount_tiyin FROM payments p JOIN taken ON taken.id = p.receipt_id
         WHERE p.flow = 'inbound' AND p.state = 'reserved' AND p.cancel_requested_at IS NULL AND p.further_receipts = '{}'
         ORDER BY p.id FOR UPDATE OF p SKIP LOCKED
      ), performed AS (
        UPDATE provider_transactions t SET state = 2, is_live = true, perform_time_ms = a.perform_time_ms
          FROM asked a JOIN held h ON h.id = a.payment_id
         WHERE t.account_id = a.account_id AND t.id = a.id AND t.payment_id = h.id AND t.state = 1
           AND a.perform_time_ms - t.provider_time_ms <= ${PAYME_LIFETIME_MS}::int8
        RETURNING t.account_id, t.id, t.payment_id, h.receipt_id, h.merchant_id, a.payment_event_id, a.receipt_event_id,
                  h.amount_tiyin AS sum, a.address, a.reference, a.sealed, a.answer, a.extra_info
      ), captured AS (${CAPTURED}
      ), released AS (${RELEASED}
      ), noted AS (${PERFORMANCES_NOTED}
      ), kept AS (
        INSERT INTO provider_callbacks (account_id, address, reference, operation, provider_ref, payment_id, amount_tiyin,
                                        body_sealed, answer)
        SELECT account_id, address, reference, 'PerformTransaction', id, payment_id, sum, decode(sealed, 'hex'),
               answer::jsonb FROM performed
      )
      SELECT account_id, id FROM performed`);
    return doneAmong(all, rows);
  }
}

function column<Row, Key extends keyof Row>(group: readonly Row[], key: Key): Row[Key][] {
  return group.map((row) => row[key]);
}

function answers(group: readonly Kept[]): string[] {
  return group.map(({ answer }) => JSON.stringify(answer));
}

/** The same transaction twice in one group: the first is written, with its own answer; the other is decided with locks. */
function withoutRepeats<Row extends { accountId: string; id: string }>(all: readonly Row[]): Row[] {
  const first = new Map<string, Row>();
  for (const row of all) {
    const key = `${row.accountId}\n${row.id}`;
    if (!first.has(key)) first.set(key, row);
  }
  return [...first.values()];
}

function doneAmong(
  group: readonly { accountId: string; id: string }[],
  rows: readonly { account_id: string; id: string }[],
): boolean[] {
  const done = new Set(rows.map((row) => `${row.account_id}\n${row.id}`));
  return group.map(({ accountId, id }) => done.delete(`${accountId}\n${id}`));
}

function foundIn(row: FoundRow): FoundTransaction {
  return {
    payment: row.p_id === null ? null : without<LockedPayment>(row, 'p_'),
    transaction: row.t_id === null ? null : without<TransactionRow>(row, 't_'),
    hasLive: row.has_live,
  };
}

/** A joined row's own columns, once it is known to be there. */
function without<Row>(row: FoundRow, prefix: 't_' | 'p_'): Row {
  const own = Object.entries(row).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])) as Row;
}
