import { createHash } from 'node:crypto';

/** Pseudo-random numbers of one seed (sfc32): the same seed gives the same world. */
export class Chance {
  private a: number;
  private b = 0x9e3779b9;
  private c = 0x243f6a88;
  private counter = 1;

  constructor(seed: number) {
    this.a = seed | 0;
    for (let warmUp = 0; warmUp < 16; warmUp += 1) this.next();
  }

  /** 0 ≤ x < 1 */
  readonly next = (): number => {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    this.c |= 0;
    return (sum >>> 0) / 4_294_967_296;
  };

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.next() * from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }
}

/** What happened, in order: a running hash of every line, and the last lines for the message of a broken promise. */
export class Trace {
  private lines = 0;
  private pending = '';
  private readonly digest = createHash('sha256');
  private readonly last: string[] = [];

  note(atMs: number, line: string): void {
    const text = `${Math.round(atMs * 1_000) / 1_000} ${line}`;
    this.lines += 1;
    this.pending += text;
    if (this.pending.length > 65_536) {
      this.digest.update(this.pending);
      this.pending = '';
    }
    this.last[this.lines % KEPT_LINES] = text;
  }

  get hash(): string {
    return this.digest.copy().update(this.pending).digest('hex').slice(0, 16);
  }

  /** The last lines that name one of these. */
  tail(names: readonly string[]): string[] {
    const begin = this.lines + 1;
    const ordered = Array.from({ length: KEPT_LINES }, (_, index) => this.last[(begin + index) % KEPT_LINES] ?? '');
    return ordered.filter((line) => line !== '' && (names.length === 0 || names.some((name) => line.includes(name))));
  }
}

const KEPT_LINES = 20_000;
