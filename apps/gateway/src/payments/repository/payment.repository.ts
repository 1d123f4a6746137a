import { Inject, Injectable } from '@nestjs/common';
import { isUniqueViolation, KnownServer, onKnownServer, Prisma, PUT_BACK_US, SalesDatabase } from '#database';
import { insertEvents, jsonOrNull } from '#ledger';
import { newId } from '#runtime';
import {
  assertPaymentMove,
  isWithoutMoney,
  needsNoInstrument,
  type CallOutcome,
  type PaymentState,
  type ProviderCall,
  type ProviderCode,
  type ProviderDocument,
} from '#payments';
import { SINCE_MADE } from '../calls-of-payment.js';
import { PAYMENT_TIMING, type PaymentTiming } from '../payment-settings.js';
import { IS_OF_COPY, MAY_BE_BACK } from './of-copy.js';
import { documentKept } from './payment-writes.js';
import type { Hand, InformedLease, Lease, PaymentFacts } from '../payment.rows.js';
import type { Alternative } from '../routing/alternative.js';
import { fiscalRefundOf, FURTHER_SALES, REFUNDED_AHEAD } from '../several-receipts.js';

type Tx = Prisma.TransactionClient;

const MONEY_CALLS: ProviderCall[] = ['authorize', 'capture', 'void', 'refund'];
/** Of which another one would be another payment, move money again, or be another document. */
const ONCE: ReadonlySet<ProviderCall> = new Set([...MONEY_CALLS, 'prepare', 'submit_lines']);
/** A sum that is to be asked back: a refund's once its receipt is registered. */
const REFUND_DUE = Prisma.sql`
  (f.state = 'requested' OR (f.state = 'waiting' AND EXISTS (
    SELECT FROM receipts back WHERE back.id = f.receipt_id AND back.status = 'registered')))`;

const FINISH_REFUNDS = Prisma.sql`
  UPDATE payment_refunds f SET state = 'done', finished_at = now()
    FROM moved WHERE f.payment_id = moved.id AND f.state IN ('waiting', 'requested')`;

/** What a call leaves behind: only the fields given are written. */
export interface PaymentChange {
  state?: PaymentState;
  providerRef?: string | null;
  holdUntil?: Date | null;
  nextAction?: unknown;
  evidence?: unknown;
  reason?: string | null;
  link?: PaymentFacts['link'];
  failures?: number;
  refundedTiyin?: bigint;
  /** It was handed to the provider before; where nothing is taken any more it goes by itself. */
  forgetInstrument?: boolean;
  /** The provider's own document of the sale; the first one that is reported stays. */
  saleDocument?: ProviderDocument;
  refundDocument?: ProviderDocument;
  linesSubmitted?: boolean;
  code?: PaymentFacts['code'];
  /** When its worker reads it, if nothing happens before: what happened is news to it. */
  dueAt?: Date | 'now';
  /** To another provider, before any money has moved. */
  rerouted?: Alternative & { from: ProviderCode; left: Alternative[] };
}

/** A call that is open: its row is found in its month alone. */
export interface OpenedCall {
  id: bigint;
  started_at: Date;
}

interface OpeningCall {
  from: PaymentState;
  during: PaymentState;
  /** The refund that is asked for, and its sum: it stays the one in question until it is known what became of it. */
  refund: { id: bigint; tiyin: bigint } | null;
  /** When the database was put back last, as the payment's reader knew. */
  putBackUs: bigint | null;
}

/** How a payment stands after a call of its own worker. */
export interface ClosedCall {
  state_since: Date;
  /** As it was read before the call: nothing else has happened to it. */
  news: number;
  /** By the database's clock. */
  now: Date;
}

/** When to read again: null = only when something happens. `for` a person: nothing goes on by itself. */
export interface Rest {
  kind: 'rest';
  afterMs: number | null;
  for?: 'operator';
}

export interface ClaimedPayment {
  id: string;
  merchantId: string;
}

/** So many of those that are due, of other merchants than these. */
export interface DuePaymentsWanted {
  limit: number;
  notOf: readonly string[];
}

@Injectable()
export class PaymentRepository {
  private readonly leaseSeconds: number;

  constructor(
    private readonly prisma: SalesDatabase,
    @Inject(PAYMENT_TIMING) { leaseSeconds }: PaymentTiming,
    private readonly server: KnownServer,
  ) {
    this.leaseSeconds = leaseSeconds;
  }

  /** Takes the payments that are due, or these; no other worker has them until the lease ends. */
  async claim(leaseId: string, which: DuePaymentsWanted | { ids: readonly string[] }): Promise<ClaimedPayment[]> {
    const due =
      'ids' in which
        ? Prisma.sql`id = ANY(${[...which.ids]}::text[])`
        : Prisma.sql`id IN (SELECT id FROM payments WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now())
                               AND merchant_id <> ALL(${[...which.notOf]}::text[])
                             ORDER BY due_at LIMIT ${which.limit}::int4 FOR UPDATE SKIP LOCKED)`;
    const rows = await this.prisma.queryHot<{ id: string; merchant_id: string }>(Prisma.sql`
      UPDATE payments SET lease_id = ${leaseId} || '/' || id,
                          lease_until = now() + make_interval(secs => ${this.leaseSeconds}::int4)
       WHERE ${due} AND (lease_until IS NULL OR lease_until < now())
      RETURNING id, merchant_id`);
    return rows.map((row) => ({ id: row.id, merchantId: row.merchant_id }));
  }

  /** Gives a payment back, to be read again; what happened to its receipts meanwhile makes it due at once. */
  async release({ paymentId, leaseId }: Lease, { afterMs, for: awaited }: Rest, newsSeen: number): Promise<void> {
    const due = afterMs === null ? null : afterMs / 1_000;
    await this.prisma.queryHot(Prisma.sql`
      UPDATE payments
         SET lease_id = NULL, lease_until = NULL, awaits_operator = ${awaited === 'operator'},
             due_at = CASE WHEN news <> ${newsSeen}::int4 THEN now()
                           ELSE now() + make_interval(secs => ${due}::float8) END
       WHERE id = ${paymentId} AND lease_id = ${leaseId}`);
  }

  async readFacts(paymentId: string): Promise<PaymentFacts | null> {
    return (await this.readAll([paymentId]))[0] ?? null;
  }

  readAll(paymentIds: readonly string[]): Promise<PaymentFacts[]> {
    return this.prisma.queryHot<PaymentFacts>(Prisma.sql`
      SELECT p.id, p.number, p.merchant_id, p.account_id, p.receipt_id, p.provider, p.flow, p.state, p.amount_tiyin,
             p.refunded_tiyin, p.provider_ref, p.instrument_sealed, p.return_url, p.next_action, p.evidence, p.reason,
             p.waits_for_capture, p.cancel_requested_at IS NOT NULL AS cancel_requested, p.expires_at, p.hold_until, p.link,
             p.code, p.fiscal_mode, p.fiscal_documents, p.lines_submitted_at IS NOT NULL AS lines_submitted, p.alternatives, p.failures, p.news, p.created_at, p.state_since, p.hinted_at, p.accepted_difference,
             p.receipt_kept_at IS NOT NULL AS is_receipt_kept,
             clock_timestamp() AS now, r.status AS receipt_status, r.trace_parent, r.device_id,
             r.document, r.terminal_id, r.receipt_seq, r.fiscal_sign, r.verification_url, back.fiscal_refund,
             CASE WHEN r.status = 'registered' THEN ${REFUNDED_AHEAD} > 0 ELSE false END AS is_refunded_ahead,
             ${FURTHER_SALES} AS further,
             due.id AS refund_id, least(due.amount_tiyin, p.amount_tiyin - p.refunded_tiyin) AS refund_tiyin, coalesce(due.calls, 0) AS refund_calls,
             coalesce(due.may_be_back, false) AS may_be_back, ${IS_OF_COPY} AS is_of_copy, ${PUT_BACK_US} AS put_back_us,
             greatest((SELECT max(started_at) FROM payment_calls c
                        WHERE c.payment_id = p.id AND ${SINCE_MADE} AND c.call = ANY(${MONEY_CALLS})), due.called_at)
               AS money_called_at
        FROM payments p
        JOIN receipts r ON r.id = p.receipt_id
        CROSS JOIN ${fiscalRefundOf('r')} AS back
        LEFT JOIN LATERAL (
          SELECT f.id, f.amount_tiyin, f.called_at, ${MAY_BE_BACK} AS may_be_back,
                 (SELECT count(*)::int4 FROM payment_calls c WHERE c.payment_id = p.id AND c.call = 'refund'
                     AND c.started_at >= f.called_at) AS calls
            FROM payment_refunds f WHERE f.payment_id = p.id AND ${REFUND_DUE}
           ORDER BY f.called_at, f.id LIMIT 1) AS due ON true
       WHERE p.id = ANY(${[...paymentIds]}::text[])`);
  }

  /**
   * The intent: a row and the state that says so, before the first byte leaves. A call that an earlier worker left open is
   * closed as lost; what it did only the provider can say.
   * @returns null when another worker has the payment, or it or the database is no longer as it was read
   */
  async openCall(lease: Lease, call: ProviderCall, opening: OpeningCall): Promise<OpenedCall | null> {
    if (!ONCE.has(call)) return this.openAlone(lease, call, opening);
    const informed = { ...lease, putBackUs: opening.putBackUs };
    return this.server.tried(() => this.openAlone(informed, call, opening));
  }

  private async openAlone(lease: Lease, call: ProviderCall, opening: OpeningCall): Promise<OpenedCall | null> {
    try {
      return await this.open(lease, call, opening, { isOneOpen: false });
    } catch (error) {
      // The claim of the open call says so. It is not asked for each time: every month would be read.
      if (!isUniqueViolation(error)) throw error;
      return this.open(lease, call, opening, { isOneOpen: true });
    }
  }

  private async open(
    lease: Lease,
    call: ProviderCall,
    { from, during, refund }: OpeningCall,
    { isOneOpen }: { isOneOpen: boolean },
  ): Promise<OpenedCall | null> {
    const lost = Prisma.sql`, lost AS (
        UPDATE payment_calls c SET finished_at = now(), outcome = '{"kind":"unknown","detail":"lost: its caller died"}'
          FROM moved WHERE c.payment_id = moved.id AND c.finished_at IS NULL RETURNING c.id
      )`;
    // Counting them makes sure that they are closed first: one call is open at a time.
    const first = isOneOpen ? Prisma.sql`, (SELECT count(*) FROM lost) AS closed` : Prisma.empty;
    const [row] = await this.prisma.queryHot<OpenedCall>(Prisma.sql`
      WITH ${this.moving(lease, from, { state: during })}${isOneOpen ? lost : Prisma.empty}, asked AS (
        UPDATE payment_refunds f SET called_at = coalesce(f.called_at, now()), amount_tiyin = ${refund?.tiyin ?? null}::int8
          FROM moved WHERE f.id = ${refund?.id ?? null}::int8 AND f.payment_id = moved.id
      )
      INSERT INTO payment_calls (payment_id, call, lease_id)
      SELECT moved.id, ${call}, ${lease.leaseId} FROM moved${first}
      RETURNING id, started_at`);
    return row ?? null;
  }

  /**
   * The event after the call.
   * @returns null when the payment has gone to another worker: what that one reads counts
   */
  async closeCall(
    lease: Lease,
    call: OpenedCall,
    outcome: CallOutcome,
    move: { from: PaymentState; change: PaymentChange; refundDone?: bigint },
  ): Promise<ClosedCall | null> {
    // By a value its month would be found when the statement is planned, which then is done each time and costs more than all the rest.
    const startedAt = Prisma.sql`(SELECT ${call.started_at}::timestamptz(3))`;
    const [row] = await this.prisma.queryHot<ClosedCall>(Prisma.sql`
      WITH closed AS (
        UPDATE payment_calls SET finished_at = now(), outcome = ${JSON.stringify(withoutEvidence(outcome))}::jsonb
         WHERE id = ${call.id} AND started_at = ${startedAt} AND finished_at IS NULL
      ), ${this.moving(lease, move.from, move.change)}, refunded AS (
        UPDATE payment_refunds f SET state = 'done', finished_at = now()
          FROM moved WHERE f.id = ${move.refundDone ?? null}::int8 AND f.payment_id = moved.id
      )
      SELECT state_since, news, now FROM moved`);
    return row ?? null;
  }

  /**
   * Moves a payment and writes its event, if it still is where it was read and in this worker's hands. The lease is renewed.
   */
  async change(tx: Tx, hand: Hand, from: PaymentState, change: PaymentChange): Promise<boolean> {
    const moved = await tx.$queryRaw<unknown[]>`
      WITH ${this.moving(hand, from, change)} SELECT id FROM moved`;
    return moved.length === 1;
  }

  /** The move and its event as parts of one statement: `moved` holds the payment if it moved. */
  private moving(hand: Hand, from: PaymentState, change: PaymentChange): Prisma.Sql {
    const { paymentId } = hand;
    const held = 'by' in hand ? Prisma.sql`true` : Prisma.sql`lease_id = ${hand.leaseId} AND lease_until > now()`;
    const known = 'putBackUs' in hand ? Prisma.sql` AND ${onKnownServer(hand.putBackUs)}` : Prisma.empty;
    const state = change.state ?? from;
    const updated = Prisma.sql`moved AS (
        UPDATE payments SET ${Prisma.join([...assignments(change, state, from), this.renewedLease()], ', ')}
         WHERE id = ${paymentId} AND state = ${from}::payment_state AND ${held}${known}
        RETURNING id, merchant_id, state_since, news, clock_timestamp() AS now)`;
    const moved = change.rerouted
      ? Prisma.sql`${updated}, rerouted AS (${rerouteEvent(paymentId, change.rerouted)})`
      : updated;
    if (state === from) return moved;
    assertPaymentMove(from, state, 'by' in hand ? hand.by : 'worker');
    const published = Prisma.sql`${moved}, published AS (${eventOf(paymentId, state, change)})`;
    // All of the money is back, by whatever path: nothing of it is to be asked for any more.
    return state === 'refunded' ? Prisma.sql`${published}, settled AS (${FINISH_REFUNDS})` : published;
  }

  private renewedLease(): Prisma.Sql {
    return Prisma.sql`lease_until = CASE WHEN lease_id IS NULL THEN NULL
                                         ELSE now() + make_interval(secs => ${this.leaseSeconds}::int4) END`;
  }

  /**
   * Moves a payment that needs no call; what an inbound provider still holds of it is closed with it. Without money it ends only where that can be
   * known: on a promoted standby it may have been taken.
   */
  async moveAlone(
    lease: Lease,
    { state: from, put_back_us: putBackUs }: PaymentFacts,
    to: PaymentState,
  ): Promise<boolean> {
    if (!isWithoutMoney(to)) return this.moveOnce(lease, from, to);
    return this.server.tried(() => this.moveOnce({ ...lease, putBackUs }, from, to));
  }

  private moveOnce(hand: Lease | InformedLease, from: PaymentState, to: PaymentState): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      if (!(await this.change(tx, hand, from, { state: to, failures: 0, forgetInstrument: true }))) return false;
      await tx.$executeRaw`
        UPDATE provider_transactions
           SET state = -1, is_live = false, reason = 4,
               cancel_time_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
         WHERE payment_id = ${hand.paymentId} AND state = 1`;
      return true;
    });
  }

  /**
   * A refund that a restore may have lost sight of: as if it had been asked for and not been answered. Its provider is read, and it is asked for
   * where that shows that it was not.
   */
  async presumeAsked(lease: Lease, refundId: bigint | null): Promise<boolean> {
    const moved = await this.prisma.queryHot(Prisma.sql`
      WITH ${this.moving(lease, 'captured', { state: 'refunding', reason: 'the database was put back since' })}, asked AS (
        UPDATE payment_refunds f SET called_at = now()
          FROM moved WHERE f.id = ${refundId}::int8 AND f.payment_id = moved.id
      )
      SELECT id FROM moved`);
    return moved.length === 1;
  }

  /** Something that only a person can judge; reconciliation shows it. */
  async noteDifference(
    paymentId: string,
    discrepancy: unknown,
    tx: Pick<Tx, '$executeRaw'> = this.prisma,
  ): Promise<void> {
    await tx.$executeRaw`
      UPDATE payments SET discrepancy = ${JSON.stringify(discrepancy)}::jsonb WHERE id = ${paymentId}`;
  }

  /** Writes down that all that was taken has to go back. */
  requestWholeRefund({ paymentId, leaseId }: Lease, reason: string): Promise<number> {
    return this.prisma.$executeRaw`
      INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason)
      SELECT id, amount_tiyin - refunded_tiyin, 'requested', ${reason} FROM payments p
       WHERE id = ${paymentId} AND lease_id = ${leaseId} AND amount_tiyin > refunded_tiyin
         AND NOT EXISTS (SELECT FROM payment_refunds f WHERE f.payment_id = p.id AND f.state = 'requested')`;
  }
}

/** The customer's phone and the card's number at its bank stand on the payment and on its receipt (`extra_info`), and not on each call. */
function withoutEvidence(outcome: CallOutcome): CallOutcome {
  return outcome.kind === 'status' ? { ...outcome, evidence: null } : outcome;
}

function assignments(change: PaymentChange, state: PaymentState, from: PaymentState): Prisma.Sql[] {
  const list = [Prisma.sql`state = ${state}::payment_state`, Prisma.sql`updated_at = now()`];
  if (state !== from) list.push(Prisma.sql`state_since = now()`);
  // Once: after a part that went back it is captured again.
  if (state === 'captured') list.push(Prisma.sql`captured_at = coalesce(captured_at, now())`);
  // What was compared with the provider was another state, or another sum.
  if (state !== from || change.refundedTiyin !== undefined) list.push(Prisma.sql`compared_at = NULL`);
  if (change.providerRef !== undefined) list.push(Prisma.sql`provider_ref = ${change.providerRef}`);
  if (change.holdUntil !== undefined) list.push(Prisma.sql`hold_until = ${change.holdUntil}::timestamptz`);
  if (change.nextAction !== undefined) list.push(Prisma.sql`next_action = ${jsonOrNull(change.nextAction)}::jsonb`);
  if (change.evidence !== undefined) list.push(Prisma.sql`evidence = ${jsonOrNull(change.evidence)}::jsonb`);
  if (change.reason !== undefined) list.push(Prisma.sql`reason = ${change.reason}`);
  if (change.link !== undefined) list.push(Prisma.sql`link = ${change.link}`);
  if (change.failures !== undefined) list.push(Prisma.sql`failures = ${change.failures}::int4`);
  if (change.refundedTiyin !== undefined) list.push(Prisma.sql`refunded_tiyin = ${change.refundedTiyin}`);
  if (change.saleDocument !== undefined) list.push(documentKept('sale', change.saleDocument));
  if (change.refundDocument !== undefined) list.push(documentKept('refund', change.refundDocument));
  if (change.code !== undefined) list.push(Prisma.sql`code = ${change.code}`);
  if (change.linesSubmitted === true) list.push(Prisma.sql`lines_submitted_at = coalesce(lines_submitted_at, now())`);
  if (change.dueAt !== undefined) list.push(dueAt(change.dueAt), Prisma.sql`news = news + 1`);
  if (change.rerouted !== undefined) list.push(...routed(change.rerouted));
  if (change.forgetInstrument === true || needsNoInstrument(state)) list.push(Prisma.sql`instrument_sealed = NULL`);
  return list;
}

function dueAt(at: Date | 'now'): Prisma.Sql {
  return at === 'now' ? Prisma.sql`due_at = now()` : Prisma.sql`due_at = ${at}::timestamptz`;
}

type Rerouted = NonNullable<PaymentChange['rerouted']>;

function routed({ account_id: accountId, provider, flow, left }: Rerouted): Prisma.Sql[] {
  return [
    Prisma.sql`account_id = ${accountId}`,
    Prisma.sql`provider = ${provider}`,
    Prisma.sql`flow = ${flow}`,
    Prisma.sql`alternatives = ${JSON.stringify(left)}::jsonb`,
  ];
}

/** In the statement that takes it there. */
function rerouteEvent(paymentId: string, { from, provider }: Rerouted): Prisma.Sql {
  const data = JSON.stringify({ payment_id: paymentId, from, to: provider });
  return insertEvents(
    Prisma.sql`SELECT ${newId('evt')}, merchant_id, 'payment.rerouted', id, ${data}::jsonb FROM moved`,
  );
}

/** `payment.<state>`, in the statement of the move. */
function eventOf(paymentId: string, state: PaymentState, { reason = null, refundedTiyin }: PaymentChange): Prisma.Sql {
  const data = {
    ...{ payment_id: paymentId, status: state },
    ...(reason !== null && { reason }),
    ...(refundedTiyin !== undefined && { refunded: Number(refundedTiyin) }),
  };
  return insertEvents(
    Prisma.sql`SELECT ${newId('evt')}, merchant_id, ${`payment.${state}`}, id, ${JSON.stringify(data)}::jsonb FROM moved`,
  );
}
