import type { Register, Registers } from '../devices/register.js';
import type { LaneLockHandle, LaneLocks, LaneSnapshot, LaneStore } from './ports.js';

/** A lane that is held for something else than its receipts. */
export interface HeldLane {
  snapshot: LaneSnapshot;
  register: Register;
  laneLock: LaneLockHandle;
}

export type Held<T> =
  | { kind: 'done'; value: T }
  /** Its receipts, or another relay, had it for all of that time. */
  | { kind: 'busy' }
  /** No such device. */
  | { kind: 'gone' };

/** A lane that drains releases its lock at least after 50 receipts, and at each pacing pause. */
const POLL_EVERY_MS = 25;

/**
 * Shifts and resends do not meet receipts: they are done under the lane's lock (docs/architecture.md). Nothing is held while
 * waiting for it. A holder reads the lane once more after its release: a bell may have rung in vain.
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
    const laneLock = await this.take(lockNumber, patienceMs);
    if (!laneLock) return { kind: 'busy' };
    try {
      const snapshot = await this.store.read(deviceId, 0);
      if (!snapshot) return { kind: 'gone' };
      return { kind: 'done', value: await work({ snapshot, register: this.registers.of(snapshot.device), laneLock }) };
    } finally {
      await laneLock.release();
      this.ring(deviceId);
    }
  }

  private async take(lockNumber: number, patienceMs: number): Promise<LaneLockHandle | null> {
    for (let waitedMs = 0; ; waitedMs += POLL_EVERY_MS) {
      const laneLock = await this.locks.tryTake(lockNumber);
      if (laneLock || waitedMs >= patienceMs) return laneLock;
      await this.pause(POLL_EVERY_MS);
    }
  }
}
