import { Injectable } from '@nestjs/common';
import { isWithoutMoney, retryAfterMs, retrySchedule, type SagaStep } from '#payments';
import { readTraceParent, withTrace } from '#runtime';
import { RingLanes } from '../receipts/ring-lanes.js';
import { CallProvider } from './call-provider.js';
import { PaymentRepository, type Rest } from './repository/payment.repository.js';
import type { PaymentFacts } from './payment.rows.js';
import { extraInfoOf } from './extra-info.js';
import { HOLD_MARGIN_MS, RECEIPT_POLL_MS } from './payment-settings.js';
import { saleBefore } from './saga-snapshot.js';
import { receiptsOf, statusOfAll } from './several-receipts.js';
import { ProviderClients } from './provider-clients.js';
import { ReceiptMoves } from './receipt-moves.js';
import { RefundSale } from './refund-sale.js';

/** `facts`: as they are now; null: to be read. */
export type Progress = { kind: 'go_on'; facts: PaymentFacts | null } | Rest;

const GO_ON: Progress = { kind: 'go_on', facts: null };
/** While a customer may pay at any moment. */
const PENDING_POLL_MS = 3_000;

/** A provider reports its document by a call; this is for the day on which patience with it ends. */
const DOCUMENT_POLL_MS = 30 * 60_000;

type At = Parameters<CallProvider['execute']>[1];

/** What each step of the table does. */
@Injectable()
export class SagaWork {
  constructor(
    readonly clients: ProviderClients,
    private readonly payments: PaymentRepository,
    private readonly calls: CallProvider,
    private readonly receipts: ReceiptMoves,
    private readonly refunds: RefundSale,
    private readonly lanes: RingLanes,
  ) {}

  /** In the trace of the request that made the payment, however long ago that was. */
  execute(step: SagaStep, at: At): Promise<Progress> {
    return withTrace(readTraceParent(at.facts.trace_parent), () => this.take(step, at));
  }

  private async take(step: SagaStep, at: At): Promise<Progress> {
    const { lease, facts } = at;
    switch (step.kind) {
      case 'call':
        return this.call(step.call, at);
      case 'move':
        return (await this.payments.moveAlone(lease, facts, step.to)) ? GO_ON : rest(facts);
      case 'release_receipt':
        return this.release(facts);
      case 'register_receipt':
        return this.register(facts, step.document);
      case 'cancel_receipt':
        // One that may be at its register is cancelled by nothing: where it has moved meanwhile that is news, else it is waited for.
        return (await this.receipts.cancelNow(idsOf(facts), reasonOf(facts)))
          ? GO_ON
          : { kind: 'rest', afterMs: RECEIPT_POLL_MS };
      case 'start_fiscal_refund':
        return this.refundSale(facts);
      case 'request_refund':
        return (await this.payments.requestWholeRefund(lease, reasonOf(facts))) > 0 ? GO_ON : rest(facts);
      case 'presume_refund_asked':
        return (await this.payments.presumeAsked(lease, facts.refund_id)) ? GO_ON : rest(facts);
      case 'wait':
        return { kind: 'rest', afterMs: restWhile(step.for, facts) };
      case 'operator':
        return { kind: 'rest', afterMs: null, for: 'operator' };
      case 'done':
        return { kind: 'rest', afterMs: null };
    }
  }

  private async call(call: Parameters<CallProvider['execute']>[0], at: At): Promise<Progress> {
    const { kind, facts } = await this.calls.execute(call, at);
    if (kind === 'moved') return { kind: 'go_on', facts };
    return kind === 'unchanged' && at.facts.state === 'pending'
      ? { kind: 'rest', afterMs: PENDING_POLL_MS }
      : rest(at.facts);
  }

  private async release(facts: PaymentFacts): Promise<Progress> {
    const { state, hold_until: holdUntil } = facts;
    const isHeld = state === 'authorized' && holdUntil !== null;
    const dispatchBefore = isHeld ? saleBefore(facts, holdUntil, { holdMarginMs: HOLD_MARGIN_MS }) : null;
    const released = { dispatchBefore, extraInfo: extraInfoOf(facts) };
    if (!(await this.receipts.releaseNow(idsOf(facts), released))) return rest(facts);
    for (const { id, device_id: deviceId } of receiptsOf(facts)) if (deviceId !== null) this.lanes.ring(deviceId, id);
    return GO_ON;
  }

  private async register(facts: PaymentFacts, which: 'sale' | 'refund'): Promise<Progress> {
    const document = facts.fiscal_documents?.[which];
    if (document === undefined) throw new Error(`payment ${facts.id} has no document of its ${which}`);
    const registered = await this.receipts.registerByProvider(facts.receipt_id, which, document);
    if (registered.kind === 'registered') return GO_ON;
    if (registered.kind === 'taken') await this.payments.noteDifference(facts.id, { document_taken: document });
    return rest(facts);
  }

  private async refundSale(facts: PaymentFacts): Promise<Progress> {
    if ((await this.refunds.execute(facts)) === 'begun') return GO_ON;
    // A person mends it, or says that the receipt stays; until then the register may be back.
    return { kind: 'rest', afterMs: retrySchedule(facts.state).lastMs, for: 'operator' };
  }
}

/** Nothing came of it: later, the later the more often that was so. */
function rest(facts: PaymentFacts): Rest {
  return { kind: 'rest', afterMs: retryAfterMs(facts.state, facts.failures) };
}

function restWhile(what: 'customer' | 'provider' | 'register' | 'merchant', facts: PaymentFacts): number {
  // For its document: it will report it, and reconciliation shows how long it has not.
  if (what === 'provider' && (facts.state === 'captured' || isWithoutMoney(facts.state))) return DOCUMENT_POLL_MS;
  const held = facts.state === 'authorized' && facts.hold_until !== null ? facts.hold_until : null;
  const margin = { holdMarginMs: HOLD_MARGIN_MS };
  const end = held ? saleBefore(facts, held, margin) : (facts.hold_until ?? facts.expires_at);
  const leftMs = Math.max(end.getTime() - facts.now.getTime(), 0) + 50;
  return what === 'register' ? Math.min(RECEIPT_POLL_MS, Math.max(leftMs, 1_000)) : leftMs;
}

function idsOf(facts: PaymentFacts): string[] {
  return receiptsOf(facts).map(({ id }) => id);
}

function reasonOf(facts: PaymentFacts): string {
  if (facts.cancel_requested) return 'the payment was cancelled';
  if (statusOfAll(facts) === 'rejected') return 'the register refused the receipt';
  return isWithoutMoney(facts.state) ? `the payment is ${facts.state}` : 'the payment ran out of time';
}
