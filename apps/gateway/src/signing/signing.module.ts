import { Module } from '@nestjs/common';
import { SalesDatabase } from '#database';
import { systemClock, type Logger } from '#runtime';
import { AuditModule } from '../audit/audit.module.js';
import { Refusals } from '../audit/refusals.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { SignatureGate } from './signature-gate.js';
import { SigningKeys } from './signing-keys.js';
import { UsedNonces } from './used-nonces.js';

/** Checks the signatures of requests, for the access guard. */
@Module({
  imports: [AuditModule],
  providers: [
    UsedNonces,
    {
      provide: SigningKeys,
      inject: [SalesDatabase, SETTINGS_TOKEN, LOGGER],
      useFactory: (prisma: SalesDatabase, { DATABASE_URL, SECRETS_KEY }: GatewaySettings, logger: Logger) =>
        new SigningKeys(prisma, { databaseUrl: DATABASE_URL, keyring: SECRETS_KEY }, logger),
    },
    {
      provide: SignatureGate,
      inject: [SigningKeys, UsedNonces, Refusals, SETTINGS_TOKEN],
      useFactory: (signingKeys: SigningKeys, nonces: UsedNonces, refusals: Refusals, settings: GatewaySettings) =>
        new SignatureGate({ signingKeys, nonces, refusals, clock: systemClock }, publicHostsOf(settings)),
    },
  ],
  exports: [SignatureGate],
})
export class SigningModule {}

function publicHostsOf({ PUBLIC_HOSTS, PUBLIC_URL }: GatewaySettings): readonly string[] {
  return PUBLIC_HOSTS.length > 0 ? PUBLIC_HOSTS : [new URL(PUBLIC_URL).host];
}
