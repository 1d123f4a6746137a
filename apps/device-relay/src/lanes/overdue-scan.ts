import type { LaneRepository } from './lane.repository.js';

/** Lanes with work that one statement reads: bounds its cost while most registers are away. */
const LANES_PER_READ = 2_000;
/** Before every device id. */
const FIRST = '';

/**
 * Finds overdue lanes in the order of their device ids, round and round, from where the last read ended: no lane is hidden by
 * those before it. Each relay begins at a random lane, so that relays do not ask for the same lanes at the same time.
 */
export class OverdueScan {
  private after: string | null = null;

  constructor(
    private readonly lanes: Pick<LaneRepository, 'overdueLanes' | 'laneAt'>,
    private readonly overdueMs: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** @returns at most `limit` lanes; fewer when the read came to its bound or to the last lane */
  async next(limit: number): Promise<string[]> {
    const after = this.after ?? (await this.lanes.laneAt(this.random())) ?? FIRST;
    const { due, last } = await this.lanes.overdueLanes({
      overdueMs: this.overdueMs,
      after,
      lanes: LANES_PER_READ,
    });
    const taken = due.slice(0, limit);
    this.after = taken.length < due.length ? (taken.at(-1) ?? after) : (last ?? FIRST);
    return taken;
  }
}
