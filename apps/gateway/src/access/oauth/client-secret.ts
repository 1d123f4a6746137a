import { createHmac, timingSafeEqual } from 'node:crypto';
import { isTestId } from '#fiscal-domain';
import { deriveKey, type Keyring } from '#secrets';
import { newOpaqueSecret } from './base62.js';

/** Stands in for the hash of a client that does not exist, so that its refusal costs the same. */
export const NO_SECRET_HASH: Uint8Array = new Uint8Array(32);

/** A new secret of 256 random bits, shown once to its owner. @param ownerId client or merchant; one of a sandbox shows in the secret */
export function newClientSecret(ownerId = ''): string {
  return newOpaqueSecret(isTestId(ownerId) ? 'fgw_test_cs_' : 'fgw_cs_');
}

/**
 * What the database holds: HMAC-SHA-256 under a pepper derived from the ring's active key. A slow hash would add
 * nothing for 256 random bits and make the token endpoint easy to overload.
 */
export function hashClientSecret(secret: string, keyring: Keyring): Buffer {
  return hashWith(secret, keyring, keyring.active);
}

/** Also under the ring's older keys: rotating SECRETS_KEY locks no client out. */
export function isClientSecret(secret: string, hash: Uint8Array, keyring: Keyring): boolean {
  let matches = false;
  for (const keyId of keyring.keys.keys()) {
    const candidate = hashWith(secret, keyring, keyId);
    if (candidate.length === hash.length && timingSafeEqual(candidate, hash)) matches = true;
  }
  return matches;
}

function hashWith(secret: string, keyring: Keyring, keyId: string): Buffer {
  return createHmac('sha256', deriveKey(keyring, 'client-secret', keyId))
    .update(secret)
    .digest();
}
