import type { KeyObject } from 'node:crypto';
import { SIGNATURE_ALGORITHMS } from '../signing/signature-algorithms.js';

export type KeyUse = 'signing' | 'authentication';

/** Algorithms of RFC 7518 and RFC 8037 for private_key_jwt. */
const AUTHENTICATION_ALGORITHMS = ['EdDSA', 'ES256', 'PS256', 'RS256'] as const;
export const KEY_ALGORITHMS = [...SIGNATURE_ALGORITHMS, ...AUTHENTICATION_ALGORITHMS] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/** The secret is ours to draw: there is no key to register. */
export const HMAC_ALGORITHM = 'hmac-sha256' satisfies KeyAlgorithm;

const MIN_RSA_BITS = 2_048;
const MAX_RSA_BITS = 4_096;

/** What a public key may be used with, the usual one first; empty when this gateway takes no such key for this use. */
export function algorithmsOf(key: KeyObject, use: KeyUse): readonly KeyAlgorithm[] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  const isSigning = use === 'signing';
  if (type === 'ed25519') return isSigning ? ['ed25519'] : ['EdDSA'];
  if (type === 'ec' && details.namedCurve === 'prime256v1') return isSigning ? ['ecdsa-p256-sha256'] : ['ES256'];
  if (type !== 'rsa' || !fits(details.modulusLength ?? 0)) return [];
  return isSigning ? ['rsa-pss-sha512'] : ['PS256', 'RS256'];
}

function fits(bits: number): boolean {
  return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS;
}
