import { calibrate, readingOf, sameReading, whatWasLost, type CounterReading } from '#fiscal-domain';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { LaneStore } from './ports.js';

/**
 * Reads the counters just before a send, on registers without extensions, and learns from the registration before it:
 * how they count (calibration), and whether anybody else sells there (docs/architecture.md).
 */
export class TakeBaseline {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
  ) {}

  /** Null when `lane.baseline` is fresh and the send may go on. */
  async take(lane: LaneInHand): Promise<Step | null> {
    const info = await lane.register.fmInfo();
    if (info.kind === 'refused')
      return this.setbacks.refused(lane, 'blocked', `GET /fm/info: ${info.code}: ${info.message}`);
    if (info.kind !== 'ok') return this.setbacks.unreachable(lane, `GET /fm/info: ${info.reason}`);
    const now = readingOf(info.value);
    const { reading: before, terminalId } = lane.baseline;
    if (terminalId !== null && now.terminalId !== terminalId) {
      return this.setbacks.replaced(lane, `terminal ${now.terminalId} instead of ${terminalId}`);
    }
    const lost = before === null ? null : whatWasLost(before, now);
    if (lost !== null) return this.setbacks.replaced(lane, lost);
    if (before !== null) await this.learn(lane, before, now);
    lane.baseline = { ...lane.baseline, terminalId: now.terminalId, reading: now };
    lane.lastKnown = null;
    await this.store.saveReading(lane.device.id, lane.baseline, lane.calibration);
    return null;
  }

  private async learn(lane: LaneInHand, before: CounterReading, now: CounterReading): Promise<void> {
    const { lastKnown } = lane;
    const learnt = lastKnown && calibrate(before, now, lastKnown);
    if (learnt) lane.calibration ??= learnt;
    const isExplained = lastKnown === null ? sameReading(before, now) : learnt !== null || isSilentDocument(lastKnown);
    if (isExplained || lane.device.profile.sharing === 'shared') return;
    await this.store.markShared(lane.device.id, 'the counters moved without the gateway');
  }
}

/** An advance or credit: whether it moves the sums is not known, so it neither calibrates nor accuses. */
function isSilentDocument({ growth }: { growth: unknown }): boolean {
  return growth === null;
}
