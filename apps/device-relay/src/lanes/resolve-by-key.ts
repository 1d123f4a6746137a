import { decideRepeat, finalAfterMs, type Baseline, type RepeatOutcome } from '#fiscal-domain';
import type { Clock, Logger } from '#runtime';
import { checkKeys } from './check-keys.js';
import { ownAfter, type LaneInHand, type Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import { beginRepeatGuard } from './lane-timing.js';
import { openShift } from './open-shift.js';
import type { ParkAttempt } from './park-attempt.js';
import type { LaneStore, OpenAttempt, SettledNotices } from './ports.js';
import { logLate, recordOnce } from './record-answer.js';

/**
 * An open attempt on a register with key and journal: the same bytes are repeated under the same key, and it answers with
 * the stored registration or registers now; either way the document exists once. Who answers is checked first, on a
 * connection that is open already (check-keys.ts).
 */
export class ResolveByKey {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly parking: ParkAttempt,
    private readonly notices: SettledNotices,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  async resolve(lane: LaneInHand, attempt: OpenAttempt): Promise<Step> {
    const prepared = await lane.register.prepareReceipt(attempt.request, attempt.receiptId);
    if (prepared.kind === 'not_sent') return this.setbacks.unreachable(lane, prepared.reason);
    const mayStillSend = beginRepeatGuard(this.clock);
    const keys = await checkKeys(lane, attempt.baseline, this.setbacks);
    if (keys.kind === 'gone') {
      prepared.call.abandon();
      return keys.step;
    }
    const answer = await prepared.call.send(() => mayStillSend() && lane.laneLock.isHeld());
    const outcome = decideRepeat({ baseline: attempt.baseline, isRefund: attempt.document.type === 'refund' }, answer);
    this.logger.info(
      { device_id: lane.device.id, attempt_id: attempt.id, outcome: outcome.kind },
      'repeated under the same key',
    );
    return this.record(lane, attempt, { outcome, seen: keys.baseline });
  }

  private async record(
    lane: LaneInHand,
    attempt: OpenAttempt,
    { outcome, seen }: { outcome: RepeatOutcome; seen: Baseline },
  ): Promise<Step> {
    switch (outcome.kind) {
      case 'registered':
        return this.recordRegistered(lane, attempt, { outcome, seen });
      case 'shift_closed':
        return openShift(lane, this.setbacks);
      case 'refused':
        return this.recordRefusal(lane, attempt, outcome);
      case 'conflict':
        return this.parking.park(
          attempt,
          { why: 'the register holds another document under this key', answer: outcome.reason },
          { mustSettle: false },
        );
      case 'unproven':
        return this.setbacks.retryLater(lane, `repetition proved nothing: ${outcome.reason}`);
    }
  }

  private async recordRegistered(
    lane: LaneInHand,
    attempt: OpenAttempt,
    { outcome, seen }: { outcome: Extract<RepeatOutcome, { kind: 'registered' }>; seen: Baseline },
  ): Promise<Step> {
    const { registration, evidence } = outcome;
    // Others may have registered since: the lane goes on from whichever is later.
    const sequence = Math.max(registration.receiptSeq, seen.sequence ?? 0);
    const baseline = { ...seen, sequence, ...ownAfter(seen, registration) };
    const deviceId = lane.device.id;
    const { id: attemptId, receiptId } = attempt;
    const close = { attemptId, receiptId, deviceId, registration, evidence, baseline, lastKnown: null };
    const recorded = await recordOnce(this.store, { receiptId, close });
    if (recorded.kind === 'sequence_taken') {
      const why = `the register names sequence ${registration.receiptSeq}, which belongs to another receipt`;
      return this.parking.park(attempt, { why, registration }, { mustSettle: false });
    }
    if (recorded.kind === 'late') logLate(this.logger, close, recorded.late);
    this.notices.notify(attempt.receiptId);
    return { kind: 'reread' };
  }

  /**
   * A refused repetition proves nothing while the first request may still be asleep on its way (a phone's backlog). The
   * same refusal after the settle time does.
   */
  private async recordRefusal(
    lane: LaneInHand,
    attempt: OpenAttempt,
    { outcome }: Extract<RepeatOutcome, { kind: 'refused' }>,
  ): Promise<Step> {
    const settleMs = finalAfterMs(lane.device.profile.settleMs);
    const which = { attemptId: attempt.id, receiptId: attempt.receiptId };
    if (attempt.refusedAgoMs === null) {
      await this.store.noteRefusal(which, { refused: outcome });
      return this.setbacks.wait(lane, settleMs, 'refused after an unclear answer: asked again after the settle time');
    }
    if (attempt.refusedAgoMs < settleMs) {
      return this.setbacks.wait(lane, settleMs - attempt.refusedAgoMs, 'waiting out the settle time');
    }
    const evidence = { refused_again: outcome };
    if (outcome.kind === 'rejected') {
      if (!(await this.store.closeRejected(which, outcome.rejection, evidence, lane.laneLock)))
        return { kind: 'reread' };
      this.notices.notify(attempt.receiptId);
      return { kind: 'reread' };
    }
    if (!(await this.store.closeNotRegistered(which, evidence, lane.laneLock))) return { kind: 'reread' };
    return outcome.kind === 'device_refused'
      ? this.setbacks.refused(lane, outcome.state, outcome.reason)
      : this.setbacks.retryLater(lane, 'refused for good');
  }
}
