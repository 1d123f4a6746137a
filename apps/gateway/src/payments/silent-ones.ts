import { systemClock, type Clock } from '#runtime';

/** After a silence: soon, as one call that went wrong says little, then in growing pauses. */
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 10 * 60_000;
const PAUSE_GROWTH = 4;

interface Silence {
  times: number;
  pauseMs: number;
  notedMs: number;
}

/** Who did not answer lately, and until when each is left alone. Kept in memory: another process finds out for itself. */
export class SilentOnes {
  private readonly silent = new Map<string, Silence>();

  /**
   * @param most so many are known at a time; the next is asked as if it had answered
   * @param after so many silences in a row before one is left alone
   */
  constructor(
    private readonly options: { most: number; after: number },
    private readonly clock: Clock = systemClock,
  ) {}

  noteSilent(id: string): void {
    const before = this.silent.get(id);
    if (!before && this.silent.size >= this.options.most) return;
    const times = (before?.times ?? 0) + 1;
    const grown = Math.max((before?.pauseMs ?? 0) * PAUSE_GROWTH, FIRST_PAUSE_MS);
    const pauseMs = times < this.options.after ? 0 : Math.min(grown, LONGEST_PAUSE_MS);
    this.silent.set(id, { times, pauseMs, notedMs: this.clock.monotonicMs() });
  }

  noteHeard(id: string): void {
    this.silent.delete(id);
  }

  isLeftAlone(id: string): boolean {
    const found = this.silent.get(id);
    return found !== undefined && this.clock.monotonicMs() < found.notedMs + found.pauseMs;
  }

  /** All that are left alone now. Those that were not asked for long are forgotten. */
  leftAlone(): string[] {
    const nowMs = this.clock.monotonicMs();
    const found: string[] = [];
    for (const [id, { notedMs, pauseMs }] of this.silent) {
      const overMs = nowMs - notedMs - pauseMs;
      if (overMs < 0) found.push(id);
      else if (overMs >= LONGEST_PAUSE_MS) this.silent.delete(id);
    }
    return found;
  }
}
