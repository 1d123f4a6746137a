import { sameReading } from '#fiscal-domain';
import type { Clock } from '#runtime';
import { checkRegister } from '../devices/check-register.js';
import { takenBy } from '../devices/lane-device.js';
import type { DeviceStateName } from '../devices/register.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import { BLOCKED_RETRY_MS } from './lane-timing.js';
import type { LaneSnapshot, LaneStore } from './ports.js';
import type { SettleLane } from './settle-lane.js';

/** How long the register's identity stays cached while every answer fits. */
const IDENTITY_TTL_MS = 60_000;

const NOT_ADMITTED = 'it dials in and is not known yet: its polls ask who and whose it is';
const FIT: ReadonlySet<DeviceStateName> = new Set(['online', 'degraded']);

/** Brings a lane to where its next receipt may be sent: settled after a parked attempt, its register recognised. */
export class ReadyLane {
  private readonly checkedAt = new Map<string, number>();

  constructor(
    private readonly store: LaneStore,
    private readonly settler: SettleLane,
    private readonly setbacks: LaneSetbacks,
    private readonly clock: Clock,
  ) {}

  /** Null when a receipt may be sent; else what is to be done instead. */
  async prepare(lane: LaneInHand, snapshot: LaneSnapshot): Promise<Step | null> {
    return (await this.settleAfterParking(lane, snapshot)) ?? (await this.recognise(lane, snapshot));
  }

  /** Its register is asked anew who it is before the next receipt. */
  forget(deviceId: string): void {
    this.checkedAt.delete(deviceId);
  }

  /** The pause between two documents. */
  pace(lane: LaneInHand, pacingMs: number): Promise<Step> {
    return this.setbacks.wait(lane, pacingMs, 'pacing');
  }

  /** A parked request may still sleep on its way; it would pass for the next receipt. Null when nothing is to be waited for. */
  private async settleAfterParking(lane: LaneInHand, { mustSettle, baseline }: LaneSnapshot): Promise<Step | null> {
    if (!mustSettle) return null;
    const settled = await this.settler.settle(lane, 'parked', lane.baseline);
    if (settled.kind === 'waiting') return settled.step;
    if (settled.kind === 'keyed') {
      // The parked request would be known by its key and match no other receipt.
      this.checkedAt.delete(lane.device.id);
      // Who it is, the lane notes when it recognises it: where it knows nothing yet, more belongs to that (`saveIdentity`).
      await this.store.endSettle(lane.device.id, null, lane.laneLock);
      return { kind: 'reread' };
    }
    if (!sameReading(settled.first, settled.second))
      return this.setbacks.retryLater(lane, 'the counters never came to rest');
    const from = baseline === null ? null : { ...settled.baseline, sequence: lane.baseline.sequence };
    await this.store.endSettle(lane.device.id, from, lane.laneLock);
    return { kind: 'reread' };
  }

  /** Null when the register is the one that we know and can take receipts. */
  private async recognise(lane: LaneInHand, snapshot: LaneSnapshot): Promise<Step | null> {
    const { device } = lane;
    // The lane asks who it is, and not whose: it would sell for another taxpayer's register.
    if (!snapshot.isAdmitted) return this.setbacks.wait(lane, BLOCKED_RETRY_MS, NOT_ADMITTED);
    const checkedAt = this.checkedAt.get(device.id);
    const isFresh = checkedAt !== undefined && this.clock.monotonicMs() - checkedAt < IDENTITY_TTL_MS;
    if (isFresh && snapshot.baseline !== null && FIT.has(device.state)) return null;
    const check = await checkRegister(lane.register, snapshot.baseline);
    if (check.kind !== 'same') return this.setbacks.unfit(lane, check);
    const saved = await this.store.saveIdentity(device.id, check.baseline, check.capabilities);
    if (saved === 'claimed_elsewhere') return this.setbacks.claimedElsewhere(lane, check.baseline.terminalId);
    if (saved === 'terminal_taken') {
      const reason = `terminal ${check.baseline.terminalId} belongs to another device`;
      return this.setbacks.refused(lane, 'blocked', reason);
    }
    // What blocked it may be seen by a sale alone (E-016): lifted by one, else each try would lift it and block it again.
    if (device.state !== 'blocked') await this.store.setDeviceState(device.id, 'online', null);
    // Without extensions the reading that bounds the lane is the one before the last send: TakeBaseline compares.
    lane.baseline =
      check.baseline.journalId === null ? { ...lane.baseline, terminalId: check.baseline.terminalId } : check.baseline;
    lane.device = { ...device, ...takenBy(check.capabilities) };
    this.checkedAt.set(device.id, this.clock.monotonicMs());
    return null;
  }
}
