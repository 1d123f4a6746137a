import { isTestId } from '#fiscal-domain';
import { sha256 } from '#runtime';
import { isOpaqueSecret, newOpaqueSecret } from './base62.js';

const PREFIX = 'fgw_at_';
/** Of a sandbox's client. */
const TEST_PREFIX = 'fgw_test_at_';

export const ACCESS_TOKEN_SECONDS = 900;

/** A new token. Only its hash is ever stored. @param clientId one of a sandbox shows in the token */
export function newAccessToken(clientId = ''): string {
  return newOpaqueSecret(isTestId(clientId) ? TEST_PREFIX : PREFIX);
}

/** Whether the text can be one of our tokens at all. */
export function looksLikeAccessToken(text: string): boolean {
  return isOpaqueSecret(PREFIX, text) || isOpaqueSecret(TEST_PREFIX, text);
}

/** What the database holds. A plain hash is enough for 256 random bits. */
export function hashAccessToken(token: string): Buffer {
  return sha256(token);
}
