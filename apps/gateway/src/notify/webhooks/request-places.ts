import { Injectable } from '@nestjs/common';

/** Requests to receivers under way in this process: connections of it, and of the machine. */
const PLACES = 256;

/** Bounds what all receivers get together; each of them is bounded by its own window. */
@Injectable()
export class RequestPlaces {
  private taken = 0;
  private waiting: (() => void)[] = [];

  get free(): number {
    return PLACES - this.taken;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    this.taken += 1;
    try {
      return await work();
    } finally {
      this.taken -= 1;
      const waiting = this.waiting;
      this.waiting = [];
      for (const resolve of waiting) resolve();
    }
  }

  /** Resolves when a place has become free; another delivery may have taken it by then. */
  change(): Promise<void> {
    if (this.free > 0) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
