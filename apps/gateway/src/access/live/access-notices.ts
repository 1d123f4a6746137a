import { Inject, Injectable } from '@nestjs/common';
import { ACCESS_CHANGED_CHANNEL, type DatabaseAddresses } from '#database';
import type { Logger } from '#runtime';
import { NoticeReceiver } from '../../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';

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
@Injectable()
export class AccessNotices extends NoticeReceiver {
  private readonly readers: NoticeReader[] = [];

  constructor(@Inject(SETTINGS_TOKEN) settings: DatabaseAddresses, @Inject(LOGGER) logger: Logger) {
    super(
      settings,
      {
        ...{ channel: ACCESS_CHANGED_CHANNEL, heartbeatMs: HEARTBEAT_MS },
        onNotice: (payload) => this.publish(payload),
        onListening: () => this.readers.forEach((reader) => reader.onListening()),
      },
      logger,
    );
  }

  /** Every notice of what was committed before this moment has been delivered. */
  get deliveredUntilMs(): number {
    return this.channel.deliveredUntilMs;
  }

  subscribe(reader: NoticeReader): void {
    this.readers.push(reader);
  }

  private publish(payload: string): void {
    const [what = '', name = ''] = payload.split(':', 2);
    for (const reader of this.readers) reader.onNotice({ what, name });
  }
}
