/** Something that happens later, once. */
export interface Timer {
  cancel(): void;
}

interface Happening {
  atMs: number;
  /** Ties are broken by the order in which they were asked for. */
  serial: number;
  run: (() => void) | null;
}

/** All promises that were resolved have run their continuations when this one resolves. */
const continuationsRan = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The simulated world's clock and event loop: time passes only from one happening to the next. */
export class VirtualTime {
  nowMs = 0;
  steps = 0;
  private serial = 0;
  private readonly heap: Happening[] = [];
  private entered = false;

  after(ms: number, run: () => void): Timer {
    this.serial += 1;
    const happening: Happening = { atMs: this.nowMs + Math.max(0, ms), serial: this.serial, run };
    this.push(happening);
    return {
      cancel: () => {
        happening.run = null;
      },
    };
  }

  /** Says that code of the lane was entered: its continuations run before anything else happens. */
  enter(): void {
    this.entered = true;
  }

  /** Runs until `isOver`, or until nothing is left to happen. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const next = this.pop();
      if (!next) return;
      if (!next.run) continue;
      this.nowMs = next.atMs;
      this.steps += 1;
      next.run();
      if (!this.entered) continue;
      this.entered = false;
      await continuationsRan();
    }
  }

  private push(happening: Happening): void {
    const { heap } = this;
    let place = heap.length;
    heap.push(happening);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent]!;
      if (!isBefore(happening, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = happening;
  }

  private pop(): Happening | undefined {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || top === last) return top;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      const below = heap[child]!;
      if (!isBefore(below, last)) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = last;
    return top;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.serial < b.serial);
}
