/** The gauges of one scrape, and scrapes that come together, share one reading. */
const FRESH_MS = 5_000;
/** A reading that took long is used for so many times as long: scrapes must not take more than a twentieth of a connection. */
const USED_FOR = 20;

interface Reading<T> {
  begunAtMs: number;
  tookMs: number;
  value: Promise<T>;
}

/** One reading of the database for all who ask within a few seconds, or longer where the reading itself takes long. */
export class FreshReading<T> {
  private last: Reading<T> | null = null;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {}

  get(): Promise<T> {
    const now = this.monotonicMs();
    if (this.last && now - this.last.begunAtMs < Math.max(FRESH_MS, USED_FOR * this.last.tookMs))
      return this.last.value;
    const reading: Reading<T> = { begunAtMs: now, tookMs: 0, value: this.read() };
    const done = (): void => {
      reading.tookMs = this.monotonicMs() - now;
    };
    // How it ended is for those who wait for `value`.
    void reading.value.then(done, done);
    this.last = reading;
    return reading.value;
  }
}
