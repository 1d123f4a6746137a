import { FairSlots, type ReleaseSlot } from '#runtime';

/** Longest time for which a queue can hold back a lane's wake-ups: the job of a relay that died is its own for 25 s. */
const FOLLOWED_FOR_MS = 30_000;
const MOST_LANES = 500;
/** Of these, for merchants of which no lane is followed, one each. */
const KEPT_LANES = 100;

/** A lane that has work, and what is first there: an attempt's id or a receipt's. */
export interface DueLane {
  deviceId: string;
  first: string;
}

interface Followed {
  untilMs: number;
  /** What it was woken for last. */
  wokenFor: string | null;
  end: ReleaseSlot;
}

/**
 * Lanes whose wake-up was lost just now, and the next one probably with it (a dead relay's job holds the lane's place in
 * the queue, or the queue is away): polled often for a while instead of once per sweep. Bounded in time and, divided by
 * merchant, in number; a lane whose bell rings again, or that makes no progress though it is woken, is left to the bell and the sweeper.
 */
export class FollowedLanes {
  private readonly lanes = new Map<string, Followed>();
  private readonly slots = new FairSlots({ total: MOST_LANES, reserved: KEPT_LANES });

  constructor(private readonly nowMs: () => number) {}

  get size(): number {
    return this.lanes.size;
  }

  follow(deviceId: string, merchantId: string): void {
    const lane = this.lanes.get(deviceId);
    const end = lane?.end ?? this.slots.tryTake(merchantId);
    if (!end) return;
    this.lanes.set(deviceId, { untilMs: this.nowMs() + FOLLOWED_FOR_MS, wokenFor: lane?.wokenFor ?? null, end });
  }

  /** Its wake-up came through the queue. */
  rang(deviceId: string): void {
    this.end(deviceId);
  }

  /** The lanes to poll now. */
  toPoll(): string[] {
    for (const [deviceId, { untilMs }] of this.lanes) if (untilMs <= this.nowMs()) this.end(deviceId);
    return [...this.lanes.keys()];
  }

  /** @returns the lanes to wake: those that have other work than they were woken for before */
  found(due: readonly DueLane[]): string[] {
    const wake: string[] = [];
    for (const { deviceId, first } of due) {
      const lane = this.lanes.get(deviceId);
      if (!lane) continue;
      if (lane.wokenFor === first) this.end(deviceId);
      else {
        wake.push(deviceId);
        this.lanes.set(deviceId, { ...lane, untilMs: this.nowMs() + FOLLOWED_FOR_MS, wokenFor: first });
      }
    }
    return wake;
  }

  private end(deviceId: string): void {
    this.lanes.get(deviceId)?.end();
    this.lanes.delete(deviceId);
  }
}
