import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from '../http/access.guard.js';
import { BearerStrategy } from '../http/bearer.strategy.js';
import { SigningModule } from '../signing/signing.module.js';
import { AccessTokens } from './access-tokens.js';
import { ExpiredTokens } from './expired-tokens.js';
import { IssueToken } from './issue-token.js';
import { OauthRepository } from './oauth.repository.js';
import { TokenController } from './token.controller.js';

/** Issues tokens and guards every route with them. */
@Module({
  imports: [SigningModule],
  controllers: [TokenController],
  providers: [
    OauthRepository,
    AccessTokens,
    IssueToken,
    ExpiredTokens,
    BearerStrategy,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [AccessTokens],
})
export class OauthModule {}
