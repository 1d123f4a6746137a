import { errors, jwtVerify, type JWTPayload } from 'jose';
import { isObject } from '#fiscal-domain';
import type { ProviderKeys } from './identity-provider.js';
import { isProviderName } from './provider-name.js';

/** What a provider says has ended: a session of a person, or all that the person has begun. */
export interface LogoutToken {
  issuer: string;
  subject: string | null;
  sid: string | null;
  jti: string;
}

/** Of the same strength as what signs ID tokens; a secret that both sides know signs nothing here. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const MAX_AGE_SECONDS = 300;
const CLOCK_SECONDS = 30;
/** As long as one can be valid, it counts once. */
export const LOGOUT_TOKEN_SECONDS = MAX_AGE_SECONDS + 2 * CLOCK_SECONDS;

/** OpenID Connect Back-Channel Logout 1.0 §2.6. Null: it is none, or none that is valid now. */
export async function readLogoutToken(token: string, keys: ProviderKeys): Promise<LogoutToken | null> {
  try {
    const { payload } = await jwtVerify(token, keys.find, {
      ...{ issuer: keys.issuer, audience: keys.clientId, algorithms: ALGORITHMS },
      ...{ requiredClaims: ['iat', 'exp', 'jti'], maxTokenAge: MAX_AGE_SECONDS, clockTolerance: CLOCK_SECONDS },
    });
    return tokenOf(payload);
  } catch (error) {
    // A provider that cannot be reached is no fault of the token.
    if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError)) throw error;
    return null;
  }
}

/** An ID token is no logout token: it has no event, and it may have a nonce. */
function tokenOf({ iss, sub, sid, jti, nonce, events }: JWTPayload): LogoutToken | null {
  const isEvent = isObject(events) && Object.hasOwn(events, EVENT) && isObject(events[EVENT]);
  const names = [sub, sid].filter((name) => name !== undefined);
  const areNames = names.length > 0 && names.every(isProviderName);
  if (!isEvent || !areNames || nonce !== undefined || iss === undefined || !isProviderName(jti)) return null;
  return { issuer: iss, subject: sub ?? null, sid: isProviderName(sid) ? sid : null, jti };
}
