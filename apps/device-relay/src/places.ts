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

/**
 * Bounds work that talks to registers, in two numbers: what works at the same time, and what is set aside because its register
 * is silent. A silent register holds a place for `SILENT_AFTER_MS` and nothing after it. Both numbers count everything,
 * whatever began the work; work beyond them waits in the order in which it came.
 */
export class Places {
  /** Work that is set aside now. */
  aside = 0;
  private working = 0;
  private isClosed = false;
  private readonly returning: (() => void)[] = [];
  private readonly entering: ((place: Place | null) => void)[] = [];

  constructor(private readonly bounds: { places: number; aside: number }) {}

  /** Places for new work at this moment; never below 0. */
  get free(): number {
    const { places } = this.bounds;
    return this.isClosed ? 0 : Math.max(0, places - this.working - this.returning.length - this.entering.length);
  }

  /** Work that waits for a place, begun or not. */
  get waiting(): number {
    return this.returning.length + this.entering.length;
  }

  /** Null: no place is free. */
  tryEnter(): Place | null {
    if (this.free === 0) return null;
    this.working += 1;
    return this.newPlace();
  }

  /** Waits for a place. Null: closed meanwhile. */
  enter(): Promise<Place | null> {
    const place = this.tryEnter();
    if (place || this.isClosed) return Promise.resolve(place);
    return new Promise((resolve) => this.entering.push(resolve));
  }

  /** New work is turned away; work that is set aside may still come back and end. */
  close(): void {
    this.isClosed = true;
    for (const resolve of this.entering.splice(0)) resolve(null);
  }

  private newPlace(): Place {
    let state: 'working' | 'aside' = 'working';
    return {
      setAside: () => {
        if (state === 'aside') return true;
        if (this.aside >= this.bounds.aside) return false;
        state = 'aside';
        this.aside += 1;
        this.vacate();
        return true;
      },
      comeBack: async () => {
        if (state === 'working') return;
        await this.reenter();
        state = 'working';
        this.aside -= 1;
      },
      leave: () => {
        if (state === 'working') this.vacate();
        else this.aside -= 1;
      },
    };
  }

  private reenter(): Promise<void> {
    if (this.working < this.bounds.places) {
      this.working += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.returning.push(resolve));
  }

  /** The place goes over to the next in line. */
  private vacate(): void {
    const returning = this.returning.shift();
    if (returning) {
      returning();
      return;
    }
    const entering = this.entering.shift();
    if (entering) entering(this.newPlace());
    else this.working -= 1;
  }
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
