import type { Clock } from '#runtime';

/** Wall-clock time that a test owns: it runs on from the real one and can be moved. */
export class MovableClock implements Clock {
  private offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  monotonicMs(): number {
    return performance.now();
  }

  move(byMs: number): void {
    this.offsetMs += byMs;
  }
}
