import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { systemClock, type Clock, type Logger } from '#runtime';
import { LOGGER } from '../tokens.js';
import { AuditedChange } from './audited-change.js';

/** A caller that was turned away by one of the locks. */
export interface Refusal {
  clientId: string;
  merchantId: string;
  /** `client.refuse_<what>`. */
  action: string;
  /** Why: a problem code, or a word of ours. Each is counted for itself. */
  reason: string;
  /** As it is known; any text behind a proxy that lets one through. */
  address: string;
  requestId: string;
  /** More for the record. */
  details?: Record<string, unknown>;
}

/** How many records one reason may leave per client, gateway and time: one, or one per address up to a bound. */
export type Bound = 'one' | 'addresses';

const KINDS = 10_000;
const ADDRESSES = 10;
const WINDOW_MS = 600_000;

interface Told {
  sinceMs: number;
  /** What has its record in this time: the addresses, or one word for all. */
  subjects: Set<string>;
  untold: number;
}

/**
 * Puts on the trail who was turned away. A flood of refusals does not become a flood of records: within ten minutes only
 * the first ones have a record of their own, the rest are counted, and the next record says how many they were.
 */
@Injectable()
export class Refusals {
  private readonly told = new LRUCache<string, Told>({ max: KINDS });
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly changes: AuditedChange,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Never rejects: the refusal stands all the same. */
  async record(refusal: Refusal, bound: Bound): Promise<void> {
    const { clientId, merchantId, action, reason, requestId } = refusal;
    const before = this.countedBefore(`${action} ${clientId} ${reason}`, bound === 'one' ? '' : refusal.address);
    if (before === null) return;
    const address = isIP(refusal.address) === 0 ? null : refusal.address;
    const after = { refused: reason, ...refusal.details, refused_before_without_record: before };
    const record = { result: null, action, targetId: clientId, before: null, after };
    try {
      await this.changes.execute({ merchantId, actor: clientId, address, requestId }, () => Promise.resolve(record));
    } catch (error) {
      const at = { err: error, action, client_id: clientId, request_id: requestId };
      this.logger.error(at, 'a refusal is not on the trail');
    }
  }

  /** How many had no record until now; null: this one has none either. */
  private countedBefore(kind: string, subject: string): number | null {
    const now = this.clock.monotonicMs();
    const known = this.told.get(kind);
    const isOpen = known !== undefined && now - known.sinceMs < WINDOW_MS;
    const told: Told = isOpen ? known : { sinceMs: now, subjects: new Set(), untold: known?.untold ?? 0 };
    if (!isOpen) this.told.set(kind, told);
    const most = subject === '' ? 1 : ADDRESSES;
    if (told.subjects.has(subject) || told.subjects.size >= most) {
      told.untold += 1;
      return null;
    }
    told.subjects.add(subject);
    const { untold } = told;
    told.untold = 0;
    return untold;
  }
}
