import { growingCache } from '#runtime';
import type { DrainLane, Drained } from './drain-lane.js';

/** Longer than a gateway takes a lane to be awake (apps/gateway wake-lanes.ts). */
const RECENT_MS = 600_000;
const MOST_LANES = 50_000;

/** Lanes that this relay has worked off within the last minutes, and no other relay since, as far as it has seen. */
export class RecentLanes {
  private readonly lanes = growingCache<string, true>(MOST_LANES, { ttl: RECENT_MS });

  has(deviceId: string): boolean {
    return this.lanes.has(deviceId);
  }

  note(deviceId: string, { kind }: Drained): void {
    if (kind === 'busy') this.lanes.delete(deviceId);
    else this.lanes.set(deviceId, true);
  }

  /** The same drain; each of its lanes is noted. */
  noting(drainLane: DrainLane): Pick<DrainLane, 'drain' | 'stop'> {
    return {
      stop: () => drainLane.stop(),
      drain: async (deviceId, place, beforeLastRead) => {
        const drained = await drainLane.drain(deviceId, place, beforeLastRead);
        this.note(deviceId, drained);
        return drained;
      },
    };
  }
}
