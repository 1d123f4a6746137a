import { inSpan, isTracing, readTraceParent } from '#runtime';
import { asideWhileSilent, type PlaceInUse } from '../shares/places.js';
import { STOPPED_STATES, UNKNOWN_BASELINE, type Registers } from '../devices/register.js';
import type { BegunSend, LaneInHand, Step } from './lane-in-hand.js';
import type { LaneLockHandle, LaneLocks, LaneSnapshot, LaneStore, WaitingReceipt } from './ports.js';
import { patientCall, patientRegister } from './patient-register.js';
import type { ReadyLane } from './ready-lane.js';
import type { ResolveAttempt } from './resolve-attempt.js';
import type { SendReceipt } from './send-receipt.js';

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

/** Of receipts that leave the lane. */
interface Bound {
  /** How many still may. */
  left(): number;
  /** One has. */
  take(): void;
}

interface HeldDrain {
  laneLock: LaneLockHandle;
  place: PlaceInUse | null;
}

/** Works one lane off, serially, under its lock (docs/architecture.md). */
export class DrainLane {
  private stopping = false;

  constructor(
    private readonly store: LaneStore,
    private readonly locks: LaneLocks,
    private readonly registers: Registers,
    private readonly ready: ReadyLane,
    private readonly sender: SendReceipt,
    private readonly resolver: ResolveAttempt,
  ) {}

  /** After this no new receipt is begun; the one in hand is finished. */
  stop(): void {
    this.stopping = true;
  }

  /**
   * Without a place: bounded by nothing.
   *
   * @param beforeLastRead called before it is asked about the lane after its release: that sees whatever was committed until then
   */
  async drain(
    deviceId: string,
    place: PlaceInUse | null = null,
    beforeLastRead: () => unknown = () => undefined,
  ): Promise<Drained> {
    const lockNumber = await this.store.lockNumberOf(deviceId);
    if (lockNumber === null) return { kind: 'idle' };
    let receipts = 0;
    const bound: Bound = { left: () => MAX_RECEIPTS - receipts, take: () => (receipts += 1) };
    for (;;) {
      const before = receipts;
      const laneLock = await this.locks.tryTake(lockNumber);
      if (!laneLock) return { kind: 'busy' };
      const drained = await this.drainHeld(deviceId, { laneLock, place }, bound).catch(async (error: unknown) => {
        await laneLock.release();
        throw error;
      });
      if (drained.kind !== 'idle' || this.stopping) {
        await laneLock.release();
        return drained;
      }
      // A receipt committed between our last read and the release found the lane busy: its bell rang in vain.
      beforeLastRead();
      if (!((await laneLock.releaseAndAsk()) ?? isDue(await this.store.read(deviceId, 1)))) return drained;
      // While receipts leave the lane it is taken again at once; else a loop would spin.
      if (receipts === before || bound.left() <= 0) return { kind: 'more' };
    }
  }

  private async drainHeld(deviceId: string, held: HeldDrain, bound: Bound): Promise<Drained> {
    const { laneLock } = held;
    for (let rereads = 0; rereads < MAX_REREADS; rereads += 1) {
      const snapshot = await this.store.read(deviceId, RECEIPTS_PER_READ);
      if (!snapshot || !isDue(snapshot) || this.stopping) return { kind: 'idle' };
      const left = bound.left();
      const step = await this.workOff(snapshot, held, bound);
      if (step.kind === 'wait') return step;
      if (step.kind === 'stop' || !laneLock.isHeld()) return { kind: 'idle' };
      if (bound.left() <= 0) return { kind: 'more' };
      // All that waited was read and has left: what came meanwhile is seen by the read after the release.
      if (step.kind === 'next' && isWhole(snapshot)) return { kind: 'idle' };
      if (bound.left() < left) rereads = 0;
    }
    return { kind: 'wait', afterMs: 1_000 };
  }

  /** One round of a lane serves several requests: in none of their traces, and linked to each that is sampled. */
  private workOff(snapshot: LaneSnapshot, held: HeldDrain, bound: Bound): Promise<Step> {
    if (!isTracing()) return this.workOffNow(snapshot, held, bound);
    const { device, waiting, openAttempt } = snapshot;
    const links = [openAttempt, ...waiting].map((each) => readTraceParent(each?.traceParent));
    const attributes = { 'device.id': device.id, 'receipts.count': waiting.length };
    return inSpan('lane round', { kind: 'consumer', parent: null, links, attributes }, () =>
      this.workOffNow(snapshot, held, bound),
    );
  }

  /** The open attempt if there is one, else the receipts that were read, in order. */
  private async workOffNow(snapshot: LaneSnapshot, held: HeldDrain, bound: Bound): Promise<Step> {
    const { device, openAttempt } = snapshot;
    const { laneLock } = held;
    const lane = this.takeInHand(snapshot, held);
    if (openAttempt) {
      this.ready.forget(device.id);
      return this.resolver.resolve(lane, openAttempt, 'left open by a process that is gone');
    }
    const notReady = await this.ready.prepare(lane, snapshot);
    if (notReady) return notReady;
    let begun: BegunSend | null = null;
    for (const [index, receipt] of snapshot.waiting.entries()) {
      // One whose intent is written is sent, or its guard says that it may not be.
      if (begun === null && (!laneLock.isHeld() || this.stopping)) return { kind: 'reread' };
      const upcoming = this.upcoming(snapshot, index, bound);
      const step = await this.sender.send(lane, receipt, { begun, upcoming });
      if (step.kind !== 'next') {
        this.ready.forget(device.id);
        return step;
      }
      begun = step.begun ?? null;
      if (device.state === 'blocked') await this.store.setDeviceState(device.id, 'online', null);
      bound.take();
      if (bound.left() <= 0) return step;
      const { pacingMs } = device.profile;
      if (pacingMs > 0) return this.ready.pace(lane, pacingMs);
    }
    return { kind: 'next' };
  }

  /** The receipt that may follow at once. Null: the lane is left, paced or lifted of a block before. */
  private upcoming({ device, waiting }: LaneSnapshot, index: number, bound: Bound): WaitingReceipt | null {
    const mayFollow = bound.left() > 1 && device.profile.pacingMs <= 0 && device.state !== 'blocked' && !this.stopping;
    return mayFollow ? (waiting[index + 1] ?? null) : null;
  }

  private takeInHand(snapshot: LaneSnapshot, { laneLock, place }: HeldDrain): LaneInHand {
    const { device, lastKnown, calibration, failures } = snapshot;
    const register = this.registers.of(device);
    return {
      device,
      register: place ? patientRegister(register, place) : register,
      prepareAtOnce: async (body, key) => {
        const prepared = await register.prepareReceipt(body, key);
        return place ? patientCall(prepared, place) : prepared;
      },
      laneLock,
      baseline: snapshot.baseline ?? UNKNOWN_BASELINE,
      lastKnown,
      calibration,
      failures,
      patiently: (wait) => (place ? asideWhileSilent(place, wait) : wait()),
      isStopping: () => this.stopping,
    };
  }
}

/** It has all receipts that waited, and nothing that had to be resolved before them. */
function isWhole({ openAttempt, waiting }: LaneSnapshot): boolean {
  return openAttempt === null && waiting.length < RECEIPTS_PER_READ;
}

/** What the lane lock says of a lane that it has released (`LaneLockHandle.releaseAndAsk`). */
export function isDue(snapshot: LaneSnapshot | null): boolean {
  if (!snapshot) return false;
  const hasWork = snapshot.openAttempt !== null || snapshot.waiting.length > 0;
  return hasWork && snapshot.waitMs <= 0 && !STOPPED_STATES.has(snapshot.device.state);
}
