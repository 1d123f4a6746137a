import type { Buckets } from './client-limit.js';
import type { Rate } from '../../http/rate.js';
import type { LoginVerdict } from './failed-logins.js';

/** How often a client may be given an access token, and a person a session or a second factor. Counted once it has proven itself, so that no stranger uses it up. */
export class TokenLimit {
  /** @param limit null: no limit */
  constructor(private readonly limit: { rate: Rate; buckets: Buckets } | null) {}

  async take(clientId: string): Promise<LoginVerdict> {
    if (!this.limit) return { kind: 'open' };
    const verdict = await this.limit.buckets.take(`issue:${clientId}`);
    return verdict.isAllowed ? { kind: 'open' } : { kind: 'wait', retryInMs: verdict.retryInMs };
  }
}
