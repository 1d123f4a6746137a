import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { AccessNoticesModule } from '../live/access-notices.module.js';
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
  imports: [AuditModule, LimitsModule, AccessNoticesModule],
  controllers: [TokenController, ServerMetadataController],
  providers: [
    OauthRepository,
    AccessTokens,
    AuthenticateClient,
    IssueToken,
    RevokeToken,
    IntrospectToken,
    ExpiredTokens,
  ],
  exports: [AccessTokens],
})
export class OauthModule {}
