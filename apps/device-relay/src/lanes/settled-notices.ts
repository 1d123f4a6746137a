import { Prisma, RECEIPT_SETTLED_CHANNEL, SETTLED_IDS_PER_NOTICE, type PrismaService } from '#database';
import type { Logger } from '#runtime';
import type { LatencyMinutes } from './latency-minutes.js';
import type { SettledNotices } from './ports.js';

/**
 * Notifies gateways by NOTIFY, after the commit, which receipts have left their lane. One notice at a time takes all that
 * wait. Lost when this process dies in between: the gateway reads the row at the caller's deadline.
 */
export class PostgresSettledNotices implements SettledNotices {
  private readonly waiting: string[] = [];
  private sending = false;

  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
    private readonly latency: Pick<LatencyMinutes, 'note'>,
  ) {}

  notify(receiptId: string): void {
    this.latency.note(receiptId);
    this.waiting.push(receiptId);
    if (!this.sending) void this.send();
  }

  private async send(): Promise<void> {
    this.sending = true;
    while (this.waiting.length > 0) {
      const ids = this.waiting.splice(0, SETTLED_IDS_PER_NOTICE);
      try {
        // A notice has nothing to keep: without the setting its commit would wait for the disk.
        await this.prisma.queryHot(Prisma.sql`
          SELECT set_config('synchronous_commit', 'off', true), pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${ids.join(',')})`);
      } catch (error) {
        this.logger.warn({ err: error, receipts: ids.length }, 'notice lost; callers read at their deadline');
      }
    }
    this.sending = false;
  }
}
