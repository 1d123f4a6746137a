import { base64Of, base64UrlOf, bytesOf, type Bytes } from '../bytes.js';
import type { SigningKey } from './signing-key.js';

export interface RequestToSign {
  method: string;
  url: URL;
  /** Lower-case names. What of them is signed is decided here. */
  headers: Readonly<Record<string, string>>;
  /** The bytes of the body as they are sent. */
  body: Bytes | null;
}

/** docs/signing.md: always the token, and what changes the meaning of the request where it is there. */
const FIELDS = ['content-type', 'content-digest', 'authorization', 'idempotency-key'];
const LIFETIME_S = 300;
const NONCE_BYTES = 16;

/** What the signature covers, one line for each component (RFC 9421 §2.5). */
export function signatureBase(components: readonly (readonly [string, string])[], parameters: string): string {
  const lines = [...components, ['@signature-params', parameters] as const];
  return lines.map(([name, value]) => `"${name}": ${value}`).join('\n');
}

/** The headers that make a request a signed one. Each call draws a nonce of its own: an attempt is signed, not a request. */
export async function signRequest(
  { method, url, headers, body }: RequestToSign,
  keyId: string,
  key: SigningKey,
): Promise<Record<string, string>> {
  const digest: Record<string, string> = body === null ? {} : { 'content-digest': await contentDigest(body) };
  const sent: Readonly<Record<string, string>> = { ...headers, ...digest };
  const components: (readonly [string, string])[] = [
    ['@method', method],
    ['@authority', url.host],
    ['@path', url.pathname],
    ['@query', url.search === '' ? '?' : url.search],
  ];
  for (const name of FIELDS) {
    const value = sent[name];
    if (value !== undefined && !(name === 'content-type' && body === null)) components.push([name, value]);
  }
  const created = Math.floor(Date.now() / 1000);
  const nonce = base64UrlOf(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  const parameters =
    `(${components.map(([name]) => `"${name}"`).join(' ')});created=${created};expires=${created + LIFETIME_S}` +
    `;nonce="${nonce}";keyid="${keyId}";alg="${key.algorithm}";tag="fgw-v1"`;
  const signature = await key.sign(bytesOf(signatureBase(components, parameters)));
  return { ...digest, 'signature-input': `fgw=${parameters}`, signature: `fgw=:${base64Of(signature)}:` };
}

async function contentDigest(body: Bytes): Promise<string> {
  return `sha-256=:${base64Of(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))}:`;
}
