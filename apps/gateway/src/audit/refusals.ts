import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { growingCache, systemClock, type Clock, type Logger } from '#runtime';
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

interface Counted {
  sinceMs: number;
  /** What has its record in this time: the addresses, or one word for all. */
  subjects: Set<string>;
  unrecorded: number;
}

/**
 * Puts on the trail who was turned away. A flood of refusals does not become a flood of records: within ten minutes only
 * the first ones have a record of their own, the rest are counted, and the next record says how many they were.
 */
@Injectable()
export class Refusals {
  private readonly counted = growingCache<string, Counted>(KINDS);
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
    const known = this.counted.get(kind);
    const isOpen = known !== undefined && now - known.sinceMs < WINDOW_MS;
    const counted: Counted = isOpen ? known : { sinceMs: now, subjects: new Set(), unrecorded: known?.unrecorded ?? 0 };
    if (!isOpen) this.counted.set(kind, counted);
    const most = subject === '' ? 1 : ADDRESSES;
    if (counted.subjects.has(subject) || counted.subjects.size >= most) {
      counted.unrecorded += 1;
      return null;
    }
    counted.subjects.add(subject);
    const { unrecorded } = counted;
    counted.unrecorded = 0;
    return unrecorded;
  }
}
