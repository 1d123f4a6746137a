/** Keys that stand out for a while, each for the same time since it last did; forgotten when they are asked for after it. */
export class ForAWhile {
  private readonly untilMs = new Map<string, number>();

  constructor(
    private readonly forMs: number,
    private readonly monotonicMs: () => number,
  ) {}

  add(key: string): void {
    this.untilMs.set(key, this.monotonicMs() + this.forMs);
  }

  has(key: string): boolean {
    const until = this.untilMs.get(key);
    if (until === undefined) return false;
    if (this.monotonicMs() < until) return true;
    this.untilMs.delete(key);
    return false;
  }
}
