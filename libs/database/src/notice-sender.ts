import { Prisma } from './generated/client.js';
import { onBehalfOfAll } from './merchant-scope.js';
import type { PrismaService } from './prisma.service.js';

export interface NoticeSenderOptions {
  /** One of channels.ts; the payload is words joined by commas. */
  channel: string;
  /** Words of one notice: PostgreSQL bounds a payload to 8000 bytes. */
  perNotice: number;
  /** They were not sent; nothing tries again. */
  onLost: (error: unknown, words: number) => void;
}

/** While the database does not answer; notices are hints, and lost ones are healed by their readers. */
const MOST_WAITING = 20_000;

/** NOTIFY outside of the transaction that it is about, after its commit. One statement at a time takes all that wait. */
export class NoticeSender {
  private readonly waiting: string[] = [];
  private sending = false;

  constructor(
    private readonly prisma: Pick<PrismaService, 'queryHot'>,
    private readonly options: NoticeSenderOptions,
  ) {}

  /** Never throws, never waits. */
  send(...words: readonly string[]): void {
    if (this.waiting.length >= MOST_WAITING)
      return this.options.onLost(new Error('Too many notices wait'), words.length);
    this.waiting.push(...words);
    // Also what others have sent and will send while it is at it: whose turn it came in decides nothing.
    if (!this.sending) onBehalfOfAll(() => void this.sendWaiting());
  }

  private async sendWaiting(): Promise<void> {
    this.sending = true;
    const { channel, perNotice, onLost } = this.options;
    while (this.waiting.length > 0) {
      const words = this.waiting.splice(0, perNotice);
      try {
        // A notice has nothing to keep: without the setting its commit would wait for the disk.
        await this.prisma.queryHot(Prisma.sql`
          SELECT set_config('synchronous_commit', 'off', true), pg_notify(${channel}, ${words.join(',')})`);
      } catch (error) {
        onLost(error, words.length);
      }
    }
    this.sending = false;
  }
}
