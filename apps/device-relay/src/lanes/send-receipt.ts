import { decideAnswer, toLocalReceipt, type Outcome, type RegisterAnswer } from '#fiscal-domain';
import { newId, type Clock, type Logger } from '#runtime';
import type { LaneInHand, Step } from './lane-in-hand.js';
import { LaneSetbacks } from './lane-setbacks.js';
import { beginSendGuard } from './lane-timing.js';
import { openShift } from './open-shift.js';
import type { LaneStore, OpenAttempt, SettledNotices, WaitingReceipt } from './ports.js';
import type { ResolveAttempt } from './resolve-attempt.js';

interface Sent {
  attempt: OpenAttempt;
  answer: RegisterAnswer;
}

/**
 * One receipt to one register: connection → intent → bytes → result (design.md §5.2–4).
 *
 * Crash windows, all healed by the open attempt that the next owner of the lane resolves before anything else:
 * after the intent's commit and before the bytes (the register has nothing), while they are on their way (nobody knows),
 * after the register's answer and before our commit (the register has it, we do not know).
 */
export class SendReceipt {
  constructor(
    private readonly store: LaneStore,
    private readonly resolver: ResolveAttempt,
    private readonly setbacks: LaneSetbacks,
    private readonly notices: SettledNotices,
    private readonly tools: { clock: Clock; logger: Logger },
  ) {}

  async send(lane: LaneInHand, receipt: WaitingReceipt): Promise<Step> {
    const request = Buffer.from(JSON.stringify(toLocalReceipt(receipt.document, lane.device.profile.vatRule)));
    // The connection first: a register that is away costs no attempt, and a slow connect does not eat into the guard.
    const prepared = await lane.register.prepareReceipt(request, receipt.id);
    if (prepared.kind === 'not_sent') return this.setbacks.unreachable(lane, prepared.reason);

    const mayStillSend = beginSendGuard(this.tools.clock);
    const attemptId = newId('att');
    const { baseline } = lane;
    const intent = { attemptId, receiptId: receipt.id, deviceId: lane.device.id, baseline, request };
    const opened = await this.store.openAttempt(intent).catch((error: unknown) => {
      prepared.call.abandon();
      throw error;
    });
    if (opened !== 'opened') {
      prepared.call.abandon();
      return { kind: opened === 'withdrawn' ? 'next' : 'reread' };
    }
    const answer = await prepared.call.send(() => mayStillSend() && lane.grip.isHeld());
    const isRefund = receipt.document.type === 'refund';
    const attempt = { id: attemptId, receiptId: receipt.id, baseline, request, isRefund, ageMs: 0, refusedAgoMs: null };
    return this.record(lane, { attempt, answer }, decideAnswer(attempt, answer));
  }

  private async record(lane: LaneInHand, sent: Sent, outcome: Outcome): Promise<Step> {
    switch (outcome.kind) {
      case 'registered':
        return this.recordRegistered(lane, sent, outcome);
      case 'rejected': {
        await this.store.closeRejected(sent.attempt.id, outcome.rejection, { answer: sent.answer });
        this.notices.tell(sent.attempt.receiptId);
        return { kind: 'next' };
      }
      case 'device_refused':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return this.setbacks.refused(lane, outcome.state, outcome.reason);
      case 'shift_closed':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return openShift(lane, this.setbacks);
      case 'not_sent':
        if (!(await this.backToAccepted(lane, sent))) return { kind: 'reread' };
        return this.setbacks.unreachable(lane, outcome.reason);
      case 'unclear':
        this.tools.logger.warn({ device_id: lane.device.id, attempt_id: sent.attempt.id, reason: outcome.reason }, 'unclear answer');
        return this.resolver.resolve(lane, sent.attempt, outcome.reason);
    }
  }

  private async recordRegistered(
    lane: LaneInHand,
    { attempt }: Sent,
    { registration, foreignSales }: Extract<Outcome, { kind: 'registered' }>,
  ): Promise<Step> {
    const baseline = { ...lane.baseline, terminalId: registration.terminalId, sequence: registration.receiptSeq, sums: null };
    const deviceId = lane.device.id;
    await this.store.closeRegistered({ attemptId: attempt.id, deviceId, registration, evidence: 'answer', baseline });
    this.notices.tell(attempt.receiptId);
    lane.baseline = baseline;
    lane.failures = 0;
    if (foreignSales) this.tools.logger.warn({ device_id: deviceId, sequence: registration.receiptSeq }, 'somebody else sells here');
    return { kind: 'next' };
  }

  /** False when the lock is no longer ours: the attempt stays open for whoever has it now. */
  private backToAccepted(lane: LaneInHand, { attempt, answer }: Sent): Promise<boolean> {
    return this.store.closeNotRegistered(attempt.id, { answer }, lane.grip);
  }
}
