import { Prisma, type PrismaService } from '#database';
import { waitAnew } from '#ledger';
import type { Logger } from '#runtime';
import type { SqlNow } from './database-now.js';

/** A statement for a whole fleet would end at its time limit, and again a minute later. */
const MOST_AT_ONCE = 5_000;

export interface LongestWaits {
  /** The longest time from one poll to the next, and the longest lease of one. */
  pollMs: number;
  resendMs: number;
}

/**
 * Due times stand on the database's clock. One that was ahead and was set right, or another server's behind it that took over, leaves
 * them in the future: for as long as the clock was wrong, and so for an hour or a year, no register would be asked how it is, and one
 * that was away would not be found to be back, with all that waits for it. What is due later than anything here is ever put off is due now. What
 * is due too early is read and put off again; nothing is proven by a due time.
 */
export class DueTimesAhead {
  constructor(
    private readonly prisma: PrismaService,
    private readonly now: SqlNow,
    private readonly longest: LongestWaits,
    private readonly logger: Logger,
  ) {}

  async setRight(): Promise<void> {
    const { pollMs, resendMs } = this.longest;
    const found = {
      polls: await this.dueNow(Prisma.sql`poll_due_at`, pollMs),
      resends: await this.dueNow(Prisma.sql`resend_due_at`, resendMs),
      lanes: await waitAnew(this.prisma),
    };
    if (found.polls + found.resends + found.lanes === 0) return;
    this.logger.warn(found, 'the clock of the database went back: what it had put off too far is due again');
  }

  private async dueNow(column: Prisma.Sql, longestMs: number): Promise<number> {
    let all = 0;
    for (let found = MOST_AT_ONCE; found === MOST_AT_ONCE; all += found)
      found = await this.someDueNow(column, longestMs);
    return all;
  }

  /** By the index of the column, from its end. What a relay writes at this moment is not waited for. */
  private someDueNow(column: Prisma.Sql, longestMs: number): Promise<number> {
    return this.prisma.$executeRaw`
      UPDATE devices SET ${column} = ${this.now()}
       WHERE id IN (SELECT id FROM devices WHERE deleted_at IS NULL AND ${column} > ${this.now()} + make_interval(secs => ${longestMs / 1_000})
                       LIMIT ${MOST_AT_ONCE}::int4 FOR NO KEY UPDATE SKIP LOCKED)`;
  }
}
