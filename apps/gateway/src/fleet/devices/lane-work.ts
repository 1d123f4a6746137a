import { Prisma, StatementGroup, type SalesDatabase } from '#database';
import { growingCache } from '#runtime';

/** Receipts that are known to be on their way to a device. */
export interface Work {
  receipts: number;
}

interface Counted extends Work {
  countedAtMs: number;
}

/** Work is counted anew within this time; between two countings each choice counts as one receipt more. */
const COUNT_EVERY_MS = 1_000;
/** A lane's length is counted no further than this. */
const MAX_COUNTED = 1_000;
const MAX_DEVICES = 50_000;

/** How much waits at devices, counted for all that are asked for together by one statement. */
export class LaneWork {
  private readonly counted = growingCache<string, Counted>(MAX_DEVICES);
  private readonly counts = new StatementGroup((ids: readonly string[]) => this.count(ids));

  constructor(private readonly prisma: SalesDatabase) {}

  /** One object per device, whichever places lead to it, so that a burst is spread as if every count were fresh. */
  of(deviceId: string): Work {
    const known = this.counted.get(deviceId);
    if (known) return known;
    const work = { receipts: 0, countedAtMs: Number.NEGATIVE_INFINITY };
    this.counted.set(deviceId, work);
    return work;
  }

  /** Counts those that were not counted lately. */
  async refresh(deviceIds: readonly string[]): Promise<void> {
    const now = performance.now();
    const stale = deviceIds.filter((id) => now - (this.counted.get(id)?.countedAtMs ?? -Infinity) >= COUNT_EVERY_MS);
    if (stale.length === 0) return;
    const fresh = await Promise.all(stale.map((id) => this.counts.one(id)));
    stale.forEach((id, index) => {
      const work = this.of(id);
      // A concurrent count of the same lanes includes what was chosen since.
      if ((this.counted.get(id)?.countedAtMs ?? -Infinity) < now)
        Object.assign(work, { receipts: fresh[index] ?? 0, countedAtMs: performance.now() });
    });
  }

  private async count(ids: readonly string[]): Promise<number[]> {
    const rows = await this.prisma.queryHot<{ receipts: number }>(Prisma.sql`
      SELECT lane_length(q.id, ${MAX_COUNTED}::int) + (lane_open_attempt(q.id) IS NOT NULL)::int AS receipts
        FROM unnest(${[...ids]}::text[]) WITH ORDINALITY AS q(id, number) ORDER BY q.number`);
    return rows.map(({ receipts }) => receipts);
  }
}
