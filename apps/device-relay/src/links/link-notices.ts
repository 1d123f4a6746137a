import { setTimeout as delay } from 'node:timers/promises';
import { ChannelListener, LINK_CHANGED_CHANNEL } from '#database';
import type { Logger } from '#runtime';

const AGAIN_MS = 1_000;

export interface LinkNoticeListener {
  /** No ids: notices may have been missed, all links are to be verified. */
  verify(deviceIds?: readonly string[]): Promise<void>;
}

/**
 * Receives that a right to a link was taken away or that another relay holds it now. What was missed without a listener, or
 * could not be read at its notice, is healed by verifying every link held here.
 */
export class LinkNotices {
  private readonly listener: ChannelListener;
  private readonly stopping = new AbortController();
  private isHealing = false;
  private listening = false;

  constructor(
    { databaseUrl }: { databaseUrl: string },
    private readonly links: LinkNoticeListener,
    private readonly logger: Logger,
  ) {
    const onNotice = (deviceId: string): void => void this.verify([deviceId]);
    const onListening = async (): Promise<void> => {
      this.listening = true;
      await this.verify();
    };
    this.listener = new ChannelListener(
      {
        ...{ databaseUrl, applicationName: 'device-relay-listen', channel: LINK_CHANGED_CHANNEL },
        ...{ onNotice, onListening },
      },
      logger,
    );
  }

  /** Whether it has begun to listen. */
  get hasListened(): boolean {
    return this.listening;
  }

  start(): void {
    this.listener.start();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.listener.stop();
  }

  private async verify(deviceIds?: readonly string[]): Promise<void> {
    try {
      await this.links.verify(deviceIds);
    } catch (error) {
      this.logger.error({ err: error }, 'links could not be verified; all are verified as soon as it is possible');
      await this.heal();
    }
  }

  private async heal(): Promise<void> {
    if (this.isHealing) return;
    this.isHealing = true;
    const { signal } = this.stopping;
    while (this.isHealing && !signal.aborted) {
      await delay(AGAIN_MS, undefined, { signal, ref: false }).catch(() => 'stopped');
      try {
        await this.links.verify();
        this.isHealing = false;
      } catch (error) {
        this.logger.debug({ err: error }, 'links could still not be verified');
      }
    }
  }
}
