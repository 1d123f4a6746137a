import { FairSlots, type ReleaseSlot } from '#runtime';

/** After this long without an answer a register counts as silent, and the work for it is set aside. */
export const SILENT_AFTER_MS = 250;

export type Later = (afterMs: number, run: () => void) => () => void;

/** The right of one piece of work to run here. */
export interface Place {
  /** Frees the place while the work only waits. False: too much is set aside already, and it keeps its place. */
  setAside(): boolean;
  /** Waits for a free place, before all work that has not begun. */
  comeBack(): Promise<void>;
  leave(): void;
}

/** Of so many places one is kept free for a merchant that has none. */
const PLACES_FOR_EACH_KEPT = 50;
/** Work that waits here at the same time; work beyond it is refused. About 2 KiB each. */
const MOST_WAITING = 20_000;
/** Where places are not divided. */
const ANY = '';

export interface PlaceBounds {
  places: number;
  aside: number;
  /** By merchant: then callers name it. Default: by nothing, in the order in which work came. */
  isDivided?: boolean;
}

/**
 * Bounds work that talks to registers, in two numbers: what works at the same time, and what is set aside because its register
 * is silent. A silent register holds a place for `SILENT_AFTER_MS` and nothing after it. Both numbers count everything,
 * whatever began the work. Work beyond them waits: within a merchant in the order in which it came, and the merchant with the
 * fewest places is next. Of both numbers the last few are kept for merchants that have none.
 */
export class Places {
  private isClosed = false;
  private readonly slots: FairSlots;
  private readonly asideSlots: FairSlots | null;
  /** Turns away what waits and has not begun. */
  private readonly entering = new Set<() => void>();

  constructor({ places, aside, isDivided = false }: PlaceBounds) {
    const waits = { waitingPerKey: MOST_WAITING, waiting: MOST_WAITING };
    this.slots = new FairSlots({ total: places, reserved: isDivided ? keptOf(places) : 0, ...waits });
    this.asideSlots = aside > 0 ? new FairSlots({ total: aside, reserved: isDivided ? keptOf(aside) : 0 }) : null;
  }

  /** Work that is set aside now. */
  get aside(): number {
    return this.asideSlots?.held ?? 0;
  }

  /** Places for new work at this moment; never below 0. Those that are kept count, unless work waits. */
  get free(): number {
    return this.isClosed ? 0 : Math.max(0, this.slots.free - this.slots.waiting);
  }

  /** Work that waits for a place, begun or not. */
  get waiting(): number {
    return this.slots.waiting;
  }

  /** Work of this merchant that has a place or waits for one. */
  loadOf(merchant: string): number {
    return this.slots.loadOf(merchant);
  }

  /** Null: no place is free. */
  tryEnter(merchant = ANY): Place | null {
    const release = this.isClosed ? null : this.slots.tryTake(merchant);
    return release && this.newPlace(merchant, release);
  }

  /** Waits for a place. Null: closed meanwhile, or too much waits already. */
  async enter(merchant = ANY): Promise<Place | null> {
    const turn = this.isClosed ? null : this.slots.take(merchant);
    if (!turn) return null;
    return new Promise((resolve) => {
      const turnAway = (): void => resolve(null);
      this.entering.add(turnAway);
      void turn.then((release) => {
        this.entering.delete(turnAway);
        if (this.isClosed) release();
        else resolve(this.newPlace(merchant, release));
      });
    });
  }

  /** New work is turned away; work that is set aside may still come back and end. */
  close(): void {
    this.isClosed = true;
    for (const turnAway of this.entering) turnAway();
    this.entering.clear();
  }

  private newPlace(merchant: string, taken: ReleaseSlot): Place {
    let release = taken;
    let endAside: ReleaseSlot | null = null;
    return {
      setAside: () => {
        if (endAside) return true;
        endAside = this.asideSlots?.tryTake(merchant) ?? null;
        if (!endAside) return false;
        release();
        return true;
      },
      comeBack: async () => {
        if (!endAside) return;
        release = await this.slots.takeAgain(merchant);
        endAside();
        endAside = null;
      },
      leave: () => {
        release();
        endAside?.();
      },
    };
  }
}

/** How many of so many are for merchants that have none. */
function keptOf(total: number): number {
  return total < 2 ? 0 : Math.max(1, Math.floor(total / PLACES_FOR_EACH_KEPT));
}

export interface PlaceInUse {
  place: Place;
  later: Later;
}

/** Sets the work aside while this call is not answered. */
export async function asideWhileSilent<T>({ place, later }: PlaceInUse, call: () => Promise<T>): Promise<T> {
  const cancel = later(SILENT_AFTER_MS, () => void place.setAside());
  try {
    return await call();
  } finally {
    cancel();
    await place.comeBack();
  }
}

/** By the machine's timers. */
export function later(afterMs: number, run: () => void): () => void {
  const timer = setTimeout(run, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
