import {
  growthOf,
  readingOf,
  sameReading,
  type FiscalField,
  type Outcome,
  type RegisterAnswer,
  type Rejection,
} from '#fiscal-domain';
import type { CloseRegistered, LateAnswer } from '#ledger';
import type { Logger } from '#runtime';
import { baselineAfter, type LaneInHand, type Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import { openShift } from './open-shift.js';
import type { LaneStore, OpenAttempt, SettledNotices, WaitingReceipt } from './ports.js';
import type { PreparedNext } from './prepare-next.js';
import { logLate, type RecordAnswer } from './record-answer.js';
import type { ResolveAttempt } from './resolve-attempt.js';

/** What a register says as well when its module fails in the middle of a call (§5.4); other refusals come before it is asked. */
const MODULE_FAILURES: ReadonlySet<string> = new Set(['F-003', 'F-005', 'S-003']);

interface Sent {
  attempt: OpenAttempt;
  answer: RegisterAnswer;
  /** The receipt behind it, whose intent is written with its registration. */
  next?: PreparedNext | null;
}

/** What became of a sending, written down, and what the lane does next (docs/architecture.md). */
export class RecordOutcome {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly resolver: ResolveAttempt,
    private readonly answers: RecordAnswer,
    private readonly notices: SettledNotices,
    private readonly logger: Logger,
  ) {}

  /** One statement: a crash before it leaves the receipt accepted for the next owner of the lane, who decides the same. */
  async rejectUnsent(lane: LaneInHand, receipt: WaitingReceipt, rejection: Rejection): Promise<Step> {
    const { id: receiptId } = receipt;
    const { id: deviceId } = lane.device;
    if (!(await this.store.rejectUnsent({ receiptId, deviceId }, rejection))) {
      // Out of a copy of the database: it may be registered, and no other document may be sent under its key.
      return receipt.isFromCopy ? this.setbacks.retryLater(lane, rejection.detail) : { kind: 'reread' };
    }
    this.logger.warn({ device_id: deviceId, receipt_id: receiptId, rejection }, 'rejected, nothing was sent');
    this.notices.notify(receiptId);
    return { kind: 'reread' };
  }

  async record(lane: LaneInHand, sent: Sent, outcome: Outcome): Promise<Step> {
    const { setbacks } = this;
    switch (outcome.kind) {
      case 'registered':
        return this.recordRegistered(lane, sent, outcome);
      case 'rejected':
        return this.recordRejected(lane, sent, outcome);
      case 'device_refused':
        if (await this.mayBeRegistered(lane, sent)) return this.resolveUnclear(lane, sent, unconfirmed(outcome.reason));
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return setbacks.refused(lane, outcome.state, outcome.reason);
      case 'shift_closed':
        if (await this.mayBeRegistered(lane, sent)) return this.resolveUnclear(lane, sent, unconfirmed('F-002'));
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return openShift(lane, setbacks);
      case 'not_sent':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return outcome.reason === 'guard'
          ? setbacks.ownDelay(lane, 'the intent took too long')
          : setbacks.unreachable(lane, outcome.reason);
      case 'unclear':
        return this.resolveUnclear(lane, sent, outcome.reason);
    }
  }

  /**
   * A kept connection was closed between two receipts, as any server may. That says nothing about the register: the receipt is sent
   * over a new one.
   */
  async recordClosedBefore(sent: Sent, lane: LaneInHand): Promise<Step> {
    await this.backToAccepted(lane, sent);
    return { kind: 'reread' };
  }

  private async recordRegistered(
    lane: LaneInHand,
    { attempt, answer, next = null }: Sent,
    { registration, foreignSales }: Extract<Outcome, { kind: 'registered' }>,
  ): Promise<Step> {
    const deviceId = lane.device.id;
    const { receiptSeq } = registration;
    const baseline = baselineAfter(lane, registration);
    const lastKnown = baseline.journalId === null ? { receiptSeq, growth: growthOf(attempt.document) } : null;
    const close: CloseRegistered = {
      attemptId: attempt.id,
      receiptId: attempt.receiptId,
      deviceId,
      registration,
      evidence: 'answer',
      baseline,
      lastKnown,
    };
    const recorded = await this.answers.record(lane, { receiptId: attempt.receiptId, close }, next);
    if (recorded.kind === 'kept') return { kind: 'stop' };
    if (recorded.kind === 'sequence_taken') {
      return this.resolveUnclear(lane, { attempt, answer }, `sequence ${receiptSeq} belongs to another receipt`);
    }
    if (recorded.kind === 'late') return this.noteLate(close, recorded.late);
    this.notices.notify(attempt.receiptId);
    lane.baseline = baseline;
    lane.lastKnown = lastKnown;
    lane.failures = 0;
    this.noteLoss(lane, attempt, registration.recordedFields);
    if (foreignSales) await this.store.markShared(deviceId, `sequence jumped to ${receiptSeq}`);
    return { kind: 'next', ...(recorded.begun && { begun: recorded.begun }) };
  }

  /** Before its intent it was cancelled, moved, or overtaken. */
  noteWithdrawn(receiptId: string): void {
    this.notices.notify(receiptId);
  }

  /** It announced a field a moment ago and did not record it: the receipt shows it, and the register needs attention. */
  private noteLoss(lane: LaneInHand, { receiptId, document }: OpenAttempt, recorded: readonly FiscalField[]): void {
    const lost = (document.requiredFields ?? []).filter((field) => !recorded.includes(field));
    if (lost.length === 0) return;
    this.logger.error({ device_id: lane.device.id, receipt_id: receiptId, lost }, 'registered without these fields');
  }

  private noteLate(close: CloseRegistered, late: LateAnswer): Step {
    logLate(this.logger, close, late);
    this.notices.notify(close.receiptId);
    return { kind: 'reread' };
  }

  /** Without extensions a refusal counts only when the counters are where they were just before. */
  private async recordRejected(
    lane: LaneInHand,
    sent: Sent,
    { rejection }: Extract<Outcome, { kind: 'rejected' }>,
  ): Promise<Step> {
    const { attempt, answer } = sent;
    if (lane.baseline.journalId === null && (await countersSince(lane, attempt)) !== 'unmoved')
      return this.resolveUnclear(lane, sent, unconfirmed(rejection.code));
    const { id: attemptId, receiptId } = attempt;
    const isClosed = await this.store.closeRejected({ attemptId, receiptId }, rejection, { answer }, lane.laneLock);
    if (!isClosed) return { kind: 'reread' };
    this.notices.notify(receiptId);
    return { kind: 'next' };
  }

  /**
   * A register without keys that refuses after its module has registered, as one that has lost the module in between: sent again, the
   * receipt would be there twice. Its counters say it; where they cannot be read, the code does.
   */
  private async mayBeRegistered(lane: LaneInHand, { attempt, answer }: Sent): Promise<boolean> {
    // With keys the same registration answers the next sending.
    if (lane.baseline.journalId !== null) return false;
    const counters = await countersSince(lane, attempt);
    if (counters !== 'unread') return counters === 'moved';
    return answer.kind === 'refused' && MODULE_FAILURES.has(answer.code);
  }

  private resolveUnclear(lane: LaneInHand, { attempt }: Sent, reason: string): Promise<Step> {
    this.logger.warn({ device_id: lane.device.id, attempt_id: attempt.id, reason }, 'unclear answer');
    // The next relay resolves it; its deadline is a new one.
    if (lane.isStopping()) return Promise.resolve({ kind: 'stop' });
    return this.resolver.resolve(lane, attempt, reason);
  }

  /** False when the lock is no longer ours: the attempt stays open for its present holder. */
  private backToAccepted(lane: LaneInHand, { attempt, answer }: Sent): Promise<boolean> {
    const { id: attemptId, receiptId } = attempt;
    return this.store.closeNotRegistered({ attemptId, receiptId }, { answer }, lane.laneLock);
  }
}

/** Whether the counters are where they were just before this attempt; of a register without keys, which alone has such a reading. */
async function countersSince(
  { register }: LaneInHand,
  { baseline: { reading } }: OpenAttempt,
): Promise<'unmoved' | 'moved' | 'unread'> {
  const info = await register.fmInfo();
  if (info.kind !== 'ok' || reading === null) return 'unread';
  return sameReading(reading, readingOf(info.value)) ? 'unmoved' : 'moved';
}

function unconfirmed(refusal: string): string {
  return `${refusal}, but the counters do not confirm it`;
}
