export interface FairSlotsOptions {
  /** Slots altogether. */
  total: number;
  /** Slots of one key at the same time; by default all but the reserved ones. */
  perKey?: number;
  /** Free slots that only a key without a slot is given. Default 1. */
  reserved?: number;
  /** Callers of one key that wait at the same time; further ones are refused. Default 0: a caller that finds no slot is refused. */
  waitingPerKey?: number;
  /** Callers of all keys that wait at the same time; beyond them a key may have one. Default: no bound but `waitingPerKey`. */
  waiting?: number;
}

/** A slot that is held; released once, further calls do nothing. */
export type ReleaseSlot = () => void;

type Waiter = (release: ReleaseSlot) => void;

interface Key {
  held: number;
  /** Hold no slot at the moment, and have work in hand. */
  readonly returning: Queue<Waiter>;
  readonly waiting: Queue<Waiter>;
}

/**
 * Divides a bounded resource among keys (merchants; addresses, where the caller is not known yet), so that no key can take it
 * from the others: the last free slots are given only to keys that hold none, and of the keys that wait the one that holds the
 * fewest is served next, in turn where several hold the same, however many callers each of them has. Order of grants within a
 * key is the order of calls.
 */
export class FairSlots {
  /** Keys that hold a slot or wait for one; those that were served last stand last. */
  private readonly keys = new Map<string, Key>();
  private readonly total: number;
  private readonly perKey: number;
  private readonly reserved: number;
  private readonly waitingPerKey: number;
  private readonly waitingAtMost: number;
  private taken = 0;
  private callersWaiting = 0;

  constructor(options: FairSlotsOptions) {
    const { total, reserved = 1, perKey = total - reserved, waitingPerKey = 0, waiting = Infinity } = options;
    if (reserved >= total || perKey < 1) throw new RangeError('a key must be able to get a slot');
    this.total = total;
    this.perKey = perKey;
    this.reserved = reserved;
    this.waitingPerKey = waitingPerKey;
    this.waitingAtMost = waiting;
  }

  /** Slots that are held, of all keys. */
  get held(): number {
    return this.taken;
  }

  /** Slots that are held by no key, the reserved ones among them. */
  get free(): number {
    return this.total - this.taken;
  }

  /** Callers that wait, of all keys. */
  get waiting(): number {
    return this.callersWaiting;
  }

  /** What this key holds and waits for. */
  loadOf(name: string): number {
    const key = this.keys.get(name);
    return key ? key.held + waitersOf(key) : 0;
  }

  /** A slot at once, or null. */
  tryTake(name: string): ReleaseSlot | null {
    const key = this.keyOf(name);
    return waitersOf(key) === 0 && this.mayTake(key) ? this.grant(name, key) : null;
  }

  /** A slot when it is this caller's turn; null where too many wait already. */
  take(name: string): Promise<ReleaseSlot> | null {
    const release = this.tryTake(name);
    if (release) return Promise.resolve(release);
    const key = this.keyOf(name);
    const isFull = this.callersWaiting >= this.waitingAtMost && waitersOf(key) > 0;
    if (isFull || key.waiting.size >= this.waitingPerKey) return null;
    return this.waitIn(name, key, key.waiting);
  }

  /** The same for work that had a slot and gave it back while it waited for something else: before its key's other callers, never refused. */
  takeAgain(name: string): Promise<ReleaseSlot> {
    const key = this.keyOf(name);
    if (key.returning.size === 0 && this.mayTake(key)) return Promise.resolve(this.grant(name, key));
    return this.waitIn(name, key, key.returning);
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

  private keyOf(name: string): Key {
    return this.keys.get(name) ?? { held: 0, returning: new Queue(), waiting: new Queue() };
  }

  private waitIn(name: string, key: Key, queue: Queue<Waiter>): Promise<ReleaseSlot> {
    this.keys.set(name, key);
    this.callersWaiting += 1;
    return new Promise((resolve) => queue.push(resolve));
  }

  /** A free slot beyond the reserved ones is any key's that is below its share; a reserved one is for a key that has none. */
  private mayTake({ held }: Key): boolean {
    return this.free > 0 && held < this.perKey && (held === 0 || this.free > this.reserved);
  }

  private grant(name: string, key: Key): ReleaseSlot {
    key.held += 1;
    this.taken += 1;
    this.keys.delete(name);
    this.keys.set(name, key);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      key.held -= 1;
      this.taken -= 1;
      if (key.held === 0 && waitersOf(key) === 0) this.keys.delete(name);
      this.serveWaiting();
    };
  }

  private serveWaiting(): void {
    for (let next = this.nextToServe(); next; next = this.nextToServe()) {
      const [name, key] = next;
      const waiter = key.returning.shift() ?? key.waiting.shift();
      this.callersWaiting -= 1;
      waiter?.(this.grant(name, key));
    }
  }

  /** Passes over no more keys than hold a slot: one that holds none may always take a free one, and none has fewer. */
  private nextToServe(): [string, Key] | null {
    if (this.free === 0 || this.callersWaiting === 0) return null;
    let next: [string, Key] | null = null;
    for (const [name, key] of this.keys) {
      if (waitersOf(key) === 0 || !this.mayTake(key)) continue;
      if (key.held === 0) return [name, key];
      if (!next || key.held < next[1].held) next = [name, key];
    }
    return next;
  }
}

function waitersOf({ returning, waiting }: Key): number {
  return returning.size + waiting.size;
}

/** First in, first out. An array would move all that is left with each that goes, and thousands may wait. */
class Queue<T> {
  private readonly items = new Map<number, T>();
  private first = 0;
  private next = 0;

  get size(): number {
    return this.items.size;
  }

  push(item: T): void {
    this.items.set(this.next, item);
    this.next += 1;
  }

  shift(): T | undefined {
    const item = this.items.get(this.first);
    if (item === undefined) return undefined;
    this.items.delete(this.first);
    this.first += 1;
    return item;
  }
}
