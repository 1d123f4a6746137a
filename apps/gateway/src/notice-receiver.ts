import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ChannelListener, type ChannelListenerOptions } from '#database';
import type { Logger } from '#runtime';

/** Every gateway process listens by one session of this name. */
export const GATEWAY_SESSIONS = 'gateway-listen';

/** A provider that receives the notices of one channel while the gateway runs. */
export abstract class NoticeReceiver implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly channel: ChannelListener;

  protected constructor(options: Omit<ChannelListenerOptions, 'applicationName'>, logger: Logger) {
    this.channel = new ChannelListener({ ...options, applicationName: GATEWAY_SESSIONS }, logger);
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
