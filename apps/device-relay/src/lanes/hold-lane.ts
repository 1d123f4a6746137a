import type { LaneGrip, LaneLocks, LaneSnapshot, LaneStore, Register, Registers } from './ports.js';

/** A lane that is held for something else than its receipts. */
export interface HeldLane {
  snapshot: LaneSnapshot;
  register: Register;
  grip: LaneGrip;
}

export type Held<T> =
  | { kind: 'done'; value: T }
  /** Its receipts, or another relay, had it for all of that time. */
  | { kind: 'busy' }
  /** No such device. */
  | { kind: 'gone' };

/** A lane that drains lets go at least after 50 receipts, and at each pacing pause. */
const LOOK_EVERY_MS = 25;

/**
 * Shifts and resends do not meet receipts: they are done under the lane's lock (docs/architecture.md). Nothing is held while
 * waiting for it. Whoever holds a lane looks after it once more when he lets go: a bell may have rung in vain.
 */
export class HoldLane {
  constructor(
    private readonly store: Pick<LaneStore, 'lockNumberOf' | 'read'>,
    private readonly locks: LaneLocks,
    private readonly registers: Registers,
    private readonly ring: (deviceId: string) => void,
    private readonly pause: (ms: number) => Promise<unknown>,
  ) {}

  async hold<T>(deviceId: string, patienceMs: number, work: (lane: HeldLane) => Promise<T>): Promise<Held<T>> {
    const lockNumber = await this.store.lockNumberOf(deviceId);
    if (lockNumber === null) return { kind: 'gone' };
    const grip = await this.take(lockNumber, patienceMs);
    if (!grip) return { kind: 'busy' };
    try {
      const snapshot = await this.store.read(deviceId, 0);
      if (!snapshot) return { kind: 'gone' };
      return { kind: 'done', value: await work({ snapshot, register: this.registers.of(snapshot.device), grip }) };
    } finally {
      await grip.release();
      this.ring(deviceId);
    }
  }

  private async take(lockNumber: number, patienceMs: number): Promise<LaneGrip | null> {
    for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
      const grip = await this.locks.tryTake(lockNumber);
      if (grip || waitedMs >= patienceMs) return grip;
      await this.pause(LOOK_EVERY_MS);
    }
  }
}
