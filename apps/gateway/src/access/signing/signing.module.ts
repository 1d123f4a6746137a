import { Module } from '@nestjs/common';
import { SalesDatabase, sessionsAt } from '#database';
import type { Logger } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { ClockDrift } from './clock-drift-metric.js';
import { SignatureGate } from './signature-gate.js';
import { SigningKeys } from './signing-keys.js';
import { UsedNonces } from './used-nonces.js';

/** Checks the signatures of requests, for the access guard. */
@Module({
  imports: [AuditModule],
  providers: [
    UsedNonces,
    ClockDrift,
    {
      provide: SigningKeys,
      inject: [SalesDatabase, SETTINGS_TOKEN, LOGGER],
      useFactory: (prisma: SalesDatabase, settings: GatewaySettings, logger: Logger) =>
        new SigningKeys(prisma, { databaseUrl: sessionsAt(settings), keyring: settings.SECRETS_KEY }, logger),
    },
    SignatureGate,
  ],
  exports: [SignatureGate],
})
export class SigningModule {}
