import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { addressGroup } from '#outgoing';
import { systemClock } from '#runtime';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { setLimitHeaders, tooManyRequests } from './limit-headers.js';
import type { Rate } from '../../http/rate.js';
import { MemoryBuckets } from './token-bucket.js';

/** Called by probes and scrapers, often through the same proxy as every other client. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * The first thing that any request meets, when its head is there and its body not yet, whether a path fits or not: it must
 * have an address, and its address must not have asked too often. Counted in this process alone, so that it costs nothing.
 */
@Injectable()
export class AddressLimit {
  private readonly rate: Rate | null;
  private readonly buckets: MemoryBuckets | null;

  constructor(@Inject(SETTINGS_TOKEN) { ADDRESS_LIMIT }: Pick<GatewaySettings, 'ADDRESS_LIMIT'>) {
    this.rate = ADDRESS_LIMIT;
    this.buckets = ADDRESS_LIMIT && new MemoryBuckets(ADDRESS_LIMIT, systemClock);
  }

  /** @throws Problem 403 ip_not_allowed, 429 too_many_requests */
  check(request: FastifyRequest, reply: FastifyReply): void {
    const refusal = PROBES.has(request.routeOptions.url ?? '') ? null : this.refusalOf(request, reply);
    if (refusal) throw refusal;
  }

  private refusalOf(request: FastifyRequest, reply: FastifyReply): Problem | null {
    // Behind a trusted proxy the address comes from a header and can be any text.
    const group = isIP(request.ip) === 0 ? null : addressGroup(request.ip);
    if (group === null) return new Problem('ip_not_allowed', 'The X-Forwarded-For of this request names no address.');
    if (!this.rate || !this.buckets) return null;
    const verdict = this.buckets.take(group);
    setLimitHeaders(reply, 'address', this.rate, verdict);
    return verdict.isAllowed ? null : tooManyRequests('address', this.rate, verdict);
  }
}
