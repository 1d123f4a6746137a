import { sha256 } from '#runtime';
import { isOpaqueSecret, newOpaqueSecret } from '../../oauth/base62.js';

const PREFIX = 'fgw_us_';
/** Of a terminal's: a cookie of this value is none, and the value of a cookie opens nothing as a token. */
const TERMINAL_PREFIX = 'fgw_ut_';

/** The value of a session's cookie. Only its hash is ever stored. */
export function newSessionToken(): string {
  return newOpaqueSecret(PREFIX);
}

/** What the command line of a person holds (docs/cli.md). Only its hash is ever stored. */
export function newTerminalToken(): string {
  return newOpaqueSecret(TERMINAL_PREFIX);
}

/** Whether it may stand in a cookie. */
export function isCookieToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Whether it may stand in an Authorization header. */
export function isTerminalToken(text: string): boolean {
  return text.startsWith(TERMINAL_PREFIX);
}

export function looksLikeSessionToken(text: string): boolean {
  return isOpaqueSecret(PREFIX, text) || isOpaqueSecret(TERMINAL_PREFIX, text);
}

/** What the database holds. A plain hash is enough for 256 random bits. */
export function hashSessionToken(token: string): Buffer {
  return sha256(token);
}
