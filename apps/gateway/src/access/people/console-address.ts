import type { FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import type { GatewaySettings } from '../../settings.js';

/** Where people reach the console: the one origin from which their sessions may be used. */
export interface ConsoleAddress {
  /** Without a slash at its end. */
  url: string;
  origin: string;
  /** The relying party of passkeys. */
  host: string;
  /** Cookies are sent over https alone. */
  isSecure: boolean;
  /** Over http a password could be read on its way; only the own machine is no way. */
  mayLogIn: boolean;
}

/** Where the gateway itself serves the console. */
const CONSOLE_PATH = '/console';
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Browsers let no address be the relying party of a passkey: the own machine is called by its name. */
export function consoleAddress({
  CONSOLE_URL,
  PUBLIC_URL,
}: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>): ConsoleAddress {
  const url = new URL(CONSOLE_URL ?? `${PUBLIC_URL.replace(/(?<!\/)\/+$/, '')}${CONSOLE_PATH}`);
  if (CONSOLE_URL === undefined && url.hostname === '127.0.0.1') url.hostname = 'localhost';
  const isSecure = url.protocol === 'https:';
  return {
    url: `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, ''),
    origin: url.origin,
    host: url.hostname,
    isSecure,
    mayLogIn: isSecure || LOOPBACK_HOSTS.has(url.hostname),
  };
}

const CONSOLE_HEADER = 'fgw-console';

/**
 * A request that comes with a cookie must come from a page of the console. `SameSite` alone leaves sibling hosts; the header alone
 * leaves a proxy that adds CORS headers one day.
 * @throws Problem 403 origin_refused, csrf_header_missing, login_needs_https
 */
export function refuseForeignPages(request: FastifyRequest, address: ConsoleAddress): void {
  if (!address.mayLogIn) throw new Problem('login_needs_https', 'CONSOLE_URL must be https, or name this machine.');
  const { origin, 'sec-fetch-site': site } = request.headers;
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  const isForeignSite = site !== undefined && site !== 'same-origin' && !(isReading && site === 'none');
  const isForeignOrigin = origin === undefined ? !isReading : origin !== address.origin;
  if (isForeignSite || isForeignOrigin) {
    throw new Problem('origin_refused', 'A session is used from pages of the console alone.');
  }
  if (!isReading && request.headers[CONSOLE_HEADER] !== '1') {
    throw new Problem('csrf_header_missing', 'Send the header Fgw-Console: 1.');
  }
}
