import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { canMovePayment, isWithoutMoney, providerDocument, type PaymentFlow, type PaymentState } from '#payments';
import { readTimestamp } from '../http/query-rules.js';
import { missingPayment } from './missing-payment.js';
import { PaymentRepository, type PaymentChange } from './repository/payment.repository.js';
import { PaymentWorker } from './payment-worker.js';
import { FURTHER_RECEIPTS, REFUNDED_AHEAD, receiptsOf, statusOfAll, type ReceiptsOf } from './several-receipts.js';
import { triedFor, UNKNOWN_MINUTES } from './tried-in-vain.js';
import { acceptDifference, finishParts, keepDocument, keepReceipts, tryAnew } from './repository/payment-writes.js';

/**
 * `part_refunded`: the part that was being given back, or whose receipt was refunded without it, is back, the rest is still taken. `accepted`: what the provider says differently, or
 * a registered receipt without money, is right as it is; nothing moves.
 */
export const PAYMENT_OUTCOMES = ['captured', 'refunded', 'part_refunded', 'voided', 'declined', 'accepted'] as const;
export type PaymentOutcome = (typeof PAYMENT_OUTCOMES)[number];
type MovingOutcome = Exclude<PaymentOutcome, 'accepted'>;
const MOVING = PAYMENT_OUTCOMES.filter((outcome) => outcome !== 'accepted');

export interface PaymentDecision {
  outcome: PaymentOutcome;
  reason: string;
  /** The payment as it was when it was read, where the caller says so. */
  status_since?: string | null;
  refunded?: number | null;
}

interface Locked extends ReceiptsOf {
  state: PaymentState;
  state_since: Date;
  /** The saga has found that only a person can go on. */
  awaits_operator: boolean;
  /** It has been so for longer than the saga needs to find out. */
  is_old: boolean;
  /** Our capture, release or refund has been tried for as long, and the provider takes none: a key that was revoked. */
  is_in_vain: boolean;
  flow: PaymentFlow;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  /** Of its receipts, and neither back nor on its way. */
  ahead_tiyin: bigint;
  /** What the provider says differently. */
  discrepancy: Prisma.JsonValue;
  is_receipt_kept: boolean;
}

/** What a person found out at the provider about a payment that no machine can bring on. The saga goes on from there. */
@Injectable()
export class ResolvePayment {
  constructor(
    private readonly changes: AuditedChange,
    private readonly payments: PaymentRepository,
    private readonly worker: PaymentWorker,
  ) {}

  /** @throws Problem 404; 409 payment_changed, payment_not_manual; 422 for an outcome that this payment cannot have */
  async resolve(caller: Caller, id: string, decision: PaymentDecision): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<Locked[]>`
        SELECT p.state, p.state_since, p.flow, p.amount_tiyin, p.refunded_tiyin, ${REFUNDED_AHEAD} AS ahead_tiyin, r.id AS receipt_id, r.device_id, r.status AS receipt_status,
               ${FURTHER_RECEIPTS} AS further, p.awaits_operator, p.discrepancy,
               p.receipt_kept_at IS NOT NULL AS is_receipt_kept,
               p.state_since < now() - make_interval(mins => ${UNKNOWN_MINUTES}::int4) AS is_old,
               ${triedFor(UNKNOWN_MINUTES)} AS is_in_vain
          FROM payments p JOIN receipts r ON r.id = p.receipt_id
         WHERE p.id = ${id} AND p.merchant_id = ${caller.merchantId} FOR UPDATE OF p`;
      if (!row) throw await missingPayment(tx, caller.merchantId, id);
      refuseIfChanged(row, decision);
      const { outcome, reason } = decision;
      if (outcome === 'accepted') await this.accept(tx, id, row);
      else await this.move(tx, id, row, { outcome, reason });
      const shown = row.discrepancy === null ? {} : { discrepancy: row.discrepancy };
      const [before, after] = [
        { status: row.state, ...shown },
        { status: outcome, reason },
      ];
      return { result: undefined, action: 'payment.resolve', targetId: id, before, after };
    });
    await this.worker.process(id);
  }

  /** A document that the provider registered and did not report. @throws Problem 404; 409 payment_not_manual; 422 */
  async giveDocument(
    caller: Caller,
    id: string,
    decision: { document: 'sale' | 'refund'; verification_url: string; reason: string },
  ): Promise<void> {
    const document = providerDocument({ url: decision.verification_url });
    if (!document) {
      const detail = 'The link must name terminal, number, time and sign: t, r, c and s.';
      throw Problem.at('/verification_url', 'invalid_format', detail);
    }
    await this.changes.execute(caller, async (tx) => {
      const [row] = await tx.$queryRaw<{ fiscal_mode: string; known: boolean }[]>`
        SELECT fiscal_mode, (fiscal_documents -> ${decision.document}::text) IS NOT NULL AS known FROM payments
         WHERE id = ${id} AND merchant_id = ${caller.merchantId} FOR UPDATE`;
      if (!row) throw await missingPayment(tx, caller.merchantId, id);
      if (row.fiscal_mode !== 'provider' || row.known)
        throw new Problem('payment_not_manual', `No document of the ${decision.document} is missing.`);
      await keepDocument(tx, id, decision.document, document);
      const { document: which, verification_url, reason } = decision;
      const after = { document: which, verification_url, reason };
      return { result: undefined, action: 'payment.document', targetId: id, before: { document: null }, after };
    });
    await this.worker.process(id);
  }

  private async move(
    tx: Prisma.TransactionClient,
    id: string,
    row: Locked,
    { outcome, reason }: { outcome: MovingOutcome; reason: string },
  ): Promise<void> {
    refuseUnlessManual(row, outcome);
    const change = await this.changeFor(tx, id, row, outcome);
    await this.payments.change(tx, { paymentId: id, by: 'operator' }, row.state, {
      ...change,
      reason,
      failures: 0,
      dueAt: 'now',
    });
    // The decision was about what the provider says.
    if (isDifferent(row) && outcome === 'refunded') await acceptDifference(tx, id, 'refunded');
  }

  private async accept(tx: Prisma.TransactionClient, id: string, row: Locked): Promise<void> {
    if (row.discrepancy !== null) return acceptDifference(tx, id, row.state);
    refuseUnlessLeftOver(row);
    if (!(await keepReceipts(tx, id)))
      throw new Problem('payment_changed', 'The payment is being worked at: say it again in a moment.');
  }

  private async changeFor(
    tx: Prisma.TransactionClient,
    id: string,
    { amount_tiyin: amountTiyin, refunded_tiyin: refundedTiyin, ahead_tiyin: aheadTiyin }: Locked,
    outcome: MovingOutcome,
  ): Promise<PaymentChange> {
    if (outcome !== 'refunded' && outcome !== 'part_refunded') return { state: outcome };
    const parts = await finishParts(tx, id);
    if (outcome === 'refunded') return { state: 'refunded', refundedTiyin: amountTiyin };
    if (parts.length === 0 && aheadTiyin > 0n) parts.push(aheadTiyin);
    if (parts.length === 0) throw new Problem('payment_not_manual', 'No part of the payment was being given back.');
    const backTiyin = parts.reduce((sum, part) => sum + part, refundedTiyin);
    return backTiyin >= amountTiyin
      ? { state: 'refunded', refundedTiyin: amountTiyin }
      : { state: 'captured', refundedTiyin: backTiyin };
  }

  /** Reads at once instead of when it is due. */
  async retry(caller: Caller, id: string, reason: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const state = await tryAnew(tx, caller.merchantId, id);
      if (!state) throw await missingPayment(tx, caller.merchantId, id);
      const [before, after] = [{ status: state }, { reason }];
      return { result: undefined, action: 'payment.retry', targetId: id, before, after };
    });
    await this.worker.process(id);
  }
}

/** The comparison has found that the provider's money stands elsewhere. */
function isDifferent({ state, discrepancy }: Locked): boolean {
  const isObject = typeof discrepancy === 'object' && discrepancy !== null;
  return state === 'captured' && isObject && 'ours' in discrepancy;
}

/**
 * A payment may wait for a person more than once: a decision that is repeated after a lost answer, or that another person has made
 * already, would be about the part that waits by now, and say of it that it is back.
 */
function refuseIfChanged(row: Locked, { status_since: since = null, refunded = null }: PaymentDecision): void {
  const isSince = since === null || readTimestamp(since)?.getTime() === row.state_since.getTime();
  if (isSince && (refunded === null || BigInt(refunded) === row.refunded_tiyin)) return;
  const now = `${row.state} since ${row.state_since.toISOString()}, with ${String(row.refunded_tiyin)} tiyin back`;
  throw new Problem('payment_changed', `The payment is ${now}: read it again, and decide then.`);
}

function refuseUnlessManual(row: Locked, outcome: MovingOutcome): void {
  const { state } = row;
  const isWaiting = (state === 'captured' && row.awaits_operator) || row.is_in_vain || isDifferent(row);
  if (state.endsWith('_unknown') && !row.is_old)
    throw new Problem(
      'payment_not_manual',
      `The payment is ${state}: the gateway reads its status, a person may say what became of it after ${String(UNKNOWN_MINUTES)} minutes.`,
    );
  if (state !== 'manual' && !state.endsWith('_unknown') && !isWaiting && !isLeftByProvider(row))
    throw new Problem('payment_not_manual', `The payment is ${state}.`);
  const possible = MOVING.filter((each) => isPossible(state, each));
  if (possible.includes(outcome)) return;
  throw Problem.at('/outcome', 'invalid_value', `A payment that is ${state} is ${possible.join(' or ')}.`);
}

/** A registered receipt has no money, and the gateway has not been able to refund it. */
function refuseUnlessLeftOver(row: Locked): void {
  const { state, is_receipt_kept: isKept } = row;
  const isWithout = isWithoutMoney(state) || state === 'capture_refused';
  const isLeftOver = isWithout && receiptsOf(row).some(({ status }) => status === 'registered') && !isKept;
  if (!isLeftOver) throw new Problem('payment_not_manual', 'Nothing is shown that could be accepted.');
  if (row.awaits_operator) return;
  throw new Problem('payment_not_manual', `The payment is ${state}: the gateway refunds its receipt.`);
}

/** Parts are back only where some were to be given back. */
function isPossible(state: PaymentState, outcome: MovingOutcome): boolean {
  if (outcome === 'part_refunded') return state === 'manual' || state === 'refund_unknown' || state === 'captured';
  return canMovePayment(state, outcome, 'operator');
}

/**
 * The provider has frozen the money and does not ask for our verdict any more (a callback that it gave up), or it never learnt it:
 * the saga can only read, a person there can end it.
 */
function isLeftByProvider(row: Locked): boolean {
  const { state, flow } = row;
  const receipt = statusOfAll(row);
  const hasVerdict = receipt === 'registered' || receipt === 'rejected' || receipt === 'cancelled';
  return state === 'reserved' && flow === 'veto' && hasVerdict;
}
