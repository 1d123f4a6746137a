import { bytesOf, bytesOfBase64, type Bytes } from '../bytes.js';
import { UsageError } from '../errors.js';

export type SignatureAlgorithm = 'ed25519' | 'ecdsa-p256-sha256' | 'hmac-sha256';

/** A private key as PKCS #8 PEM text or as a JWK; Ed25519 or EC P-256. */
export type PrivateKey = string | { kty: string; crv?: string; [member: string]: unknown };

/** How requests are signed: with a private key, with a secret that the gateway drew, or elsewhere (HSM, KMS). */
export type SigningOptions = { keyId: string; /** Default: writes. */ requests?: 'writes' | 'all' } & (
  | { privateKey: PrivateKey }
  | { secret: string }
  | { algorithm: SignatureAlgorithm; sign: (base: Uint8Array) => Promise<Uint8Array> }
);

export interface SigningKey {
  algorithm: SignatureAlgorithm;
  sign(base: Bytes): Promise<Uint8Array>;
}

const { subtle } = globalThis.crypto;

/** One for importing a key and for signing with it; ECDSA's signature comes as r‖s, as RFC 9421 wants it. */
const WEB_CRYPTO = {
  ed25519: { name: 'Ed25519' },
  'ecdsa-p256-sha256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'hmac-sha256': { name: 'HMAC', hash: 'SHA-256' },
} as const;

/** Object identifiers in their DER form, as they stand at the beginning of a PKCS #8 key. */
const IDENTIFIERS: readonly [SignatureAlgorithm, string][] = [
  ['ed25519', '6,3,43,101,112'],
  ['ecdsa-p256-sha256', '6,8,42,134,72,206,61,3,1,7'],
];

export async function openSigningKey(options: SigningOptions): Promise<SigningKey> {
  if ('sign' in options) return { algorithm: options.algorithm, sign: options.sign };
  if ('secret' in options) return imported('hmac-sha256', 'raw', bytesOf(options.secret));
  return openPrivateKey(options.privateKey);
}

export async function openPrivateKey(key: PrivateKey): Promise<SigningKey> {
  if (typeof key !== 'string') {
    const algorithm = key.crv === 'Ed25519' ? 'ed25519' : key.crv === 'P-256' ? 'ecdsa-p256-sha256' : refuse();
    return imported(algorithm, 'jwk', key);
  }
  const der = derOf(key);
  const head = `,${der.subarray(0, 40).join(',')},`;
  const algorithm = IDENTIFIERS.find(([, identifier]) => head.includes(`,${identifier},`))?.[0] ?? refuse();
  return imported(algorithm, 'pkcs8', der);
}

async function imported(
  algorithm: SignatureAlgorithm,
  form: 'raw' | 'jwk' | 'pkcs8',
  material: Bytes | Exclude<PrivateKey, string>,
): Promise<SigningKey> {
  const how = WEB_CRYPTO[algorithm];
  // Which form goes with which material is settled above; the platform's types know it by two overloads.
  const key = await subtle.importKey(form as 'raw', material as Bytes, how, false, ['sign']);
  return { algorithm, sign: async (base) => new Uint8Array(await subtle.sign(how, key, base)) };
}

function derOf(pem: string): Bytes {
  const body = /-----BEGIN PRIVATE KEY-----([\s\S]+?)-----END PRIVATE KEY-----/.exec(pem)?.[1];
  const der = body === undefined ? null : bytesOfBase64(body.replace(/\s/g, ''));
  if (der === null) {
    throw new UsageError(
      'The private key is not PKCS #8 in PEM ("BEGIN PRIVATE KEY"). `openssl pkcs8 -topk8 -nocrypt -in key.pem` writes it so.',
    );
  }
  return der;
}

function refuse(): never {
  throw new UsageError('The private key must be Ed25519 or EC P-256.');
}
