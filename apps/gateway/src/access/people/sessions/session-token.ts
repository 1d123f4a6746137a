import { sha256 } from '#runtime';
import { isOpaqueSecret, newOpaqueSecret } from '../../oauth/base62.js';

const PREFIX = 'fgw_us_';

/** The value of a session's cookie. Only its hash is ever stored. */
export function newSessionToken(): string {
  return newOpaqueSecret(PREFIX);
}

export function looksLikeSessionToken(text: string): boolean {
  return isOpaqueSecret(PREFIX, text);
}

/** What the database holds. A plain hash is enough for 256 random bits. */
export function hashSessionToken(token: string): Buffer {
  return sha256(token);
}
