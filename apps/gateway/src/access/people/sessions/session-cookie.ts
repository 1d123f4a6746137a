import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { consoleAddress, type ConsoleAddress } from '../console-address.js';
import { setCookie } from '../cookies.js';

/** What the browser holds of a session. */
@Injectable()
export class SessionCookie {
  private readonly address: ConsoleAddress;

  constructor(@Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>) {
    this.address = consoleAddress(settings);
  }

  set(reply: FastifyReply, token: string, maxAgeSeconds: number): void {
    setCookie(reply, this.address, { name: 'fgw_session', value: token, sameSite: 'Strict', maxAgeSeconds });
  }

  clear(reply: FastifyReply): void {
    this.set(reply, '', 0);
  }
}
