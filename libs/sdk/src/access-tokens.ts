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
export class AccessTokens {
  private held: Held | null = null;
  private fetching: Promise<Held> | null = null;

  constructor(
    private readonly credentials: Credentials | null,
    private readonly tokenUrl: string,
    private readonly post: PostForm,
    /** Milliseconds of a monotonic clock. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  async get(signal?: AbortSignal): Promise<string> {
    const now = this.now();
    if (this.held !== null && now < this.held.expiresAtMs) {
      // The present token is still good: when this fails, the next call tries again.
      if (now >= this.held.renewAtMs) void this.renew().catch(() => undefined);
      return this.held.token;
    }
    const { token } = await unlessAborted(this.renew(), signal);
    return token;
  }

  /** The gateway does not take it any more; one that came since then stays. */
  forget(token: string): void {
    if (this.held?.token === token) this.held = null;
  }

  private renew(): Promise<Held> {
    this.fetching ??= this.fetch()
      .then((held) => (this.held = held))
      .finally(() => (this.fetching = null));
    return this.fetching;
  }

  private async fetch(): Promise<Held> {
    const askedAtMs = this.now();
    const { accessToken, expiresIn } = await this.ask();
    const lifeMs = expiresIn * 1000;
    return { token: accessToken, renewAtMs: askedAtMs + lifeMs * RENEW_AFTER, expiresAtMs: askedAtMs + lifeMs };
  }

  /** One more, which is not kept. */
  async ask(): Promise<AccessToken> {
    const { credentials } = this;
    if (credentials === null) throw new UsageError('This call needs credentials.');
    if (typeof credentials === 'function') return credentials();
    return this.post(() => tokenRequest(credentials, this.tokenUrl));
  }
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
