import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

export type PublicKeyReading = { kind: 'key'; key: KeyObject } | { kind: 'unusable'; detail: string };

/** Parts that only the owner of a JWK may have (RFC 7518 §6). */
const SECRET_PARTS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * Reads a public key, SPKI as PEM or a JWK. A private key is refused by name instead of being quietly halved: its
 * owner has to know that it has been disclosed.
 */
export function readPublicKey(text: string | Record<string, unknown>): PublicKeyReading {
  const isPem = typeof text === 'string';
  if (isPem ? /PRIVATE KEY/.test(text) : SECRET_PARTS.some((part) => part in text)) {
    return unusable('public_key holds a private key. It counts as known to others now: make a new pair.');
  }
  if (isPem && !/^\s*-----BEGIN PUBLIC KEY-----/.test(text)) {
    return unusable('public_key must begin with -----BEGIN PUBLIC KEY-----, or be a JWK object');
  }
  try {
    // What the shape of a JWK leaves open, the parser refuses.
    const key = isPem ? createPublicKey(text) : createPublicKey({ key: text as JsonWebKey, format: 'jwk' });
    return { kind: 'key', key };
  } catch {
    return unusable('public_key cannot be read as a public key');
  }
}

function unusable(detail: string): PublicKeyReading {
  return { kind: 'unusable', detail };
}
