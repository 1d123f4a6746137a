import { sha256 } from '#runtime';
import { isOpaqueSecret, newOpaqueSecret } from './base62.js';

const PREFIX = 'fgw_at_';

export const ACCESS_TOKEN_SECONDS = 900;

/** A new token. Only its hash is ever stored. */
export function newAccessToken(): string {
  return newOpaqueSecret(PREFIX);
}

/** Whether the text can be one of our tokens at all. */
export function looksLikeAccessToken(text: string): boolean {
  return isOpaqueSecret(PREFIX, text);
}

/** What the database holds. A plain hash is enough for 256 random bits. */
export function hashAccessToken(token: string): Buffer {
  return sha256(token);
}
