import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Problem } from '#problems';
import { FairSlots, isDatabaseBusy, type FairSlotsOptions } from '#runtime';
import { AuditTrail } from './audit-trail.js';
import type { Caller } from './caller.js';

export interface Changed<T> {
  result: T;
  action: string;
  targetId: string;
  before: unknown;
  after: unknown;
  /** Records of other merchants whom the change concerns too. */
  others?: readonly AuditOfOther[];
}

/** The caller is another merchant's: its address and request are not written down there. */
export type AuditOfOther = Pick<Caller, 'merchantId' | 'actor'> &
  Pick<Changed<null>, 'action' | 'targetId' | 'before' | 'after'>;

/** What turned out to change nothing leaves no record. */
export interface Unchanged<T> {
  result: T;
  action: null;
}

/** Longer than any change of this kind holds its rows; a person waits, not a till. */
const LOCK_TIMEOUT_MS = 5_000;
/**
 * All changes of a merchant end with the lock of its trail, and each that waits for it has a connection: two of them for one merchant, and
 * four for all, leave some for reads. The others wait here.
 */
const TURNS: FairSlotsOptions = { total: 4, perKey: 2, reserved: 2, waitingPerKey: 64, waiting: 512 };
const TRANSACTION_TIMEOUT_MS = 10_000;
const MAX_WAIT_MS = 5_000;

/** A change by a person and its record in the audit trail, in one transaction: both happen or neither does. */
@Injectable()
export class AuditedChange {
  private readonly turns = new FairSlots(TURNS);

  constructor(
    private readonly prisma: PrismaService,
    private readonly trail: AuditTrail,
  ) {}

  /**
   * Whatever `change` throws rolls everything back.
   * @throws Problem `service_unavailable` when another session holds the same rows for long, or the merchant's other changes take long;
   *   `too_many_requests` when more of them wait than are kept waiting
   */
  execute<T>(
    caller: Caller,
    change: (tx: Prisma.TransactionClient) => Promise<Changed<T> | Unchanged<T>>,
    { timeoutMs = TRANSACTION_TIMEOUT_MS }: { timeoutMs?: number } = {},
  ): Promise<T> {
    const until = performance.now() + LOCK_TIMEOUT_MS;
    const inTime = (): Promise<T> => {
      // Those behind some that waited for a lock in vain do not each wait as long again.
      if (performance.now() >= until) throw heldUp();
      return this.executeNow(caller, change, timeoutMs);
    };
    return this.turns.run(caller.merchantId, inTime, tooManyWait);
  }

  private async executeNow<T>(
    caller: Caller,
    change: (tx: Prisma.TransactionClient) => Promise<Changed<T> | Unchanged<T>>,
    timeoutMs: number,
  ): Promise<T> {
    try {
      return await this.prisma.$transaction(
        async (tx) => {
          await tx.$queryRaw`SELECT set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`;
          const { result, ...changed } = await change(tx);
          if (changed.action !== null) await this.append(tx, caller, changed);
          return result;
        },
        { timeout: timeoutMs, maxWait: MAX_WAIT_MS, isolationLevel: 'ReadCommitted' },
      );
    } catch (error) {
      if (!isDatabaseBusy(error)) throw error;
      throw heldUp(error);
    }
  }

  /** Two changes that concern the same merchants take their trails in the same order. */
  private async append(
    tx: Prisma.TransactionClient,
    caller: Caller,
    { others = [], ...own }: Omit<Changed<never>, 'result'>,
  ): Promise<void> {
    const records = [{ ...caller, ...own }, ...others.map((other) => ({ address: null, requestId: null, ...other }))];
    for (const record of records.sort((a, b) => (a.merchantId < b.merchantId ? -1 : 1)))
      await this.trail.append(tx, record);
  }
}

function heldUp(cause?: unknown): Problem {
  const detail = 'Another change of the same is being written; nothing was changed.';
  return new Problem('service_unavailable', detail, cause === undefined ? {} : { cause });
}

function tooManyWait(): Problem {
  return new Problem(
    'too_many_requests',
    'More changes of this merchant wait than are kept waiting; nothing was changed.',
    {
      retryAfterSeconds: 1,
    },
  );
}
