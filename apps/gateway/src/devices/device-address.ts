import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { CidrSet, Problem, type ProblemCode } from '#runtime';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';

/** A slow name server must not hold a request for long. */
const LOOKUP_TIMEOUT_MS = 3_000;

/**
 * Whether a register may be called at an address: it must lie inside DEVICE_ALLOWED_CIDRS. The relay asks the same at every
 * call, because names move; asked here so that a mistake is told at once.
 */
@Injectable()
export class DeviceAddress {
  private readonly allowed: CidrSet;

  constructor(@Inject(SETTINGS_TOKEN) { DEVICE_ALLOWED_CIDRS }: Pick<GatewaySettings, 'DEVICE_ALLOWED_CIDRS'>) {
    this.allowed = new CidrSet(DEVICE_ALLOWED_CIDRS);
  }

  /**
   * @returns the address in the form in which it is kept: scheme, host, port and path, without a slash at its end
   * @throws Problem 422 invalid_format, address_not_allowed
   */
  async check(text: string): Promise<string> {
    const url = readBaseUrl(text);
    // URL has brought every form of an IP literal (octal, hex, one number) to the usual one.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(host) ? [host] : await resolve(host);
    if (!addresses.every((address) => this.allowed.contains(address))) {
      throw fault('address_not_allowed', 'base_url leads outside the networks that the operator allows for registers');
    }
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  }
}

function readBaseUrl(text: string): URL {
  if (!URL.canParse(text))
    throw fault('invalid_format', 'base_url must be an absolute URL, e.g. http://192.168.1.20:8765');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw fault('invalid_format', 'base_url must begin with http:// or https://');
  if (url.username !== '' || url.password !== '') throw fault('invalid_format', 'base_url must not hold credentials');
  // Also an empty one: `?` and `#` alone leave search and hash empty.
  if (/[?#]/.test(text)) throw fault('invalid_format', 'base_url must not have a query or a fragment');
  return url;
}

async function resolve(host: string): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the name server did not answer in time')), LOOKUP_TIMEOUT_MS);
  });
  try {
    const found = await Promise.race([lookup(host, { all: true }), late]);
    return found.map(({ address }) => address);
  } catch (error) {
    throw new Problem('address_not_allowed', 'The name in base_url does not resolve.', {
      errors: [{ pointer: '/base_url', code: 'address_not_allowed', detail: 'the name does not resolve' }],
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

function fault(code: ProblemCode, detail: string): Problem {
  return Problem.fromErrors([{ pointer: '/base_url', code, detail }]);
}
