import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { CidrSet, parseCidr, Problem, systemClock, type Cidr, type Clock, type Logger } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import { LOGGER } from '../tokens.js';

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
const CLIENTS = 10_000;
/** Refusals that are recorded per client and gateway within the time; the rest are counted. */
const RECORDS = 10;
const WINDOW_MS = 600_000;

interface Refusals {
  since: number;
  addresses: Set<string>;
  untold: number;
}

/** Lets a client in from the networks that it may call from, and puts on the trail who was turned away. */
@Injectable()
export class AddressGate {
  private readonly lists = new LRUCache<string, CidrSet>({ max: LISTS });
  private readonly refusals = new LRUCache<string, Refusals>({ max: CLIENTS });
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly changes: AuditedChange,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws Problem 403 ip_not_allowed, which does not tell the list */
  async check(caller: Caller, origin: Origin): Promise<void> {
    if (caller.allowedCidrs === null || this.setOf(caller.allowedCidrs).contains(origin.address)) return;
    await this.record(caller, origin);
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

  /** One record per address, a few per client and time: a flood of refusals must not become a flood of records. */
  private async record({ clientId, merchantId }: Caller, { address, requestId }: Origin): Promise<void> {
    const now = this.clock.monotonicMs();
    let seen = this.refusals.get(clientId);
    const untold = seen?.untold ?? 0;
    if (!seen || now - seen.since > WINDOW_MS) {
      seen = { since: now, addresses: new Set(), untold };
      this.refusals.set(clientId, seen);
    }
    if (seen.addresses.has(address) || seen.addresses.size >= RECORDS) {
      seen.untold += 1;
      return;
    }
    seen.addresses.add(address);
    seen.untold = 0;
    const trail = { merchantId, actor: clientId, address: isIP(address) === 0 ? null : address, requestId };
    const after = { refused: 'ip_not_allowed', refused_before_without_record: untold };
    try {
      await this.changes.execute(trail, () =>
        Promise.resolve({ result: null, action: 'client.refuse_address', targetId: clientId, before: null, after }),
      );
    } catch (error) {
      // The refusal stands all the same.
      this.logger.error(
        { err: error, client_id: clientId, request_id: requestId },
        'a refused address is not on the trail',
      );
    }
  }
}

/** Stored lists were parsed when they were given; one that cannot be read lets nobody in. */
function cidrOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(`the allow list holds ${JSON.stringify(text)}: ${parse.reason}`);
  return parse.cidr;
}
