import { authorizationValues } from './authorization-header.js';

export type BearerCredentials =
  | { kind: 'token'; token: string }
  /** No bearer credentials at all: another scheme counts as none. */
  | { kind: 'none' }
  | { kind: 'malformed'; reason: string };

/** RFC 6750 §2.1 b64token; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

export const TOKEN_ELSEWHERE = 'Send the token only in the Authorization header.';

/**
 * Takes the token from exactly one Authorization header and from nowhere else (RFC 9700 §4.3.2): a token in a query
 * string ends in logs and histories.
 * @param rawHeaders names and values in turn, as received
 */
export function readBearerCredentials(rawHeaders: readonly string[], query: unknown): BearerCredentials {
  if (hasAccessToken(query)) return { kind: 'malformed', reason: TOKEN_ELSEWHERE };
  const [value, ...more] = authorizationValues(rawHeaders);
  if (value === undefined) return { kind: 'none' };
  if (more.length > 0) return { kind: 'malformed', reason: 'Send one Authorization header.' };
  const token = BEARER.exec(value)?.[1];
  if (token !== undefined) return { kind: 'token', token };
  if (/^Bearer(\s|$)/i.test(value)) return { kind: 'malformed', reason: 'The bearer token is malformed.' };
  return { kind: 'none' };
}

/** Whether a query or a body names a token. */
export function hasAccessToken(values: unknown): boolean {
  return typeof values === 'object' && values !== null && 'access_token' in values;
}
