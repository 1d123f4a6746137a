import { Module } from '@nestjs/common';
import { sessionsAt } from '#database';
import type { Logger } from '#runtime';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { AccessNotices } from './access-notices.js';

/** Notices of rights that were taken away, for tokens and for sessions. */
@Module({
  providers: [
    {
      provide: AccessNotices,
      inject: [SETTINGS_TOKEN, LOGGER],
      useFactory: (settings: GatewaySettings, logger: Logger) =>
        new AccessNotices({ databaseUrl: sessionsAt(settings) }, logger),
    },
  ],
  exports: [AccessNotices],
})
export class AccessNoticesModule {}
