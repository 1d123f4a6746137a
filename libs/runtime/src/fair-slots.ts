export interface FairSlotsOptions {
  /** Slots altogether. */
  total: number;
  /** Slots of one key at the same time; by default all but the reserved ones. */
  perKey?: number;
  /** Free slots that only a key without a slot is given. Default 1. */
  reserved?: number;
  /** Callers of one key that wait at the same time; further ones are refused. Default 0: whoever finds no slot is refused. */
  waitingPerKey?: number;
}

/** A slot that is held; released once, further calls do nothing. */
export type ReleaseSlot = () => void;

interface Key {
  held: number;
  readonly waiting: ((release: ReleaseSlot) => void)[];
}

/**
 * Divides a bounded resource among keys (merchants; addresses, where the caller is not known yet), so that no key can take it
 * from the others: the last free slot is given only to a key that holds none, and keys that wait are served in turn, however
 * many callers each of them has. Order of grants within a key is the order of calls.
 */
export class FairSlots {
  /** Keys that hold a slot or wait for one; those that were served last stand last. */
  private readonly keys = new Map<string, Key>();
  private readonly perKey: number;
  private readonly reserved: number;
  private readonly waitingPerKey: number;
  private free: number;

  constructor({ total, reserved = 1, perKey = total - reserved, waitingPerKey = 0 }: FairSlotsOptions) {
    if (reserved >= total || perKey < 1) throw new RangeError('a key must be able to get a slot');
    this.free = total;
    this.perKey = perKey;
    this.reserved = reserved;
    this.waitingPerKey = waitingPerKey;
  }

  /** Slots that are held, of all keys. */
  get held(): number {
    return [...this.keys.values()].reduce((sum, { held }) => sum + held, 0);
  }

  /** A slot at once, or null. */
  tryTake(name: string): ReleaseSlot | null {
    const key = this.keys.get(name) ?? { held: 0, waiting: [] };
    return key.waiting.length === 0 && this.mayTake(key) ? this.grant(name, key) : null;
  }

  /** A slot when it is this caller's turn; null where too many of its key wait already. */
  take(name: string): Promise<ReleaseSlot> | null {
    const release = this.tryTake(name);
    if (release) return Promise.resolve(release);
    const key = this.keys.get(name) ?? { held: 0, waiting: [] };
    if (key.waiting.length >= this.waitingPerKey) return null;
    this.keys.set(name, key);
    return new Promise((resolve) => key.waiting.push(resolve));
  }

  /** Does the work in a slot. @param refused makes the error where no slot can be had or waited for */
  async run<T>(name: string, work: () => Promise<T>, refused: () => Error): Promise<T> {
    const release = await this.take(name);
    if (!release) throw refused();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** A free slot beyond the reserved ones is anybody's who is below its share; a reserved one is for a key that has none. */
  private mayTake({ held }: Key): boolean {
    return this.free > 0 && held < this.perKey && (held === 0 || this.free > this.reserved);
  }

  private grant(name: string, key: Key): ReleaseSlot {
    key.held += 1;
    this.free -= 1;
    this.keys.delete(name);
    this.keys.set(name, key);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      key.held -= 1;
      this.free += 1;
      if (key.held === 0 && key.waiting.length === 0) this.keys.delete(name);
      this.serveNext();
    };
  }

  /** Passes over no more keys than hold a slot: one that holds none may always take a free one. */
  private serveNext(): void {
    for (const [name, key] of this.keys) {
      if (this.free === 0) return;
      if (key.waiting.length === 0 || !this.mayTake(key)) continue;
      const resolve = key.waiting.shift();
      resolve?.(this.grant(name, key));
    }
  }
}
