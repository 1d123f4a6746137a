import { inSpan, readTraceParent } from '#runtime';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { ParkAttempt } from './park-attempt.js';
import type { OpenAttempt } from './ports.js';
import type { ResolveByCounters } from './resolve-by-counters.js';
import type { ResolveByKey } from './resolve-by-key.js';

/**
 * Finds out what became of an open attempt, before anything else happens on its lane (docs/architecture.md): by key where the
 * register knows keys, by its counters where it does not, by a person where neither proves anything in time.
 */
export class ResolveAttempt {
  constructor(
    private readonly byKey: ResolveByKey,
    private readonly byCounters: ResolveByCounters,
    private readonly parking: ParkAttempt,
  ) {}

  resolve(lane: LaneInHand, attempt: OpenAttempt, reason: string): Promise<Step> {
    const parent = readTraceParent(attempt.traceParent);
    const attributes = { 'receipt.id': attempt.receiptId, 'attempt.id': attempt.id, 'device.id': lane.device.id };
    return inSpan('lane resolve', { parent, attributes }, async (span) => {
      const step = await this.resolveNow(lane, attempt, reason);
      span.set({ step: step.kind });
      return step;
    });
  }

  private async resolveNow(lane: LaneInHand, attempt: OpenAttempt, reason: string): Promise<Step> {
    const knowsKeys = attempt.baseline.journalId !== null;
    if (attempt.ageMs >= lane.device.profile.parkAfterMs) {
      const evidence = { reason, why: 'could not be resolved in time', after_ms: Math.round(attempt.ageMs) };
      return this.parking.park(attempt, evidence, { mustSettle: !knowsKeys });
    }
    return knowsKeys ? this.byKey.resolve(lane, attempt) : this.byCounters.resolve(lane, attempt, reason);
  }
}
