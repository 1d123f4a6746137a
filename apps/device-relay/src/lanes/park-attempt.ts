import { inSpan, type Logger } from '#runtime';
import type { Step } from './lane-in-hand.js';
import type { LaneStore, OpenAttempt, SettledNotices } from './ports.js';

/** Neither registered nor not: the receipt stops as `unknown` with its evidence, a person decides, the lane goes on. */
export class ParkAttempt {
  constructor(
    private readonly store: LaneStore,
    private readonly notices: SettledNotices,
    private readonly logger: Logger,
  ) {}

  /** `mustSettle`: the request may still be asleep on its way, so the lane waits it out before its next send. */
  park(attempt: OpenAttempt, evidence: Record<string, unknown>, options: { mustSettle: boolean }): Promise<Step> {
    return inSpan('receipt unknown', { attributes: { 'receipt.id': attempt.receiptId } }, (span) => {
      span.fail('unknown');
      return this.parkNow(attempt, evidence, options);
    });
  }

  private async parkNow(
    attempt: OpenAttempt,
    evidence: Record<string, unknown>,
    options: { mustSettle: boolean },
  ): Promise<Step> {
    const { id: attemptId, receiptId, baseline } = attempt;
    this.logger.error({ attempt_id: attemptId, receipt_id: receiptId, evidence }, 'receipt is unknown');
    await this.store.closeUnknown({ attemptId, receiptId }, { baseline, ...evidence }, options);
    this.notices.notify(receiptId);
    return { kind: 'reread' };
  }
}
