import { Controller, Get } from '@nestjs/common';
import { OverMerchants, OwnTurn, Scopes } from '../../http/scopes.js';
import type { PlatformHealth } from './platform-health-view.js';
import { ReadPlatformHealth } from './read-platform-health.js';

@Controller('v1/platform/health')
@Scopes('platform:read')
@OverMerchants()
@OwnTurn()
export class PlatformHealthController {
  constructor(private readonly health: ReadPlatformHealth) {}

  /** Gateways and relays that are connected, what waits, the database and its largest tables. */
  @Get()
  read(): Promise<PlatformHealth> {
    return this.health.execute();
  }
}
