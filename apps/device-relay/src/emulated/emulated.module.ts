import { Module } from '@nestjs/common';
import { PrismaService, transactionsAt } from '#database';
import type { Logger } from '#runtime';
import type { RelaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { EmulatedRegisters } from './emulated-register.js';
import { EmulatedStore } from './emulated-store.js';

/** Connections of the sandboxes: however busy they are, those of live merchants are others. */
class EmulatedDatabase extends PrismaService {}

/** The registers of all sandboxes (docs/sandbox.md). */
@Module({
  providers: [
    {
      provide: EmulatedDatabase,
      inject: [SETTINGS_TOKEN],
      useFactory: (settings: RelaySettings) =>
        new EmulatedDatabase({
          ...transactionsAt(settings),
          poolSize: settings.SANDBOX_POOL_SIZE,
          applicationName: 'device-relay-sandbox',
          lockTimeoutMs: 5_000,
        }),
    },
    {
      provide: EmulatedRegisters,
      inject: [EmulatedDatabase, LOGGER],
      useFactory: (database: EmulatedDatabase, logger: Logger) =>
        new EmulatedRegisters(new EmulatedStore(database), logger),
    },
  ],
  exports: [EmulatedRegisters],
})
export class EmulatedModule {}
