import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { Problem } from '#problems';
import { CidrSet, parseCidr, type Cidr } from '#outgoing';
import { Refusals } from '../../audit/refusals.js';

/** From where a request comes. */
export interface Origin {
  /** Of the caller: the peer's, or what a trusted proxy says. Any text when that proxy lets one through. */
  address: string;
  requestId: string;
}

export function originOf(request: FastifyRequest): Origin {
  return { address: request.ip, requestId: request.id };
}

interface Caller {
  clientId: string;
  merchantId: string;
  /** Null: from anywhere. Empty: from nowhere. */
  allowedCidrs: readonly string[] | null;
}

/** Compiled lists, shared by all tokens of a client. */
const LISTS = 1_000;

/** Lets a client in from the networks that it may call from, and puts on the trail who was turned away. */
@Injectable()
export class AddressGate {
  private readonly lists = new LRUCache<string, CidrSet>({ max: LISTS });

  constructor(private readonly refusals: Refusals) {}

  /** @throws Problem 403 ip_not_allowed, which does not disclose the list */
  async check(caller: Caller, origin: Origin): Promise<void> {
    if (caller.allowedCidrs === null || this.setOf(caller.allowedCidrs).contains(origin.address)) return;
    const { clientId, merchantId } = caller;
    const refusal = { clientId, merchantId, action: 'client.refuse_address', reason: 'ip_not_allowed', ...origin };
    await this.refusals.record(refusal, 'addresses');
    throw new Problem('ip_not_allowed', 'This client may not call from this address.');
  }

  private setOf(texts: readonly string[]): CidrSet {
    const key = texts.join(',');
    const known = this.lists.get(key);
    if (known) return known;
    const set = new CidrSet(texts.map(cidrOf));
    this.lists.set(key, set);
    return set;
  }
}

/** Stored lists were parsed when they were given; one that cannot be read admits no caller. */
function cidrOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(`the allow list holds ${JSON.stringify(text)}: ${parse.reason}`);
  return parse.cidr;
}
