import { HttpProblem } from '#http';
import type { Problem, ProblemCode } from '#problems';
import { SIGNATURE_TAG } from './read-signature.js';

/** What a signature must look like, in the words of RFC 9421 §5.1. */
const ACCEPT_SIGNATURE =
  'fgw=("@method" "@authority" "@path" "@query" "content-type" "content-digest" "authorization" "idempotency-key");' +
  `created;expires;keyid;nonce;tag="${SIGNATURE_TAG}"`;

/** 401 with a challenge that names the scheme; the bearer token itself was good. */
export function signatureProblem(code: ProblemCode, detail: string): Problem {
  return new HttpProblem(code, detail, {
    'www-authenticate': `Signature realm="fiscal-gateway", error="${code}"`,
    'accept-signature': ACCEPT_SIGNATURE,
  });
}
