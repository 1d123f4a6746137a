import type { Clock } from '#runtime';
import type { VirtualTime } from './virtual-time.js';

/**
 * A process of the simulated world. What comes to it from outside (answers, timers) is handed over only while it runs:
 * a paused one gets it when it goes on, a killed one never.
 */
export class SimulatedProcess {
  alive = true;
  private paused = false;
  private suspendedMs = 0;
  private pausedAtMs = 0;
  private frozen: (() => void)[] = [];

  constructor(
    private readonly time: VirtualTime,
    /** Its wall clock is wrong by this much. */
    private readonly wallOffsetMs: number,
    /** Called on every call that leaves the process: a good moment for something to go wrong. */
    private readonly onCall: () => void = () => undefined,
  ) {}

  readonly clock: Clock = {
    now: () => new Date(EPOCH_MS + this.time.nowMs + this.wallOffsetMs),
    monotonicMs: () => this.time.nowMs - this.suspendedMs,
  };

  get running(): boolean {
    return this.alive && !this.paused;
  }

  /** An answer from outside; `begin` starts whatever will bring it. */
  external<T>(begin: (resolve: (value: T) => void, reject: (error: Error) => void) => void): Promise<T> {
    this.onCall();
    return new Promise<T>((resolve, reject) => {
      begin(
        (value) => this.enter(() => resolve(value)),
        (error) => this.enter(() => reject(error)),
      );
    });
  }

  /** Runs code of the process, or keeps it for later while the process is paused. */
  enter(run: () => void): void {
    if (!this.alive) return;
    if (this.paused) {
      this.frozen.push(run);
      return;
    }
    this.time.enter();
    run();
  }

  pause(): void {
    this.paused = true;
    this.pausedAtMs = this.time.nowMs;
  }

  /** `suspended`: the whole machine slept, its monotonic clock with it. */
  goOn(suspended: boolean): void {
    if (!this.paused) return;
    this.paused = false;
    if (suspended) this.suspendedMs += this.time.nowMs - this.pausedAtMs;
    const { frozen } = this;
    this.frozen = [];
    // One after the other, as an event loop works off what piled up.
    for (const run of frozen) this.time.after(0, () => this.enter(run));
  }

  kill(): void {
    this.alive = false;
    this.frozen = [];
  }
}

const EPOCH_MS = Date.UTC(2026, 0, 5, 4);
