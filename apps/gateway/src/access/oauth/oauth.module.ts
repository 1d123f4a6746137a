import { Module } from '@nestjs/common';
import type { Logger } from '#runtime';
import { AuditModule } from '../../audit/audit.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import type { GatewaySettings } from '../../settings.js';
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

/** Issues, introspects and revokes tokens. */
@Module({
  imports: [AuditModule, LimitsModule],
  controllers: [TokenController, ServerMetadataController],
  providers: [
    OauthRepository,
    {
      provide: AccessTokens,
      inject: [SETTINGS_TOKEN, OauthRepository, LOGGER],
      useFactory: ({ DATABASE_URL }: GatewaySettings, repository: OauthRepository, logger: Logger) =>
        new AccessTokens({ databaseUrl: DATABASE_URL }, repository, logger),
    },
    AuthenticateClient,
    IssueToken,
    RevokeToken,
    IntrospectToken,
    ExpiredTokens,
  ],
  exports: [AccessTokens],
})
export class OauthModule {}
