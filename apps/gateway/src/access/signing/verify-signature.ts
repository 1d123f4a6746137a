import { checkContentDigest, readContentDigest, type DigestVerdict } from './content-digest.js';
import { readSignature, type PresentedSignature } from './read-signature.js';
import { isSignatureOf, type VerifyingKey } from './signature-algorithms.js';
import { componentValue, signatureBase, type SignedRequest } from './signed-request.js';

/** How far a signer's clock may be ahead of ours, and how old a signature may be. */
const MAX_AHEAD_SECONDS = 60;
const MAX_AGE_SECONDS = 300;

export interface VerificationContext {
  /**
   * The body's bytes as received; empty when there is none. `unread`: its handler will read it, and the caller has to
   * put `digestChecked` in between.
   */
  body: Buffer | 'unread';
  /** The active signing keys of the calling client, by id. */
  keys: ReadonlyMap<string, VerifyingKey>;
  /** Normalised hosts under which the outside knows this gateway. */
  publicHosts: ReadonlySet<string>;
  now: Date;
}

export type SignatureRefusal =
  | 'signature_missing'
  | 'signature_invalid'
  | 'signature_expired'
  | 'digest_mismatch'
  | 'component_missing';

export type SignatureVerdict =
  /** By this key; the nonce alone says whether it was used before. `aheadSeconds`: the signer's clock against ours. */
  | { kind: 'valid'; keyId: string; nonce: string; aheadSeconds: number }
  /** `aheadSeconds`: the client signed it, only the times are wrong. */
  | { kind: 'refused'; code: SignatureRefusal; detail: string; aheadSeconds?: number };

type Refused = Extract<SignatureVerdict, { kind: 'refused' }>;

/**
 * Checks a request against the gateway's profile of RFC 9421 and RFC 9530 (docs/signing.md). Everything before the key
 * speaks only of what the caller sent. Everything about the key (unknown, disabled, another's, of another algorithm,
 * wrong signature) is one answer: the caller does not learn which.
 */
export async function verifySignature(request: SignedRequest, context: VerificationContext): Promise<SignatureVerdict> {
  const reading = readSignature(request);
  if (reading.kind === 'none') return refused('signature_missing', 'This call must be signed; see docs/signing.md.');
  if (reading.kind === 'malformed') return refused('signature_invalid', reading.detail);
  const { signature } = reading;
  const badTimes = checkTimes(signature, context.now);
  const verdict =
    checkCoverage(signature, request, context.body) ??
    checkAuthority(request, context.publicHosts) ??
    checkDigest(request, context.body) ??
    (await checkBytes(signature, request, context));
  if (badTimes === null) return verdict;
  // How far the clocks are apart is measured by what the client signed, and by nothing else that names a time.
  const isClock = badTimes.code === 'signature_expired' && verdict.kind === 'valid';
  return isClock ? { ...badTimes, aheadSeconds: verdict.aheadSeconds } : badTimes;
}

function checkTimes({ created, expires }: PresentedSignature, now: Date): Refused | null {
  const seconds = now.getTime() / 1_000;
  if (created > seconds + MAX_AHEAD_SECONDS) {
    return refused('signature_expired', `created lies in the future. The server's time is ${now.toISOString()}.`);
  }
  if (expires <= seconds || created < seconds - MAX_AGE_SECONDS) {
    return refused('signature_expired', `The signature has expired. The server's time is ${now.toISOString()}.`);
  }
  if (expires <= created || expires > created + MAX_AGE_SECONDS) {
    return refused('signature_invalid', `expires must lie after created, by ${MAX_AGE_SECONDS} seconds at most.`);
  }
  return null;
}

/** What must be covered follows from the request itself, so that nothing can be added to a signed one. */
function checkCoverage(
  { components }: PresentedSignature,
  request: SignedRequest,
  body: Buffer | 'unread',
): SignatureVerdict | null {
  const needed = ['@method', '@authority', '@path', '@query', 'authorization'];
  if (body === 'unread' || body.length > 0) needed.push('content-type', 'content-digest');
  else if (request.fields.has('content-digest')) needed.push('content-digest');
  if (request.fields.has('idempotency-key')) needed.push('idempotency-key');
  const missing = needed.filter((name) => !components.includes(name)).map((name) => `"${name}"`);
  if (missing.length > 0)
    return refused('component_missing', `The signature must cover ${missing.join(', ')} as well.`);
  return null;
}

function checkAuthority(request: SignedRequest, publicHosts: ReadonlySet<string>): SignatureVerdict | null {
  if (!request.target.startsWith('/')) return refused('signature_invalid', 'Send the path alone in the request line.');
  if (publicHosts.has(componentValue(request, '@authority') ?? '')) return null;
  return refused('signature_invalid', "The request's Host is none of the public hosts of this gateway.");
}

function checkDigest(request: SignedRequest, body: Buffer | 'unread'): SignatureVerdict | null {
  const field = request.fields.get('content-digest');
  if (field === undefined) return null;
  const verdict = body === 'unread' ? readableDigest(field) : checkContentDigest(field, body);
  return verdict.kind === 'matches' ? null : refused('digest_mismatch', verdict.detail);
}

function readableDigest(field: string): DigestVerdict {
  const reading = readContentDigest(field);
  return reading.kind === 'digests' ? { kind: 'matches' } : { kind: 'differs', detail: reading.detail };
}

async function checkBytes(
  { components, params, keyId, algorithm, bytes, nonce, created }: PresentedSignature,
  request: SignedRequest,
  { keys, now }: VerificationContext,
): Promise<SignatureVerdict> {
  const key = keys.get(keyId);
  const base = signatureBase(request, components, params);
  if (base.kind === 'absent') {
    return refused('component_missing', `The signature covers "${base.component}", which was not sent.`);
  }
  if (key && (algorithm ?? key.algorithm) === key.algorithm && (await isSignatureOf(key, base.bytes, bytes))) {
    return { kind: 'valid', keyId, nonce, aheadSeconds: created - now.getTime() / 1_000 };
  }
  return refused('signature_invalid', 'The signature does not verify with an active signing key of this client.');
}

function refused(code: SignatureRefusal, detail: string): Refused {
  return { kind: 'refused', code, detail };
}
