/** Longest time for which a queue can hold back a lane's wake-ups: the job of a relay that died is its own for 25 s. */
const FOLLOWED_FOR_MS = 30_000;
const MOST_LANES = 500;

/** A lane that has work, and what is first there: an attempt's id or a receipt's. */
export interface DueLane {
  deviceId: string;
  first: string;
}

interface Followed {
  untilMs: number;
  /** What it was woken for last. */
  wokenFor: string | null;
}

/**
 * Lanes whose wake-up was lost just now, and the next one probably with it (a dead relay's job holds the lane's place in
 * the queue, or the queue is away): looked at often for a while instead of once per sweep. Bounded in number and time; a
 * lane whose bell is heard again, or that is not got on with though it is woken, is left to the bell and the sweeper.
 */
export class FollowedLanes {
  private readonly lanes = new Map<string, Followed>();

  constructor(private readonly nowMs: () => number) {}

  get size(): number {
    return this.lanes.size;
  }

  follow(deviceId: string): void {
    if (!this.lanes.has(deviceId) && this.lanes.size >= MOST_LANES) return;
    const wokenFor = this.lanes.get(deviceId)?.wokenFor ?? null;
    this.lanes.set(deviceId, { untilMs: this.nowMs() + FOLLOWED_FOR_MS, wokenFor });
  }

  /** Its wake-up came through the queue. */
  heard(deviceId: string): void {
    this.lanes.delete(deviceId);
  }

  /** Whose turn it is to be looked at. */
  toLookAt(): string[] {
    for (const [deviceId, { untilMs }] of this.lanes) if (untilMs <= this.nowMs()) this.lanes.delete(deviceId);
    return [...this.lanes.keys()];
  }

  /** @returns the lanes to wake: those that have other work than they were woken for before */
  found(due: readonly DueLane[]): string[] {
    const wake: string[] = [];
    for (const { deviceId, first } of due) {
      const lane = this.lanes.get(deviceId);
      if (!lane) continue;
      if (lane.wokenFor === first) this.lanes.delete(deviceId);
      else {
        wake.push(deviceId);
        this.lanes.set(deviceId, { untilMs: this.nowMs() + FOLLOWED_FOR_MS, wokenFor: first });
      }
    }
    return wake;
  }
}
