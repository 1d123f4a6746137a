import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ChannelListener, sessionsAt, type ChannelListenerOptions, type DatabaseAddresses } from '#database';
import type { Logger } from '#runtime';

/** Every gateway process listens by one session of this name. */
export const GATEWAY_SESSIONS = 'gateway-listen';

/** A provider that receives the notices of one channel while the gateway runs. */
export abstract class NoticeReceiver implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly channel: ChannelListener;

  protected constructor(
    settings: DatabaseAddresses,
    options: Omit<ChannelListenerOptions, 'applicationName' | 'databaseUrl'>,
    logger: Logger,
  ) {
    const session = { databaseUrl: sessionsAt(settings), applicationName: GATEWAY_SESSIONS };
    this.channel = new ChannelListener({ ...options, ...session }, logger);
  }

  /** Whether notices arrive at this moment. */
  get isListening(): boolean {
    return this.channel.isListening;
  }

  onApplicationBootstrap(): void {
    this.channel.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.channel.stop();
  }
}
