import type { FastifyReply } from 'fastify';
import { Problem } from '#problems';
import type { Rate } from '../../http/rate.js';
import type { BucketVerdict } from './token-bucket.js';

/** What is limited; names the limit in the headers. */
export type LimitName = 'address' | 'client';

/** Adds a limit to `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
export function setLimitHeaders(reply: FastifyReply, name: LimitName, rate: Rate, verdict: BucketVerdict): void {
  const resetSeconds = Math.ceil((verdict.isAllowed ? verdict.fullInMs : verdict.retryInMs) / 1_000);
  addLimit(reply, 'ratelimit-policy', `"${name}";q=${rate.requests};w=${rate.seconds}`);
  addLimit(reply, 'ratelimit', `"${name}";r=${verdict.remaining};t=${resetSeconds}`);
}

export function tooManyRequests(name: LimitName, rate: Rate, { retryInMs }: BucketVerdict): Problem {
  const whose = name === 'address' ? 'from this address' : 'of this client';
  const detail = `More than ${rate.requests} requests ${whose} within ${rate.seconds} s.`;
  return new Problem('too_many_requests', detail, { retryAfterSeconds: secondsToWait(retryInMs) });
}

/** For Retry-After. */
export function secondsToWait(retryInMs: number): number {
  return Math.max(1, Math.ceil(retryInMs / 1_000));
}

/** Beside what other limits have said. */
export function addLimit(reply: FastifyReply, header: 'ratelimit' | 'ratelimit-policy', item: string): void {
  const before = reply.getHeader(header);
  void reply.header(header, typeof before === 'string' ? `${before}, ${item}` : item);
}
