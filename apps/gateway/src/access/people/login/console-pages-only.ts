import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { consoleAddress, refuseForeignPages, type ConsoleAddress } from '../console-address.js';

/** Before a login there is no session to protect, but one could be begun in a stranger's browser. */
@Injectable()
export class ConsolePagesOnly implements CanActivate {
  private readonly address: ConsoleAddress;

  constructor(@Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>) {
    this.address = consoleAddress(settings);
  }

  /** @throws Problem 403 */
  canActivate(context: ExecutionContext): boolean {
    refuseForeignPages(context.switchToHttp().getRequest<FastifyRequest>(), this.address);
    return true;
  }
}
