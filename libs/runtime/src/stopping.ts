import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

/**
 * That this program was asked to stop. From then on `GET /readyz` answers 503, so that balancers send no caller here any more;
 * the listener stays open for them to notice.
 */
@Injectable()
export class Stopping {
  private begun = false;

  get isBegun(): boolean {
    return this.begun;
  }

  begin(): void {
    this.begun = true;
  }
}

/** Waits for the work, but no longer. @returns whether it has ended */
export async function endsWithin(work: Promise<unknown>, patienceMs: number): Promise<boolean> {
  const over = new AbortController();
  const late = delay(Math.max(0, patienceMs), false, { signal: over.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    over.abort();
  }
}
