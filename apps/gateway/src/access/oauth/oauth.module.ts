import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Logger } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import { AccessGuard } from '../access.guard.js';
import { AddressGate } from '../address-gate.js';
import { Authenticate } from '../authenticate.js';
import { BearerStrategy } from '../bearer.strategy.js';
import { RequestGate } from '../request-gate.js';
import { LimitsModule } from '../limits/limits.module.js';
import type { GatewaySettings } from '../../settings.js';
import { SigningModule } from '../signing/signing.module.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';
import { AccessTokens } from './access-tokens.js';
import { AuthenticateClient } from './authenticate-client.js';
import { ExpiredTokens } from './expired-tokens.js';
import { IntrospectToken } from './introspect-token.js';
import { IssueToken } from './issue-token.js';
import { OauthRepository } from './oauth.repository.js';
import { RevokeToken } from './revoke-token.js';
import { ServerMetadataController } from './server-metadata.controller.js';
import { TokenController } from './token.controller.js';

/** Issues tokens and guards every route with them. */
@Module({
  imports: [AuditModule, LimitsModule, SigningModule],
  controllers: [TokenController, ServerMetadataController],
  providers: [
    OauthRepository,
    {
      provide: AccessTokens,
      inject: [SETTINGS_TOKEN, OauthRepository, LOGGER],
      useFactory: ({ DATABASE_URL }: GatewaySettings, repository: OauthRepository, logger: Logger) =>
        new AccessTokens({ databaseUrl: DATABASE_URL }, repository, logger),
    },
    AddressGate,
    AuthenticateClient,
    IssueToken,
    RevokeToken,
    IntrospectToken,
    ExpiredTokens,
    BearerStrategy,
    Authenticate,
    RequestGate,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [AccessTokens],
})
export class OauthModule {}
