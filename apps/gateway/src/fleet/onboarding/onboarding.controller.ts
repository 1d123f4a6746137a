import { Controller, Get } from '@nestjs/common';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { Scopes } from '../../http/scopes.js';
import { Onboarding, type OnboardingView } from './onboarding.js';

/** From a merchant without anything to its first receipt, step by step. */
@Controller('v1/onboarding')
@Scopes('devices:read')
export class OnboardingController {
  constructor(private readonly onboarding: Onboarding) {}

  @Get()
  read(@CurrentClient() { merchantId }: AuthenticatedClient): Promise<OnboardingView> {
    return this.onboarding.read(merchantId);
  }
}
