import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.js';

/** The gauges of one scrape, and scrapes that come together, share one reading. */
const FRESH_MS = 5_000;
/** A reading that took long is used for so many times as long: scrapes must not take more than a twentieth of a connection. */
const USED_FOR = 20;
/** A scrape has ten seconds for all that it shows; a statement on a database that says nothing has fifteen. */
const PATIENCE_MS = 5_000;
/** What brought nothing counts for no more than this, however long it took: the database may be back. */
const FAILED_MS = 3_000;

interface Reading<T> {
  begunAtMs: number;
  /** 0: it is under way. */
  tookMs: number;
  value: Promise<T>;
}

/** One reading of the database for all who ask within a few seconds, or longer where the reading itself takes long. */
export class FreshReading<T> {
  private last: Reading<T> | null = null;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly monotonicMs: () => number = () => performance.now(),
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** Null: it takes too long for this scrape, which shows everything else. A later one shows what it brings. */
  async get(): Promise<T | null> {
    const over = new AbortController();
    const late = delay(this.patienceMs, null, { signal: over.signal, ref: false }).catch(() => null);
    try {
      return await Promise.race([this.newest(), late]);
    } finally {
      over.abort();
    }
  }

  private newest(): Promise<T> {
    const now = this.monotonicMs();
    if (this.last && now - this.last.begunAtMs < Math.max(FRESH_MS, USED_FOR * this.last.tookMs))
      return this.last.value;
    const reading: Reading<T> = { begunAtMs: now, tookMs: 0, value: this.read() };
    const done = (value: T | null): void => {
      const tookMs = this.monotonicMs() - now;
      reading.tookMs = value === null ? Math.min(tookMs, FAILED_MS) : tookMs;
    };
    // How it ended is for those who wait for `value`.
    void reading.value.then(done, () => done(null));
    this.last = reading;
    return reading.value;
  }
}

/** One whose failure is logged and counts as nothing read: a scrape must not fail with the database. @param what was not read, for the log */
export function loggedReading<T>(
  read: () => Promise<T>,
  { logger, what, monotonicMs }: { logger: Logger; what: string; monotonicMs?: () => number },
): FreshReading<T | null> {
  const logged = (): Promise<T | null> =>
    read().catch((error: unknown) => {
      logger.warn({ err: error }, what);
      return null;
    });
  return new FreshReading(logged, monotonicMs);
}
