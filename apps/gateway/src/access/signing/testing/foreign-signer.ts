import { createHash, createSecretKey, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { createSigner, httpbis } from 'http-message-signatures';
import type { SignatureAlgorithm, VerifyingKey } from '../signature-algorithms.js';

export interface OutgoingRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: string;
}

export interface SignOptions {
  /** Name of the signature. */
  label?: string;
  fields?: string[];
  /** Over the usual ones; undefined leaves one out. */
  params?: Record<string, unknown>;
}

/** Keys as a customer makes them, and requests signed by an independent library. */
export class ForeignSigner {
  private constructor(
    readonly keyId: string,
    readonly algorithm: SignatureAlgorithm,
    /** What the gateway knows. */
    readonly verifying: VerifyingKey,
    private readonly signing: KeyObject,
  ) {}

  static create(keyId: string, algorithm: SignatureAlgorithm): ForeignSigner {
    if (algorithm === 'hmac-sha256') return ForeignSigner.withSecret(keyId, randomBytes(32).toString('base64url'));
    const { privateKey, publicKey } = newPair(algorithm);
    return new ForeignSigner(keyId, algorithm, { algorithm, key: publicKey }, privateKey);
  }

  static withSecret(keyId: string, secret: string): ForeignSigner {
    const key = createSecretKey(Buffer.from(secret));
    return new ForeignSigner(keyId, 'hmac-sha256', { algorithm: 'hmac-sha256', key }, key);
  }

  /** The same pair under the id that the gateway gave it. */
  named(keyId: string): ForeignSigner {
    return new ForeignSigner(keyId, this.algorithm, this.verifying, this.signing);
  }

  get publicPem(): string {
    return this.verifying.key.export({ type: 'spki', format: 'pem' }).toString();
  }

  /** @returns the request's headers with Signature-Input and Signature */
  async sign(request: OutgoingRequest, options: SignOptions = {}): Promise<Record<string, string>> {
    const { label = 'sig1', params = {}, fields = coveredBy(request) } = options;
    const created = new Date();
    const values: Record<string, unknown> = {
      created,
      expires: new Date(created.getTime() + 300_000),
      nonce: randomBytes(16).toString('base64url'),
      keyid: this.keyId,
      alg: this.algorithm,
      tag: 'fgw-v1',
      ...params,
    };
    const names = Object.keys(values).filter((name) => values[name] !== undefined);
    const message = {
      method: request.method,
      url: `http://${hostOf(request)}${request.target}`,
      headers: request.headers,
    };
    const key = createSigner(this.signing, this.algorithm, this.keyId);
    const paramValues = Object.fromEntries(names.map((name) => [name, values[name] as string]));
    const signed = await httpbis.signMessage({ key, name: label, fields, params: names, paramValues }, message);
    return signed.headers;
  }
}

/** A POST as customers send it, with a digest of its body. */
export function outgoing(more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  const body = more.body ?? '';
  return {
    method: 'POST',
    target: '/v1/receipts',
    ...more,
    body,
    headers: {
      host: 'gateway.test',
      authorization: 'Bearer fgw_at_x',
      ...(body !== '' && { 'content-type': 'application/json', 'content-digest': digestOf(body) }),
      ...more.headers,
    },
  };
}

export function digestOf(body: string): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

export function rawHeadersOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}

export function coveredBy({ headers }: OutgoingRequest): string[] {
  const fields = ['content-type', 'content-digest', 'authorization', 'idempotency-key'];
  return ['@method', '@authority', '@path', '@query', ...fields.filter((name) => name in headers)];
}

function hostOf({ headers }: OutgoingRequest): string {
  return headers['host'] ?? '';
}

function newPair(algorithm: SignatureAlgorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  if (algorithm === 'ed25519') return generateKeyPairSync('ed25519');
  if (algorithm === 'ecdsa-p256-sha256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return generateKeyPairSync('rsa', { modulusLength: 2_048 });
}
