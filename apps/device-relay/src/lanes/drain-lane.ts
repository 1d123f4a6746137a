import { sameReading } from '#fiscal-domain';
import { inSpan, isTracing, readTraceParent, type Clock } from '#runtime';
import { takenBy } from '../devices/lane-device.js';
import { asideWhileSilent, type PlaceInUse } from '../places.js';
import { checkRegister } from './check-register.js';
import { UNKNOWN_BASELINE, type LaneInHand, type Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { DeviceStateName, LaneLockHandle, LaneLocks, LaneSnapshot, LaneStore, Registers } from './ports.js';
import { patientRegister } from './patient-register.js';
import type { ResolveAttempt } from './resolve-attempt.js';
import type { SendReceipt } from './send-receipt.js';
import type { SettleLane } from './settle-lane.js';

export type Drained =
  /** Nothing due. */
  | { kind: 'idle' }
  /** Another relay holds the lane; it reads once more after its release. */
  | { kind: 'busy' }
  /** The bound was reached, or work came during the release: read again. */
  | { kind: 'more' }
  | { kind: 'wait'; afterMs: number };

/** Receipts of one lane before it lets others have the worker. */
const MAX_RECEIPTS = 50;
const RECEIPTS_PER_READ = 10;
/** Readings of the lane that brought nothing forward: a loop that would spin is handed back to the sweeper. */
const MAX_REREADS = 8;
/** How long the register's identity stays cached while every answer fits. */
const IDENTITY_TTL_MS = 60_000;

const FIT: ReadonlySet<DeviceStateName> = new Set(['online', 'degraded']);
const STOPPED: ReadonlySet<DeviceStateName> = new Set(['replaced', 'disabled', 'claimed_elsewhere']);

export interface LaneWork {
  sender: SendReceipt;
  resolver: ResolveAttempt;
  settler: SettleLane;
  setbacks: LaneSetbacks;
}

interface HeldDrain {
  laneLock: LaneLockHandle;
  place: PlaceInUse | null;
}

/** Works one lane off, serially, under its lock (docs/architecture.md). */
export class DrainLane {
  private readonly checkedAt = new Map<string, number>();
  private stopping = false;

  constructor(
    private readonly store: LaneStore,
    private readonly locks: LaneLocks,
    private readonly registers: Registers,
    private readonly work: LaneWork,
    private readonly clock: Clock,
  ) {}

  /** After this no new receipt is begun; the one in hand is finished. */
  stop(): void {
    this.stopping = true;
  }

  /** Without a place: bounded by nothing. */
  async drain(deviceId: string, place: PlaceInUse | null = null): Promise<Drained> {
    const lockNumber = await this.store.lockNumberOf(deviceId);
    if (lockNumber === null) return { kind: 'idle' };
    const laneLock = await this.locks.tryTake(lockNumber);
    if (!laneLock) return { kind: 'busy' };
    let drained: Drained;
    try {
      drained = await this.drainHeld(deviceId, { laneLock, place });
    } finally {
      await laneLock.release();
    }
    if (drained.kind !== 'idle' || this.stopping) return drained;
    // A receipt committed between our last read and the release found the lane busy: its bell rang in vain.
    const after = await this.store.read(deviceId, 1);
    return after && isDue(after) ? { kind: 'more' } : drained;
  }

  private async drainHeld(deviceId: string, held: HeldDrain): Promise<Drained> {
    const { laneLock } = held;
    let receipts = 0;
    for (let rereads = 0; rereads < MAX_REREADS; rereads += 1) {
      const snapshot = await this.store.read(deviceId, RECEIPTS_PER_READ);
      if (!snapshot || !isDue(snapshot) || this.stopping) return { kind: 'idle' };
      const before = receipts;
      const step = await this.workOff(snapshot, held, () => {
        receipts += 1;
        return receipts >= MAX_RECEIPTS;
      });
      if (step.kind === 'wait') return step;
      if (step.kind === 'stop' || !laneLock.isHeld()) return { kind: 'idle' };
      if (receipts >= MAX_RECEIPTS) return { kind: 'more' };
      if (receipts > before) rereads = 0;
    }
    return { kind: 'wait', afterMs: 1_000 };
  }

  /** One round of a lane serves several requests: in none of their traces, and linked to each that is sampled. */
  private workOff(snapshot: LaneSnapshot, held: HeldDrain, isEnough: () => boolean): Promise<Step> {
    if (!isTracing()) return this.workOffNow(snapshot, held, isEnough);
    const { device, waiting, openAttempt } = snapshot;
    const links = [openAttempt, ...waiting].map((each) => readTraceParent(each?.traceParent));
    const attributes = { 'device.id': device.id, 'receipts.count': waiting.length };
    return inSpan('lane round', { kind: 'consumer', parent: null, links, attributes }, () =>
      this.workOffNow(snapshot, held, isEnough),
    );
  }

  /** The open attempt if there is one, else the receipts that were read, in order. */
  private async workOffNow(snapshot: LaneSnapshot, held: HeldDrain, isEnough: () => boolean): Promise<Step> {
    const { device, openAttempt } = snapshot;
    const { laneLock } = held;
    const lane = this.takeInHand(snapshot, held);
    if (openAttempt) {
      this.checkedAt.delete(device.id);
      return this.work.resolver.resolve(lane, openAttempt, 'left open by a process that is gone');
    }
    const unfit = (await this.settleAfterParking(lane, snapshot)) ?? (await this.recognise(lane, snapshot));
    if (unfit) return unfit;
    for (const receipt of snapshot.waiting) {
      if (!laneLock.isHeld() || this.stopping) return { kind: 'reread' };
      const step = await this.work.sender.send(lane, receipt);
      if (step.kind !== 'next') {
        this.checkedAt.delete(device.id);
        return step;
      }
      if (device.state === 'blocked') await this.store.setDeviceState(device.id, 'online', null);
      if (isEnough()) return step;
      const { pacingMs } = device.profile;
      if (pacingMs > 0) return this.work.setbacks.wait(lane, pacingMs, 'pacing');
    }
    return { kind: 'next' };
  }

  private takeInHand(snapshot: LaneSnapshot, { laneLock, place }: HeldDrain): LaneInHand {
    const { device, lastKnown, calibration, failures } = snapshot;
    const register = this.registers.of(device);
    return {
      device,
      register: place ? patientRegister(register, place) : register,
      laneLock,
      baseline: snapshot.baseline ?? UNKNOWN_BASELINE,
      lastKnown,
      calibration,
      failures,
      patiently: (wait) => (place ? asideWhileSilent(place, wait) : wait()),
      isStopping: () => this.stopping,
    };
  }

  /** A parked request may still sleep on its way; it would pass for the next receipt. Null when nothing is to be waited for. */
  private async settleAfterParking(lane: LaneInHand, { mustSettle }: LaneSnapshot): Promise<Step | null> {
    if (!mustSettle) return null;
    const settled = await this.work.settler.settle(lane, 'parked', lane.baseline);
    if (settled.kind === 'waiting') return settled.step;
    if (settled.kind === 'keyed') {
      // The parked request would be known by its key and match no other receipt.
      this.checkedAt.delete(lane.device.id);
      await this.store.endSettle(lane.device.id, settled.baseline, lane.laneLock);
      return { kind: 'reread' };
    }
    if (!sameReading(settled.first, settled.second))
      return this.work.setbacks.retryLater(lane, 'the counters never came to rest');
    await this.store.endSettle(
      lane.device.id,
      { ...settled.baseline, sequence: lane.baseline.sequence },
      lane.laneLock,
    );
    return { kind: 'reread' };
  }

  /** Null when the register is the one that we know and can take receipts. */
  private async recognise(lane: LaneInHand, snapshot: LaneSnapshot): Promise<Step | null> {
    const { device } = lane;
    const checkedAt = this.checkedAt.get(device.id);
    const isFresh = checkedAt !== undefined && this.clock.monotonicMs() - checkedAt < IDENTITY_TTL_MS;
    if (isFresh && snapshot.baseline !== null && FIT.has(device.state)) return null;
    const check = await checkRegister(lane.register, snapshot.baseline);
    if (check.kind !== 'same') return this.work.setbacks.unfit(lane, check);
    const saved = await this.store.saveIdentity(device.id, check.baseline, check.capabilities);
    if (saved === 'claimed_elsewhere') return this.work.setbacks.claimedElsewhere(lane, check.baseline.terminalId);
    if (saved === 'terminal_taken') {
      const reason = `terminal ${check.baseline.terminalId} belongs to another device`;
      return this.work.setbacks.refused(lane, 'blocked', reason);
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

function isDue(snapshot: LaneSnapshot): boolean {
  const hasWork = snapshot.openAttempt !== null || snapshot.waiting.length > 0;
  return hasWork && snapshot.waitMs <= 0 && !STOPPED.has(snapshot.device.state);
}
