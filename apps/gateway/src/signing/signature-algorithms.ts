import { constants, createHmac, timingSafeEqual, verify, type KeyObject } from 'node:crypto';

/** Names of the HTTP signature algorithms registry (RFC 9421 §6.2). */
export const SIGNATURE_ALGORITHMS = ['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha512', 'hmac-sha256'] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** A client's key as it is stored: the algorithm comes from here, never from the request. */
export interface VerifyingKey {
  algorithm: SignatureAlgorithm;
  /** Public, or secret for HMAC. */
  key: KeyObject;
}

/** RFC 9421 §3.3. A check that throws has not passed. */
export function isSignatureOf({ algorithm, key }: VerifyingKey, base: Buffer, signature: Buffer): boolean {
  try {
    return verifyWith(algorithm, { key, base, signature });
  } catch {
    return false; // OpenSSL refuses some malformed signatures by an error instead of an answer
  }
}

function verifyWith(
  algorithm: SignatureAlgorithm,
  { key, base, signature }: { key: KeyObject; base: Buffer; signature: Buffer },
): boolean {
  switch (algorithm) {
    case 'ed25519':
      return verify(null, base, key, signature);
    case 'ecdsa-p256-sha256':
      return verify('sha256', base, { key, dsaEncoding: 'ieee-p1363' }, signature);
    case 'rsa-pss-sha512': {
      // RFC 9421 says 64 bytes of salt; signers in the field also use the longest that fits. Its length proves nothing.
      const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_AUTO: saltLength } = constants;
      return verify('sha512', base, { key, padding, saltLength }, signature);
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
