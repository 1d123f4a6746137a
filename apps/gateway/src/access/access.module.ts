import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import { Authenticate } from './authenticate.js';
import { BearerStrategy } from './bearer.strategy.js';
import { ClientKeysModule } from './client-keys/client-keys.module.js';
import { ClientsModule } from './clients/clients.module.js';
import { LimitsModule } from './limits/limits.module.js';
import { ReadTurns } from './limits/read-turns.js';
import { MerchantScopes } from './merchant-scopes.js';
import { OauthModule } from './oauth/oauth.module.js';
import { PeopleModule } from './people/people.module.js';
import { RequestGate } from './request-gate.js';
import { SigningModule } from './signing/signing.module.js';
import { SuspendedMerchants } from './suspended-merchants.js';

/** Authentication and authorisation: clients, their keys and tokens, allow lists, limits, and the guard of every route. */
@Module({
  imports: [OauthModule, LimitsModule, SigningModule, ClientsModule, ClientKeysModule, PeopleModule],
  providers: [
    BearerStrategy,
    Authenticate,
    RequestGate,
    SuspendedMerchants,
    MerchantScopes,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_INTERCEPTOR, useClass: ReadTurns },
  ],
  exports: [RequestGate],
})
export class AccessModule {}
