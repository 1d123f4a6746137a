import { base64Of, base64UrlOf, bytesOf } from './bytes.js';
import { unlessAborted } from './clock.js';
import { UsageError } from './errors.js';
import type { AccessToken, Credentials } from './options.js';
import { openPrivateKey, type PrivateKey } from './signing/signing-key.js';

export interface TokenRequest {
  form: Record<string, string>;
  headers: Record<string, string>;
}

/** Posts to the token endpoint, with the retries of every other call; each try asks for a request of its own. */
export type PostForm = (make: () => Promise<TokenRequest>) => Promise<AccessToken>;

type ClientCredentials = Exclude<Credentials, () => unknown>;

interface Held {
  token: string;
  renewAtMs: number;
  expiresAtMs: number;
}

/** Renewed after this share of its life, so that one token endpoint's outage does not stop sales at once. */
const RENEW_AFTER = 0.8;
const ASSERTION_LIFETIME_S = 60;
const JWT_ALGORITHM = { ed25519: 'EdDSA', 'ecdsa-p256-sha256': 'ES256', 'hmac-sha256': 'HS256' } as const;

/** One token for all calls: fetched when first needed, by one request however many wait for it. */
export interface AccessTokens {
  get(signal?: AbortSignal): Promise<string>;
  /** The gateway does not take it any more; one that came since then stays. */
  forget(token: string): void;
  /** One more, which is not kept. */
  ask(): Promise<AccessToken>;
}

export function accessTokensOf(
  credentials: Credentials | null,
  tokenUrl: string,
  post: PostForm,
  /** Milliseconds of a monotonic clock. */
  now: () => number = () => performance.now(),
): AccessTokens {
  let held: Held | null = null;
  let fetching: Promise<Held> | null = null;

  const ask = async (): Promise<AccessToken> => {
    if (credentials === null) throw new UsageError('This call needs credentials.');
    if (typeof credentials === 'function') return credentials();
    return post(() => tokenRequest(credentials, tokenUrl));
  };

  const fetch = async (): Promise<Held> => {
    const askedAtMs = now();
    const { accessToken, expiresIn } = await ask();
    const lifeMs = expiresIn * 1000;
    return { token: accessToken, renewAtMs: askedAtMs + lifeMs * RENEW_AFTER, expiresAtMs: askedAtMs + lifeMs };
  };

  const renew = (): Promise<Held> => {
    fetching ??= fetch()
      .then((fresh) => (held = fresh))
      .finally(() => (fetching = null));
    return fetching;
  };

  return {
    ask,
    forget: (token) => {
      if (held?.token === token) held = null;
    },
    get: async (signal) => {
      const nowMs = now();
      if (held === null || nowMs >= held.expiresAtMs) return (await unlessAborted(renew(), signal)).token;
      // The present token is still good: when this fails, the next call tries again.
      if (nowMs >= held.renewAtMs) void renew().catch(() => undefined);
      return held.token;
    },
  };
}

async function tokenRequest(credentials: ClientCredentials, tokenUrl: string): Promise<TokenRequest> {
  const form = { grant_type: 'client_credentials', ...(credentials.scope && { scope: credentials.scope }) };
  if ('clientSecret' in credentials) {
    const { clientId, clientSecret } = credentials;
    // RFC 6749 §2.3.1: both are form-encoded before they are joined.
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    return { form, headers: { authorization: `Basic ${base64Of(bytesOf(pair))}` } };
  }
  const { clientId, privateKey, audience = tokenUrl } = credentials;
  const proof = {
    client_id: clientId,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await makeAssertion(clientId, privateKey, audience),
  };
  return { form: { ...form, ...proof }, headers: {} };
}

/** private_key_jwt (RFC 7523): an assertion counts once, so each try makes its own. */
async function makeAssertion(clientId: string, privateKey: PrivateKey, audience: string): Promise<string> {
  const key = await openPrivateKey(privateKey);
  const now = Math.floor(Date.now() / 1000);
  const jti = base64UrlOf(crypto.getRandomValues(new Uint8Array(16)));
  const claims = { iss: clientId, sub: clientId, aud: audience, iat: now, exp: now + ASSERTION_LIFETIME_S, jti };
  const encode = (value: unknown): string => base64UrlOf(bytesOf(JSON.stringify(value)));
  const signed = `${encode({ alg: JWT_ALGORITHM[key.algorithm], typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${base64UrlOf(await key.sign(bytesOf(signed)))}`;
}
