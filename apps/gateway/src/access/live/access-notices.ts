import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ACCESS_CHANGED_CHANNEL, ChannelListener } from '#database';
import type { Logger } from '#runtime';

/** How often the connection for notices is asked whether it still speaks. */
const HEARTBEAT_MS = 400;

/** What changed, as the database names it: `client:<id>`, `token:<SHA-256, hex>`, `session:<SHA-256, hex>`, `user:<id>`. */
export interface AccessNotice {
  what: string;
  name: string;
}

export interface NoticeReader {
  onNotice: (notice: AccessNotice) => void;
  /** Listening has begun (again): what was published before is unknown. */
  onListening: () => void;
}

/** The one connection on which a gateway receives that rights were taken away (docs/adr/0019-revocation.md). */
export class AccessNotices implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly readers: NoticeReader[] = [];
  private readonly listener: ChannelListener;

  constructor({ databaseUrl }: { databaseUrl: string }, logger: Logger) {
    const options = {
      ...{ databaseUrl, applicationName: 'gateway-listen', channel: ACCESS_CHANGED_CHANNEL, heartbeatMs: HEARTBEAT_MS },
      onNotice: (payload: string) => this.publish(payload),
      onListening: () => this.readers.forEach((reader) => reader.onListening()),
    };
    this.listener = new ChannelListener(options, logger);
  }

  /** Every notice of what was committed before this moment has been delivered. */
  get deliveredUntilMs(): number {
    return this.listener.deliveredUntilMs;
  }

  onApplicationBootstrap(): void {
    this.listener.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.listener.stop();
  }

  subscribe(reader: NoticeReader): void {
    this.readers.push(reader);
  }

  private publish(payload: string): void {
    const [what = '', name = ''] = payload.split(':', 2);
    for (const reader of this.readers) reader.onNotice({ what, name });
  }
}
