import type { FastifyReply } from 'fastify';
import { setLimitHeaders, tooManyRequests } from './limit-headers.js';
import type { Rate } from '../../http/rate.js';
import type { BucketVerdict } from './token-bucket.js';

/** Where buckets are kept: in this process, or in Redis for all gateways. */
export interface Buckets {
  take(key: string): BucketVerdict | Promise<BucketVerdict>;
  /** What `take` would answer; nothing is taken. */
  peek(key: string): BucketVerdict | Promise<BucketVerdict>;
  /** Puts back what one `take` has taken. */
  give(key: string): void | Promise<void>;
}

/** How often an authenticated client may call, whatever token or address it uses. */
export class ClientLimit {
  /** @param limit null: no limit */
  constructor(private readonly limit: { rate: Rate; buckets: Buckets } | null) {}

  /** @throws Problem 429 too_many_requests */
  async check(clientId: string, reply: FastifyReply): Promise<void> {
    if (!this.limit) return;
    const { rate, buckets } = this.limit;
    const verdict = await buckets.take(`client:${clientId}`);
    setLimitHeaders(reply, 'client', rate, verdict);
    if (!verdict.isAllowed) throw tooManyRequests('client', rate, verdict);
  }
}
