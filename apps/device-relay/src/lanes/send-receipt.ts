import {
  decideAnswer,
  growthOf,
  readingOf,
  sameReading,
  type FiscalField,
  type Outcome,
  type RegisterAnswer,
  type Rejection,
} from '#fiscal-domain';
import type { CloseRegistered, LateAnswer } from '#ledger';
import { inSpan, newId, readTraceParent, withoutTrace, type Clock, type Logger } from '#runtime';
import { takenBy } from '../devices/lane-device.js';
import { checkKeys } from './check-keys.js';
import { checkRegister } from './check-register.js';
import { composeRequest, type ComposedRequest } from './compose-request.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import { beginRepeatGuard, beginSendGuard } from './lane-timing.js';
import { openShift } from './open-shift.js';
import type { LaneStore, OpenAttempt, PreparedReceipt, SettledNotices, WaitingReceipt } from './ports.js';
import type { RecordAnswer } from './record-answer.js';
import type { ResolveAttempt } from './resolve-attempt.js';
import type { TakeBaseline } from './take-baseline.js';

interface Sent {
  attempt: OpenAttempt;
  answer: RegisterAnswer;
}

/** What a lane is made of, beside its store. */
export interface LaneParts {
  resolver: ResolveAttempt;
  setbacks: LaneSetbacks;
  baselines: TakeBaseline;
  notices: SettledNotices;
  answers: RecordAnswer;
}

/**
 * One receipt to one register: connection → intent → bytes → result (docs/architecture.md).
 *
 * Crash windows, all healed by the open attempt that the next owner of the lane resolves before anything else:
 * after the intent's commit and before the bytes (the register has nothing), while they are on their way (unknown),
 * after the register's answer and before our commit (the register has it, we do not know).
 */
export class SendReceipt {
  constructor(
    private readonly store: LaneStore,
    private readonly parts: LaneParts,
    private readonly tools: { clock: Clock; logger: Logger },
  ) {}

  /** In the trace of the request that the receipt came with. */
  send(lane: LaneInHand, receipt: WaitingReceipt): Promise<Step> {
    const parent = readTraceParent(receipt.traceParent);
    const attributes = { 'receipt.id': receipt.id, 'device.id': lane.device.id };
    return inSpan('lane send', { kind: 'consumer', parent, attributes }, async (span) => {
      const step = await this.sendNow(lane, receipt);
      span.set({ step: step.kind });
      return step;
    });
  }

  private async sendNow(lane: LaneInHand, receipt: WaitingReceipt): Promise<Step> {
    const { document } = receipt;
    // Accepted after the lanes were held, out of a payment that the copy had as open.
    if (receipt.isFromCopy && (await this.store.holdFromCopy(receipt.id))) {
      this.parts.notices.notify(receipt.id);
      return { kind: 'reread' };
    }
    const composed = await this.compose(lane, receipt);
    if (composed.kind === 'unfit') return composed.step;
    if (composed.kind === 'refused') return this.rejectUnsent(lane, receipt, composed.rejection);
    const { bytes: request } = composed;
    if (lane.baseline.journalId === null) {
      const setback = await this.parts.baselines.take(lane);
      if (setback) return setback;
    }
    // The connection first: a register that is away costs no attempt, and a slow connect does not eat into the guard.
    const prepare = (): Promise<PreparedReceipt> => lane.register.prepareReceipt(request, receipt.id);
    // A register that knows the specification alone is sent no header beyond it.
    const prepared = await (lane.baseline.journalId === null ? withoutTrace(prepare) : prepare());
    if (prepared.kind === 'not_sent') return this.parts.setbacks.unreachable(lane, prepared.reason);
    const areKeysFresh = beginRepeatGuard(this.tools.clock);
    if (receipt.mayBeRegistered && lane.baseline.journalId !== null) {
      const keys = await checkKeys(lane, lane.baseline, this.parts.setbacks);
      if (keys.kind === 'gone') {
        prepared.call.abandon();
        return keys.step;
      }
      lane.baseline = keys.baseline;
    }

    const isIntentFresh = beginSendGuard(this.tools.clock);
    const attemptId = newId('att');
    const { baseline } = lane;
    const intent = {
      attemptId,
      receiptId: receipt.id,
      deviceId: lane.device.id,
      baseline,
      request,
      laneLock: lane.laneLock,
    };
    const opened = await this.store.openAttempt(intent).catch((error: unknown) => {
      prepared.call.abandon();
      throw error;
    });
    if (opened !== 'opened') {
      prepared.call.abandon();
      // The lock session ends by itself, and the next one takes no lane before it has compared the database's identity.
      if (opened === 'lane_not_held') return { kind: 'wait', afterMs: 1_000 };
      // What was read before is no longer true: going on with it could send the receipts behind it first.
      if (opened === 'withdrawn') this.parts.notices.notify(receipt.id);
      return { kind: 'reread' };
    }
    const attempt: OpenAttempt = {
      ...{ id: attemptId, receiptId: receipt.id, baseline, request, document },
      ...{ createdAt: this.tools.clock.now(), ageMs: 0, refusedAgoMs: null, traceParent: receipt.traceParent ?? null },
    };
    const answer = await prepared.call.send(() => isIntentFresh() && areKeysFresh() && lane.laneLock.isHeld());
    const outcome = decideAnswer({ baseline, isRefund: document.type === 'refund' }, answer);
    return this.record(lane, { attempt, answer }, outcome);
  }

  /** What is known of a register may be old: a receipt ends by nothing but its present word. */
  private async compose(
    lane: LaneInHand,
    receipt: WaitingReceipt,
  ): Promise<ComposedRequest | { kind: 'unfit'; step: Step }> {
    const before = await this.maybeThere(lane, receipt);
    if (before !== null) return { kind: 'composed', bytes: before };
    const composed = composeRequest(receipt, lane.device);
    if (composed.kind === 'composed') return composed;
    const check = await checkRegister(lane.register, lane.baseline);
    if (check.kind !== 'same') return { kind: 'unfit', step: await this.parts.setbacks.unfit(lane, check) };
    lane.device = { ...lane.device, ...takenBy(check.capabilities) };
    return composeRequest(receipt, lane.device);
  }

  /** What went out under the receipt's key and may be registered there: only the same bytes are the same document. */
  private async maybeThere({ baseline }: LaneInHand, { id, mayBeRegistered }: WaitingReceipt): Promise<Buffer | null> {
    return mayBeRegistered && baseline.journalId !== null ? this.store.unprovenRequest(id) : null;
  }

  /** One statement: a crash before it leaves the receipt accepted for the next owner of the lane, who decides the same. */
  private async rejectUnsent(lane: LaneInHand, receipt: WaitingReceipt, rejection: Rejection): Promise<Step> {
    const { id: receiptId } = receipt;
    const { id: deviceId } = lane.device;
    if (!(await this.store.rejectUnsent({ receiptId, deviceId }, rejection))) {
      // Out of a copy of the database: it may be registered, and no other document may be sent under its key.
      return receipt.isFromCopy ? this.parts.setbacks.retryLater(lane, rejection.detail) : { kind: 'reread' };
    }
    this.tools.logger.warn({ device_id: deviceId, receipt_id: receiptId, rejection }, 'rejected, nothing was sent');
    this.parts.notices.notify(receiptId);
    return { kind: 'reread' };
  }

  private async record(lane: LaneInHand, sent: Sent, outcome: Outcome): Promise<Step> {
    const { setbacks } = this.parts;
    switch (outcome.kind) {
      case 'registered':
        return this.recordRegistered(lane, sent, outcome);
      case 'rejected':
        return this.recordRejected(lane, sent, outcome);
      case 'device_refused':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return setbacks.refused(lane, outcome.state, outcome.reason);
      case 'shift_closed':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return openShift(lane, setbacks);
      case 'not_sent':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        // Our own lateness says nothing about the register.
        return outcome.reason === 'guard'
          ? setbacks.retryLater(lane, 'the intent took too long')
          : setbacks.unreachable(lane, outcome.reason);
      case 'unclear':
        return this.resolveUnclear(lane, sent, outcome.reason);
    }
  }

  private async recordRegistered(
    lane: LaneInHand,
    { attempt, answer }: Sent,
    { registration, foreignSales }: Extract<Outcome, { kind: 'registered' }>,
  ): Promise<Step> {
    const deviceId = lane.device.id;
    const { terminalId, receiptSeq } = registration;
    const baseline = { ...lane.baseline, terminalId, sequence: receiptSeq };
    const lastKnown = baseline.journalId === null ? { receiptSeq, growth: growthOf(attempt.document) } : null;
    const close: CloseRegistered = {
      attemptId: attempt.id,
      deviceId,
      registration,
      evidence: 'answer',
      baseline,
      lastKnown,
    };
    const recorded = await this.parts.answers.record(lane, { receiptId: attempt.receiptId, close });
    if (recorded.kind === 'kept') return { kind: 'stop' };
    if (recorded.kind === 'sequence_taken') {
      return this.resolveUnclear(lane, { attempt, answer }, `sequence ${receiptSeq} belongs to another receipt`);
    }
    if (recorded.kind === 'late') return this.noteLate(lane, { attempt, answer }, recorded.late);
    this.parts.notices.notify(attempt.receiptId);
    lane.baseline = baseline;
    lane.lastKnown = lastKnown;
    lane.failures = 0;
    this.noteLoss(lane, attempt, registration.recordedFields);
    if (foreignSales) await this.store.markShared(deviceId, `sequence jumped to ${receiptSeq}`);
    return { kind: 'next' };
  }

  /** It announced a field a moment ago and did not record it: the receipt shows it, and the register needs attention. */
  private noteLoss(lane: LaneInHand, { receiptId, document }: OpenAttempt, recorded: readonly FiscalField[]): void {
    const lost = (document.requiredFields ?? []).filter((field) => !recorded.includes(field));
    if (lost.length === 0) return;
    this.tools.logger.error(
      { device_id: lane.device.id, receipt_id: receiptId, lost },
      'registered without these fields',
    );
  }

  /** A successor closed the attempt while we were paused, or an operator did, or we ourselves without noticing. */
  private noteLate(lane: LaneInHand, { attempt }: Sent, late: LateAnswer): Step {
    const level = late === 'same' ? 'info' : 'error';
    this.tools.logger[level](
      { device_id: lane.device.id, attempt_id: attempt.id, late },
      'the attempt was closed before its answer was recorded',
    );
    this.parts.notices.notify(attempt.receiptId);
    return { kind: 'reread' };
  }

  /** Without extensions a refusal counts only when the counters are where they were just before. */
  private async recordRejected(
    lane: LaneInHand,
    sent: Sent,
    { rejection }: Extract<Outcome, { kind: 'rejected' }>,
  ): Promise<Step> {
    const { reading } = sent.attempt.baseline;
    if (lane.baseline.journalId === null) {
      const info = await lane.register.fmInfo();
      const unmoved = info.kind === 'ok' && reading !== null && sameReading(reading, readingOf(info.value));
      if (!unmoved) return this.resolveUnclear(lane, sent, `${rejection.code}, but the counters do not confirm it`);
    }
    const { attempt, answer } = sent;
    if (!(await this.store.closeRejected(attempt.id, rejection, { answer }, lane.laneLock))) return { kind: 'reread' };
    this.parts.notices.notify(sent.attempt.receiptId);
    return { kind: 'next' };
  }

  private resolveUnclear(lane: LaneInHand, { attempt }: Sent, reason: string): Promise<Step> {
    this.tools.logger.warn({ device_id: lane.device.id, attempt_id: attempt.id, reason }, 'unclear answer');
    // The next relay resolves it; its deadline is a new one.
    if (lane.isStopping()) return Promise.resolve({ kind: 'stop' });
    return this.parts.resolver.resolve(lane, attempt, reason);
  }

  /** False when the lock is no longer ours: the attempt stays open for its present holder. */
  private backToAccepted(lane: LaneInHand, { attempt, answer }: Sent): Promise<boolean> {
    return this.store.closeNotRegistered(attempt.id, { answer }, lane.laneLock);
  }
}
