import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '#runtime';
import type { Notice } from './notice.js';

export const IDLE_MS = 15 * 60 * 1000;
export const LIFETIME_MS = 12 * 60 * 60 * 1000;
const MOST_SESSIONS = 20;

export interface Session {
  readonly openedMs: number;
  seenMs: number;
  /** Shown once on the next page. */
  notice: Notice | null;
}

/**
 * Who is logged in. In memory only: a restart ends all sessions. The map knows digests, so that not even a dump of
 * its keys opens anything. Time is monotonic: no session lives longer by a clock that is set back.
 */
export class Sessions {
  private readonly byDigest = new Map<string, Session>();

  constructor(private readonly clock: Clock) {}

  /** @returns the token for the cookie */
  open(notice: Notice | null = null): string {
    const token = randomBytes(32).toString('base64url');
    const nowMs = this.clock.monotonicMs();
    for (const [digest, session] of this.byDigest) if (this.isOver(session)) this.byDigest.delete(digest);
    const [oldest] = this.byDigest.keys();
    if (this.byDigest.size >= MOST_SESSIONS && oldest !== undefined) this.byDigest.delete(oldest);
    this.byDigest.set(digestOf(token), { openedMs: nowMs, seenMs: nowMs, notice });
    return token;
  }

  /** @param touch whether a person is there: a page that refreshes itself does not prolong the session */
  find(token: string | null, touch: boolean): Session | null {
    const session = token === null ? undefined : this.byDigest.get(digestOf(token));
    if (token === null || !session) return null;
    if (this.isOver(session)) {
      this.close(token);
      return null;
    }
    if (touch) session.seenMs = this.clock.monotonicMs();
    return session;
  }

  close(token: string): void {
    this.byDigest.delete(digestOf(token));
  }

  closeAll(): void {
    this.byDigest.clear();
  }

  private isOver({ openedMs, seenMs }: Session): boolean {
    const nowMs = this.clock.monotonicMs();
    return nowMs - seenMs >= IDLE_MS || nowMs - openedMs >= LIFETIME_MS;
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
