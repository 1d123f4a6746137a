import { NoticeSender, RECEIPT_SETTLED_CHANNEL, SETTLED_IDS_PER_NOTICE, type PrismaService } from '#database';
import type { Logger } from '#runtime';
import type { LatencyMinutes } from './latency-minutes.js';
import type { SettledNotices } from './ports.js';

/** A lane's answer goes out with the next settled receipt, or by itself after this: well within the gateway's patience. */
const ANSWER_AFTER_MS = 100;

/**
 * Notifies gateways by NOTIFY, after the commit, which receipts have left their lane, and which lanes this relay has taken in hand.
 * Lost when this process dies in between: the gateway reads the row at the caller's deadline, and rings the lane again.
 */
export class PostgresSettledNotices implements SettledNotices {
  private readonly sender: NoticeSender;
  private readonly taken = new Set<string>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    prisma: PrismaService,
    logger: Logger,
    private readonly latency: Pick<LatencyMinutes, 'note'>,
  ) {
    this.sender = new NoticeSender(prisma, {
      channel: RECEIPT_SETTLED_CHANNEL,
      perNotice: SETTLED_IDS_PER_NOTICE,
      onLost: (error, ids) => logger.warn({ err: error, ids }, 'notice lost; callers read at their deadline'),
    });
  }

  notify(receiptId: string): void {
    this.latency.note(receiptId);
    this.sender.send(receiptId, ...this.takeTaken());
  }

  /** The lane was woken and is in hand here: the next wake-up may come by notice. */
  notifyTaken(deviceId: string): void {
    this.taken.add(deviceId);
    this.timer ??= setTimeout(() => this.sender.send(...this.takeTaken()), ANSWER_AFTER_MS).unref();
  }

  private takeTaken(): string[] {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const taken = [...this.taken];
    this.taken.clear();
    return taken;
  }
}
