import { constants, createHmac, timingSafeEqual, verify, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

/** Names of the HTTP signature algorithms registry (RFC 9421 §6.2). */
export const SIGNATURE_ALGORITHMS = ['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha512', 'hmac-sha256'] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** A client's key as it is stored: the algorithm comes from here, never from the request. */
export interface VerifyingKey {
  algorithm: SignatureAlgorithm;
  /** Public, or secret for HMAC. */
  key: KeyObject;
}

/** On the thread pool: what a curve costs is half of all that a signed request does (docs/adr/0034-cost-of-locks.md). */
const verifyAside = promisify(verify);

/** RFC 9421 §3.3. A check that throws has not passed. */
export async function isSignatureOf(
  { algorithm, key }: VerifyingKey,
  base: Buffer,
  signature: Buffer,
): Promise<boolean> {
  try {
    return await verifyWith(algorithm, { key, base, signature });
  } catch {
    return false; // OpenSSL refuses some malformed signatures by an error instead of an answer
  }
}

function verifyWith(
  algorithm: SignatureAlgorithm,
  { key, base, signature }: { key: KeyObject; base: Buffer; signature: Buffer },
): boolean | Promise<boolean> {
  switch (algorithm) {
    case 'ed25519':
      return verifyAside(null, base, key, signature);
    case 'ecdsa-p256-sha256':
      return verifyAside('sha256', base, { key, dsaEncoding: 'ieee-p1363' }, signature);
    case 'rsa-pss-sha512': {
      // RFC 9421 says 64 bytes of salt; signers in the field also use the longest that fits. Its length proves nothing.
      const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_AUTO: saltLength } = constants;
      return verifyAside('sha512', base, { key, padding, saltLength }, signature);
    }
    case 'hmac-sha256': {
      const expected = createHmac('sha256', key).update(base).digest();
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    }
  }
}

export function isSignatureAlgorithm(name: string): name is SignatureAlgorithm {
  return (SIGNATURE_ALGORITHMS as readonly string[]).includes(name);
}
