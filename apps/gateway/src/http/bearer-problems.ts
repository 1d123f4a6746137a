import { HttpProblem } from '#http';
import type { Problem } from '#problems';
import type { Scope } from './scopes.js';

/** The answers of RFC 6750 §3, each as a problem document with its challenge. */

const CHALLENGE = 'Bearer realm="fiscal-gateway"';

/** No credentials: the challenge carries no error code. */
export function noCredentials(): Problem {
  return withChallenge('unauthenticated', 'Send an access token in the Authorization header.', '');
}

export function malformedCredentials(reason: string): Problem {
  return withChallenge('invalid_request', reason, `, error="invalid_request", error_description="${reason}"`);
}

/** Unknown, expired, revoked and of a disabled client are answered alike. */
export function invalidToken(): Problem {
  const detail = 'The access token is invalid or expired. Request a new one.';
  return withChallenge('invalid_token', detail, `, error="invalid_token", error_description="${detail}"`);
}

export function insufficientScope(needed: readonly Scope[]): Problem {
  const scope = needed.join(' ');
  const detail = `This call needs the scope ${scope}.`;
  return withChallenge('insufficient_scope', detail, `, error="insufficient_scope", scope="${scope}"`);
}

function withChallenge(code: Problem['code'], detail: string, rest: string): Problem {
  return new HttpProblem(code, detail, { 'www-authenticate': `${CHALLENGE}${rest}` });
}
