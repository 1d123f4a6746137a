const MAX_MARKS = 10_000;

/**
 * Whether something that was read is still what the database holds, as far as notices show. A read carries the tick at which
 * it began: a notice that arrives while it is under way makes its result old before it is kept.
 */
export class Freshness {
  private tick = 0;
  private allChangedAt = 0;
  private readonly changedAt = new Map<string, number>();

  /** To be taken before reading. */
  now(): number {
    return this.tick;
  }

  changed(scope: string): void {
    this.tick += 1;
    if (this.changedAt.size >= MAX_MARKS && !this.changedAt.has(scope)) this.allChanged();
    else this.changedAt.set(scope, this.tick);
  }

  allChanged(): void {
    this.tick += 1;
    this.allChangedAt = this.tick;
    this.changedAt.clear();
  }

  isFresh(scope: string, tick: number): boolean {
    return tick >= this.allChangedAt && tick >= (this.changedAt.get(scope) ?? 0);
  }
}
