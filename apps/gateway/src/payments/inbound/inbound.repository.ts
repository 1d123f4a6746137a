import { Injectable } from '@nestjs/common';
import { Prisma, SalesDatabase, type StoredReceiptDocument } from '#database';
import { isId } from '#fiscal-domain';
import { cancelUnpaidWithin, releaseReceiptWithin } from '#ledger';
import type { InboundTransaction, PaymentEvidence, PaymentFlow, PaymentState, ProviderCode } from '#payments';
import { extraInfoOf } from '../extra-info.js';
import { CallbackSeal, type KeptCall } from './kept-calls.js';
import { MAX_CUSTOMER_MS } from '../../settings.js';
import { readWholeTime } from '../missing-payment.js';
import { RECEIPT_POLL_MS } from '../payment-settings.js';
import type { PaymentFacts } from '../payment.rows.js';
import { PaymentRepository, type PaymentChange } from '../repository/payment.repository.js';
import { ALL_RECEIPTS, FURTHER_RECEIPTS, receiptsOf, type ReceiptsOf } from '../several-receipts.js';

export type Tx = Prisma.TransactionClient;

/** A payment and its receipts with all rows locked, receipts first. */
export interface LockedPayment extends ReceiptsOf {
  id: string;
  number: bigint;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  provider_ref: string | null;
  cancel_requested: boolean;
  is_in_time: boolean;
  /** By the merchant's word. */
  is_delivered: boolean;
  /** Only where the provider registers it. */
  document: StoredReceiptDocument | null;
}

export interface TransactionRow {
  id: string;
  payment_id: string;
  state: 1 | 2 | -1 | -2;
  amount_tiyin: bigint;
  provider_time_ms: bigint;
  create_time_ms: bigint;
  perform_time_ms: bigint;
  cancel_time_ms: bigint;
  reason: number | null;
  /** Click's attempts only; those from before they had one: null. */
  attempt_number: bigint | null;
}

/** What a call of a provider's is about. */
export interface FoundTransaction {
  payment: LockedPayment | null;
  transaction: TransactionRow | null;
  /** A transaction of the payment is open, or has paid it. */
  hasLive: boolean;
}

const TRANSACTION = Prisma.sql`
  id, payment_id, state, amount_tiyin, provider_time_ms, create_time_ms, perform_time_ms, cancel_time_ms, reason, attempt_number`;

interface ReportedFiscal {
  type: 'PERFORM' | 'CANCEL';
  data: unknown;
}

type FiscalOf = Pick<PaymentFacts, 'id' | 'state' | 'fiscal_mode' | 'fiscal_sign'>;

interface NewTransaction {
  accountId: string;
  id: string;
  paymentId: string;
  amountTiyin: number;
  providerTimeMs: number;
  createTimeMs: number;
  isLive: boolean;
  /** Click's. */
  paymentNumber?: string;
}

/** Some 15 MB of an answer, within the two seconds that Payme waits. */
const MAX_STATEMENT = 50_000;
/** A transaction may be as much later, or by the provider's clock earlier, than its payment was made, and a day. */
const STATEMENT_MARGIN_MS = MAX_CUSTOMER_MS + 86_400_000;

/** What inbound protocols read and write, each call in one transaction. */
@Injectable()
export class InboundRepository {
  constructor(
    private readonly prisma: SalesDatabase,
    private readonly payments: PaymentRepository,
    private readonly seals: CallbackSeal,
  ) {}

  inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.prisma.$transaction(work, { timeout: 5_000, maxWait: 2_000, isolationLevel: 'ReadCommitted' });
  }

  /** Another account's payment is as absent as a missing one, and as what is no reference of ours. */
  async lock(tx: Tx, accountId: string, paymentId: string | null): Promise<LockedPayment | null> {
    if (paymentId === null || !isId('pay', paymentId)) return null;
    await tx.$queryRaw`
      SELECT FROM payments p JOIN receipts r ON r.id = ANY(${ALL_RECEIPTS})
       WHERE p.id = ${paymentId} AND p.account_id = ${accountId} ORDER BY r.id FOR UPDATE OF r`;
    const rows = await tx.$queryRaw<LockedPayment[]>`
      SELECT p.id, p.number, p.receipt_id, p.provider, p.flow, p.state, p.amount_tiyin, p.provider_ref,
             p.cancel_requested_at IS NOT NULL AS cancel_requested, p.expires_at > now() AS is_in_time,
             p.delivered_at IS NOT NULL AS is_delivered, r.status AS receipt_status, r.device_id, ${FURTHER_RECEIPTS} AS further,
             CASE p.fiscal_mode WHEN 'provider' THEN r.document END AS document
        FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.id = ${paymentId} AND p.account_id = ${accountId} FOR UPDATE OF p`;
    return rows[0] ?? null;
  }

  /**
   * Until the end of this transaction no other call about the provider's transaction begins: "there is none" is not said of one that another call is
   * about to write. A provider believes it, and keeps no money for what is then registered.
   */
  async lockTransaction(tx: Pick<Tx, '$executeRaw'>, accountId: string, id: string): Promise<void> {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`${accountId}/${id}`}, 0))`;
  }

  /** What a call is about, locked. @param reference our payment, where the call names it */
  async lockFor(
    tx: Tx,
    accountId: string,
    { id, reference }: { id: string | null; reference: string | null },
  ): Promise<FoundTransaction> {
    const before = id === null ? null : await this.findTransaction(tx, accountId, id);
    const payment = await this.lock(tx, accountId, before?.payment_id ?? reference);
    // Read again: the payment's lock is what makes two calls of the same transaction follow each other.
    const transaction = id === null ? null : await this.findTransaction(tx, accountId, id);
    const live =
      payment &&
      (await tx.$queryRaw<unknown[]>`
        SELECT FROM provider_transactions WHERE payment_id = ${payment.id} AND is_live`);
    return { payment, transaction, hasLive: live !== null && live.length > 0 };
  }

  async findTransaction(tx: Pick<Tx, '$queryRaw'>, accountId: string, id: string): Promise<TransactionRow | null> {
    const rows = await tx.$queryRaw<TransactionRow[]>`
      SELECT ${TRANSACTION} FROM provider_transactions
       WHERE account_id = ${accountId} AND id = ${id}`;
    return rows[0] ?? null;
  }

  /** An attempt by the number that its Prepare was answered with, and by Click's number of the payment. */
  async findAttempt(
    tx: Tx,
    { paymentId, number, paymentNumber }: { paymentId: string; number: string; paymentNumber: string },
  ): Promise<TransactionRow | null> {
    const rows = await tx.$queryRaw<TransactionRow[]>`
      SELECT ${TRANSACTION} FROM provider_transactions
       WHERE payment_id = ${paymentId} AND attempt_number::text = ${number} AND payment_number = ${paymentNumber}`;
    return rows[0] ?? null;
  }

  /** By the provider's own id of it. */
  async findByProviderRef(tx: Tx, accountId: string, providerRef: string): Promise<string | null> {
    const [row] = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM payments WHERE account_id = ${accountId} AND provider_ref = ${providerRef}`;
    return row?.id ?? null;
  }

  /** Without a lock, for hints that may be anyone's. Where both are named they must belong together. */
  async findHinted(
    accountId: string,
    { ourRef, providerRef }: { ourRef: string | null; providerRef: string | null },
  ): Promise<{ id: string; state: PaymentState; is_covered: boolean } | null> {
    const [row] = await this.prisma.$queryRaw<{ id: string; state: PaymentState; is_covered: boolean }[]>`
      SELECT id, state, coalesce(hinted_at > now(), false) AS is_covered FROM payments WHERE account_id = ${accountId} AND provider_ref = ${providerRef}`;
    return row && (ourRef === null || ourRef === row.id) ? row : null;
  }

  /** How many of its provider's calls are kept, as far as that is asked. */
  async keptOf(tx: Tx, paymentId: string, upTo: number): Promise<number> {
    const [row] = await tx.$queryRaw<{ kept: number }[]>`
      SELECT count(*)::int4 AS kept
        FROM (SELECT FROM provider_callbacks c
               WHERE c.payment_id = ${paymentId}
                 AND c.received_at >= (SELECT created_at - interval '1 day' FROM payments WHERE id = ${paymentId})
               LIMIT ${upTo}::int4) AS calls`;
    return row?.kept ?? 0;
  }

  /** @returns the number of a customer's attempt at Click, where Click names the payment by one of its own */
  async insertTransaction(tx: Tx, row: NewTransaction): Promise<bigint | null> {
    const { paymentNumber = null } = row;
    const attempt = paymentNumber === null ? Prisma.sql`NULL` : Prisma.sql`nextval('click_attempt_seq')`;
    const [made] = await tx.$queryRaw<{ attempt_number: bigint | null }[]>`
      INSERT INTO provider_transactions (account_id, id, payment_id, state, is_live, amount_tiyin, provider_time_ms,
                                         create_time_ms, attempt_number, payment_number)
      VALUES (${row.accountId}, ${row.id}, ${row.paymentId}, 1, ${row.isLive}, ${row.amountTiyin}::bigint,
              ${row.providerTimeMs}::bigint, ${row.createTimeMs}::bigint, ${attempt}, ${paymentNumber})
      RETURNING attempt_number`;
    return made?.attempt_number ?? null;
  }

  /** Others of this payment that may still be paid, or the one that has paid. */
  async otherAttempts(
    tx: Tx,
    { paymentId, exceptId }: { paymentId: string; exceptId: string },
  ): Promise<{ open: number; paid: number }> {
    const [row] = await tx.$queryRaw<{ open: number; paid: number }[]>`
      SELECT count(*) FILTER (WHERE state = 1)::int4 AS open, count(*) FILTER (WHERE state = 2)::int4 AS paid
        FROM provider_transactions WHERE payment_id = ${paymentId} AND id <> ${exceptId}`;
    return row ?? { open: 0, paid: 0 };
  }

  async moveTransaction(
    tx: Tx,
    where: { accountId: string; id: string },
    to: { state: 2 | -1 | -2; atMs: number; reason: number | null },
  ): Promise<void> {
    const isPaid = to.state === 2;
    await tx.$executeRaw`
      UPDATE provider_transactions
         SET state = ${to.state}::int2, is_live = ${isPaid}, reason = ${to.reason}::int2,
             perform_time_ms = CASE WHEN ${isPaid} THEN ${to.atMs}::bigint ELSE perform_time_ms END,
             cancel_time_ms = CASE WHEN ${isPaid} THEN cancel_time_ms ELSE ${to.atMs}::bigint END
       WHERE account_id = ${where.accountId} AND id = ${where.id}`;
  }

  /** What was tried in vain before the provider's call says nothing about what follows it. */
  change(tx: Tx, payment: LockedPayment, change: PaymentChange): Promise<boolean> {
    const hand = { paymentId: payment.id, by: 'provider' } as const;
    return this.payments.change(tx, hand, payment.state, { failures: 0, ...change });
  }

  /** It waits for the money of one transaction until then. */
  async reserve(tx: Tx, payment: LockedPayment, until: Date): Promise<void> {
    await this.change(tx, payment, { state: 'reserved', holdUntil: until, dueAt: until });
  }

  /** The customer may try again, until the payment's time is over. */
  async free(tx: Tx, payment: LockedPayment): Promise<void> {
    if (payment.state === 'reserved')
      await this.change(tx, payment, { state: 'pending', holdUntil: null, dueAt: 'now' });
  }

  /** The customer has paid: the receipt enters its lane with the same commit. */
  async confirm(
    tx: Tx,
    payment: LockedPayment,
    paid: { providerRef: string | null; paymentId: string; evidence?: PaymentEvidence | null },
  ): Promise<void> {
    const { providerRef, paymentId, evidence = null } = paid;
    const known = { ...(providerRef !== null && { providerRef }), ...(evidence !== null && { evidence }) };
    const dueAt = payment.device_id === null ? 'now' : new Date(Date.now() + RECEIPT_POLL_MS);
    await this.change(tx, payment, { state: 'captured', holdUntil: null, dueAt, ...known });
    if (payment.device_id === null) return;
    const extraInfo = extraInfoOf({ provider: payment.provider, provider_ref: paymentId, evidence });
    for (const { id } of inOrder(payment)) await releaseReceiptWithin(tx, id, { dispatchBefore: null, extraInfo });
  }

  /** The money is back at the customer: what has not been sent need not be; what has is refunded by the saga. */
  async reverse(tx: Tx, payment: LockedPayment, reason: string): Promise<void> {
    if (payment.state !== 'captured') return;
    const refundedTiyin = payment.amount_tiyin;
    await this.change(tx, payment, { state: 'refunded', reason, refundedTiyin, dueAt: 'now' });
    // A sale that the provider registers may be on its way to us: the saga waits for it.
    if (payment.device_id !== null) for (const { id } of inOrder(payment)) await cancelUnpaidWithin(tx, id, reason);
  }

  /**
   * @throws Error where it would be longer than `MAX_STATEMENT`, a Problem where payments of its time have left for the archive: one that is cut off would
   * pass for the truth
   */
  async statement(accountId: string, fromMs: number, toMs: number): Promise<InboundTransaction[]> {
    const timeOf = (ms: number): Date => new Date(Math.min(Math.max(ms, 0), Date.now()));
    const [from, to] = [timeOf(fromMs - STATEMENT_MARGIN_MS), timeOf(toMs + STATEMENT_MARGIN_MS)];
    const span = { of: 'account_id', id: accountId, by: 'created_at', from, to } as const;
    const rows = await readWholeTime(this.prisma, span, () => this.transactionsWithin(accountId, fromMs, toMs));
    if (rows.length > MAX_STATEMENT) throw new Error(`a statement of more than ${String(MAX_STATEMENT)} transactions`);
    return rows.map(transactionOf);
  }

  private transactionsWithin(accountId: string, fromMs: number, toMs: number): Promise<TransactionRow[]> {
    return this.prisma.$queryRaw<TransactionRow[]>`
      SELECT ${TRANSACTION} FROM provider_transactions
       WHERE account_id = ${accountId} AND provider_time_ms BETWEEN ${fromMs}::bigint AND ${toMs}::bigint
       ORDER BY provider_time_ms, id LIMIT ${MAX_STATEMENT + 1}::int4`;
  }

  /** @param id the provider's: of its transaction with us, or of a receipt that we had it make. @returns the payment */
  async storeFiscalData(
    tx: Tx,
    where: { accountId: string; id: string },
    fiscal: ReportedFiscal,
  ): Promise<FiscalOf | null> {
    const { accountId, id } = where;
    const [row] = await tx.$queryRaw<FiscalOf[]>`
      SELECT p.id, p.state, p.fiscal_mode, r.fiscal_sign FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.account_id = ${accountId}
         AND (p.provider_ref = ${id}
              OR p.id = (SELECT payment_id FROM provider_transactions WHERE account_id = ${accountId} AND id = ${id}))
         FOR NO KEY UPDATE OF p`;
    // Held: else it could leave for the archive between here and what is written about it.
    if (!row) return null;
    await tx.$executeRaw`
      UPDATE provider_transactions
         SET fiscal_data = coalesce(fiscal_data, '{}')
                           || jsonb_build_object(${fiscal.type}::text, ${JSON.stringify(fiscal.data)}::jsonb)
       WHERE account_id = ${accountId} AND id = ${id}`;
    return row;
  }

  noteDifference(tx: Tx, paymentId: string, difference: unknown): Promise<void> {
    return this.payments.noteDifference(paymentId, difference, tx);
  }

  /** Kept with what it was answered: what names it in columns, what it said sealed. */
  async keep(client: Pick<Tx, '$executeRaw'>, call: KeptCall): Promise<void> {
    const { reference, sealed } = this.seals.seal(call.body);
    await client.$executeRaw`
      INSERT INTO provider_callbacks (account_id, address, reference, operation, provider_ref, payment_id, amount_tiyin,
                                      body_sealed, answer)
      VALUES (${call.accountId}, ${call.address}, ${reference}, ${call.operation}, ${call.providerRef}, ${call.paymentId},
              ${call.amountTiyin}::int8, ${sealed}, ${JSON.stringify(call.answer)}::jsonb)`;
  }
}

/** Waits for money. */
export function isOpen(payment: LockedPayment): boolean {
  return payment.state === 'pending' && payment.is_in_time && !payment.cancel_requested;
}

/** Also what has gone back since: the order was paid once, and is not to be paid again. */
export function isPaid({ state }: LockedPayment): boolean {
  return state === 'captured' || state.startsWith('refund');
}

/** As everyone takes them who takes several. */
function inOrder(payment: LockedPayment) {
  return receiptsOf(payment).sort((left, right) => (left.id < right.id ? -1 : 1));
}

export function transactionOf(row: TransactionRow): InboundTransaction {
  return {
    ...{ id: row.id, timeMs: Number(row.provider_time_ms), amountTiyin: Number(row.amount_tiyin) },
    ...{ ourRef: row.payment_id, state: row.state, reason: row.reason },
    createTimeMs: Number(row.create_time_ms),
    performTimeMs: Number(row.perform_time_ms),
    cancelTimeMs: Number(row.cancel_time_ms),
  };
}
