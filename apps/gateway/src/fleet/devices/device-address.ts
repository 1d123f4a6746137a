import { Inject, Injectable } from '@nestjs/common';
import { Problem, type ProblemCode } from '#problems';
import { OutgoingGuard } from '#outgoing';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

/**
 * Whether a register may be called at an address: it must lie inside DEVICE_ALLOWED_CIDRS. The relay asks the same at every
 * connection, because names move; asked here so that a mistake is reported at once.
 */
@Injectable()
export class DeviceAddress {
  private readonly guard: OutgoingGuard;

  constructor(@Inject(SETTINGS_TOKEN) { DEVICE_ALLOWED_CIDRS }: Pick<GatewaySettings, 'DEVICE_ALLOWED_CIDRS'>) {
    this.guard = OutgoingGuard.forDevices(DEVICE_ALLOWED_CIDRS);
  }

  /**
   * @returns the address in the form in which it is kept: scheme, host, port and path, without a slash at its end
   * @throws Problem 422 invalid_format, address_not_allowed
   */
  async check(text: string): Promise<string> {
    // Also an empty query: `?` alone leaves the search empty.
    if (text.includes('?')) throw fault('invalid_format', 'base_url must not have a query');
    const verdict = await this.guard.check(text);
    switch (verdict.kind) {
      case 'malformed':
        throw fault('invalid_format', `base_url ${verdict.reason}, e.g. http://192.168.1.20:8765`);
      case 'unresolved':
        throw fault('address_not_allowed', `base_url cannot be used: ${verdict.reason}`);
      case 'refused':
        throw fault(
          'address_not_allowed',
          'base_url leads outside the networks that the operator allows for registers',
        );
      case 'allowed':
        return `${verdict.url.origin}${verdict.url.pathname.replace(/(?<!\/)\/+$/, '')}`;
    }
  }
}

function fault(code: ProblemCode, detail: string): Problem {
  return Problem.at('/base_url', code, detail);
}
