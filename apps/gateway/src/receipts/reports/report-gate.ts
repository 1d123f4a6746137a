import { Problem } from '#problems';
import type { IsCallerGone } from '../../http/caller-gone.js';

export interface GateLimits {
  /** Reports at the same time: as many as there are connections for them. */
  atOnce: number;
  /** Reports that may wait for their turn, of all merchants and of one. */
  maxWaiting: number;
  maxWaitingOfOne: number;
}

export const DEFAULT_WAITING = { maxWaiting: 32, maxWaitingOfOne: 4 } as const;

interface Waiting {
  merchantId: string;
  isCallerGone: IsCallerGone;
  begin: () => void;
  refuse: (problem: Problem) => void;
}

/**
 * Admission of reports: a few at the same time, fewer of one merchant than there are places, and what cannot wait is refused at
 * once. Those whose callers have gone are not begun.
 */
export class ReportGate {
  private readonly running = new Map<string, number>();
  private readonly waiting: Waiting[] = [];
  private readonly atOnceOfOne: number;

  constructor(private readonly limits: GateLimits) {
    this.atOnceOfOne = Math.max(1, limits.atOnce - 1);
  }

  /** @throws Problem 503 with Retry-After when too many wait already */
  async run<T>(merchantId: string, isCallerGone: IsCallerGone, make: () => Promise<T>): Promise<T> {
    await this.enter(merchantId, isCallerGone);
    try {
      return await make();
    } finally {
      this.count(merchantId, -1);
      this.admit();
    }
  }

  private enter(merchantId: string, isCallerGone: IsCallerGone): Promise<void> {
    const ofOne = this.waiting.filter((each) => each.merchantId === merchantId).length;
    if (this.waiting.length >= this.limits.maxWaiting || ofOne >= this.limits.maxWaitingOfOne) {
      return Promise.reject(refusal('Too many reports wait to be made; try again later.'));
    }
    return new Promise((begin, refuse) => {
      this.waiting.push({ merchantId, isCallerGone, begin, refuse });
      this.admit();
    });
  }

  private admit(): void {
    for (let next = this.nextOf(); next; next = this.nextOf()) {
      if (next.isCallerGone()) next.refuse(refusal('The connection was closed before the report was made.'));
      else {
        this.count(next.merchantId, 1);
        next.begin();
      }
    }
  }

  private nextOf(): Waiting | undefined {
    const total = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    if (total >= this.limits.atOnce) return undefined;
    const index = this.waiting.findIndex(({ merchantId }) => (this.running.get(merchantId) ?? 0) < this.atOnceOfOne);
    return index < 0 ? undefined : this.waiting.splice(index, 1)[0];
  }

  private count(merchantId: string, change: 1 | -1): void {
    const count = (this.running.get(merchantId) ?? 0) + change;
    if (count === 0) this.running.delete(merchantId);
    else this.running.set(merchantId, count);
  }
}

function refusal(detail: string): Problem {
  return new Problem('service_unavailable', detail, { retryAfterSeconds: 5 });
}
