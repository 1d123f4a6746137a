import { Module } from '@nestjs/common';
import { ClientsModule } from '../../access/clients/clients.module.js';
import { InvitationsModule } from '../../access/people/invitations/invitations.module.js';
import { AuditModule } from '../../audit/audit.module.js';
import { Onboarding } from '../onboarding/onboarding.js';
import { OnboardingController } from '../onboarding/onboarding.controller.js';
import { PlatformInvitationsController } from './platform-invitations.controller.js';
import { PlatformMerchantsController } from './platform-merchants.controller.js';
import { PlatformMerchants } from './platform-merchants.js';

/** The merchants of the installation, and a merchant's way to its first receipt. */
@Module({
  imports: [AuditModule, ClientsModule, InvitationsModule],
  controllers: [PlatformMerchantsController, PlatformInvitationsController, OnboardingController],
  providers: [PlatformMerchants, Onboarding],
})
export class PlatformModule {}
