import { createPublicKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import { weaknessOf } from '#secrets';

/** JWS algorithms that a key of a client may have; no symmetric one, and never `none`. */
export const ASSERTION_ALGORITHMS = ['EdDSA', 'Ed25519', 'ES256', 'PS256', 'RS256'] as const;

/** Longer than any clock differs and any request waits, short enough that few `jti` are stored. */
const MAX_LIFETIME_SECONDS = 600;
const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_ASSERTION_LENGTH = 8_192;
const MAX_JTI_LENGTH = 256;

export interface AuthenticationKey {
  id: string;
  /** JWS algorithm that the key was registered for. */
  algorithm: string;
  /** SPKI, PEM. */
  publicKey: string;
}

export interface VerifiedAssertion {
  jti: string;
  /** When it can no longer be used, seconds since 1970: its `exp` and the tolerance. */
  usableUntil: number;
}

export interface AssertionRules {
  clientId: string;
  /** Names of ours; an assertion for another audience, or for others too, is refused: they could use it here. */
  audiences: readonly string[];
  now: Date;
}

/** Whose assertion it claims to be; null: not a JWT. */
export function claimedClient(assertion: string): string | null {
  if (assertion.length > MAX_ASSERTION_LENGTH) return null;
  try {
    // Not validated yet: it can be of any type.
    const sub: unknown = decodeJwt(assertion).sub;
    return typeof sub === 'string' ? sub : null;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/**
 * Checks an assertion of RFC 7523 §3 against the client's keys; null: it proves nothing. Whether its `jti` was used before
 * is not known here. The algorithm is the key's: what the assertion's header says only has to agree.
 */
export async function verifyAssertion(
  assertion: string,
  keys: readonly AuthenticationKey[],
  rules: AssertionRules,
): Promise<VerifiedAssertion | null> {
  const header = readHeader(assertion);
  if (!header) return null;
  const fitting = keys.filter(({ algorithm }) => jwsName(algorithm) === jwsName(header.alg));
  const named = fitting.filter(({ id }) => id === header.kid);
  for (const key of named.length > 0 ? named : fitting) {
    const verified = await verifyWith(assertion, { ...key, algorithm: header.alg }, rules);
    if (verified) return verified;
  }
  return null;
}

async function verifyWith(
  assertion: string,
  { algorithm, publicKey }: AuthenticationKey,
  { clientId, audiences, now }: AssertionRules,
): Promise<VerifiedAssertion | null> {
  const key = createPublicKey(publicKey);
  // Registered before weak keys were refused.
  if (weaknessOf(key) !== null) return null;
  try {
    const { payload } = await jwtVerify(assertion, key, {
      ...{ algorithms: [algorithm], issuer: clientId, subject: clientId, audience: [...audiences] },
      ...{ requiredClaims: ['exp', 'jti', 'aud'], clockTolerance: CLOCK_TOLERANCE_SECONDS, currentDate: now },
    });
    const { exp, jti, aud } = payload;
    if (typeof exp !== 'number' || exp > now.getTime() / 1_000 + MAX_LIFETIME_SECONDS) return null;
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) return null;
    const named = typeof aud === 'string' ? [aud] : (aud ?? []);
    if (!named.every((audience) => audiences.includes(audience))) return null;
    return { jti, usableUntil: exp + CLOCK_TOLERANCE_SECONDS };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function readHeader(assertion: string): { alg: string; kid: string | undefined } | null {
  try {
    const { alg, kid } = decodeProtectedHeader(assertion);
    const known: readonly string[] = ASSERTION_ALGORITHMS;
    return typeof alg === 'string' && known.includes(alg) ? { alg, kid } : null;
  } catch (error) {
    // jose throws TypeError for what is no JWS at all.
    if (error instanceof TypeError || error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/** RFC 9864 names what RFC 8037 called EdDSA: both mean Ed25519 here. */
function jwsName(algorithm: string): string {
  return algorithm === 'Ed25519' ? 'EdDSA' : algorithm;
}
