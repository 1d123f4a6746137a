import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Problem } from '#problems';
import { isDatabaseBusy } from '#runtime';
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
const LOCK_TIMEOUT = '5s';
const TRANSACTION_TIMEOUT_MS = 10_000;

/** A change by a person and its record in the audit trail, in one transaction: both happen or neither does. */
@Injectable()
export class AuditedChange {
  constructor(
    private readonly prisma: PrismaService,
    private readonly trail: AuditTrail,
  ) {}

  /**
   * Whatever `change` throws rolls everything back.
   * @throws Problem `service_unavailable` when another session holds the same rows for long
   */
  async execute<T>(
    caller: Caller,
    change: (tx: Prisma.TransactionClient) => Promise<Changed<T> | Unchanged<T>>,
    { timeoutMs = TRANSACTION_TIMEOUT_MS }: { timeoutMs?: number } = {},
  ): Promise<T> {
    try {
      return await this.prisma.$transaction(
        async (tx) => {
          await tx.$queryRaw`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
          const { result, ...changed } = await change(tx);
          if (changed.action !== null) await this.append(tx, caller, changed);
          return result;
        },
        { timeout: timeoutMs, isolationLevel: 'ReadCommitted' },
      );
    } catch (error) {
      if (!isDatabaseBusy(error)) throw error;
      throw new Problem('service_unavailable', 'Another change of the same is being written; nothing was changed.', {
        cause: error,
      });
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
