/** A receiver that answers well gets no more at the same time. */
export const MAX_CONCURRENCY = 64;
/** An answer that takes longer says that the receiver is at its limit. */
export const SLOW_MS = 5_000;

/**
 * How many requests a receiver gets at the same time: one more for each round that it answers well, half as many when it does not.
 * Requests that were under way when it was halved say nothing new.
 */
export class SendingWindow {
  private value: number;
  private issued = 0;
  private issuedAtReduction = 0;

  constructor(size: number) {
    this.value = Math.min(Math.max(size, 1), MAX_CONCURRENCY);
  }

  get size(): number {
    return Math.floor(this.value);
  }

  /** A request leaves. @returns its ticket, for what came of it */
  begin(): number {
    this.issued += 1;
    return this.issued;
  }

  wentWell(): void {
    this.value = Math.min(this.value + 1 / this.value, MAX_CONCURRENCY);
  }

  wasTooMuch(ticket: number): void {
    if (ticket <= this.issuedAtReduction) return;
    this.value = Math.max(this.value / 2, 1);
    this.issuedAtReduction = this.issued;
  }
}
