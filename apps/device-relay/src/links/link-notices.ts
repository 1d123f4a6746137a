import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { LINK_CHANGED_CHANNEL } from '#database';
import type { Logger } from '#runtime';

const RECONNECT_PAUSES_MS = [100, 250, 500, 1_000, 2_000];

export interface LinkNoticeListener {
  /** No ids: notices may have been missed, all links are to be looked at. */
  verify(deviceIds?: readonly string[]): Promise<void>;
}

/**
 * Hears on one connection of this process that a right to a link was taken away or that another relay holds it now. What
 * was missed while the connection was away is healed when it is back: every link held here is looked at.
 */
export class LinkNotices {
  private client: pg.Client | null = null;
  private failures = 0;
  private stopped = false;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: { databaseUrl: string },
    private readonly links: LinkNoticeListener,
    private readonly logger: Logger,
  ) {}

  get isListening(): boolean {
    return this.client !== null;
  }

  start(): void {
    this.running = this.keepListening();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.client?.end().catch((error: unknown) => this.logger.debug({ err: error }, 'closing LISTEN failed'));
    await this.running;
  }

  private async keepListening(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.listenUntilLost();
      } catch (error) {
        this.failures += 1;
        this.logger.warn({ err: error }, 'LISTEN for links failed; revocations wait until it is back');
      }
      if (!this.stopped) await delay(RECONNECT_PAUSES_MS[Math.min(this.failures, RECONNECT_PAUSES_MS.length - 1)]);
    }
  }

  private async listenUntilLost(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.settings.databaseUrl,
      application_name: 'device-relay-link-notices',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    });
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      // Always, not once: a dying session may say so twice, and an 'error' nobody listens for ends the process.
      client.on('error', (error) => {
        this.logger.warn({ err: error }, 'LISTEN connection for links lost');
        resolve();
      });
    });
    client.on('notification', ({ payload }) => {
      if (payload) void this.verify([payload]);
    });
    await client.connect();
    await client.query(`LISTEN ${LINK_CHANGED_CHANNEL}`);
    this.client = client;
    this.failures = 0;
    await this.verify();
    if (!this.stopped) await lost;
    this.client = null;
    await client
      .end()
      .catch((error: unknown) => this.logger.debug({ err: error }, 'the lost session was gone already'));
  }

  private async verify(deviceIds?: readonly string[]): Promise<void> {
    try {
      await this.links.verify(deviceIds);
    } catch (error) {
      this.logger.error({ err: error }, 'links could not be looked at: all are looked at anew');
      // A database that does not answer: the next connection begins with a look at all.
      await this.client
        ?.end()
        .catch((failure: unknown) => this.logger.debug({ err: failure }, 'closing LISTEN failed'));
    }
  }
}
