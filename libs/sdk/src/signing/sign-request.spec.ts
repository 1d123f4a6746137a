// Promise: what the SDK signs is verified by an independent implementation of RFC 9421, and no two attempts share a signature.
import { createHash, createPublicKey, createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createVerifier, httpbis } from 'http-message-signatures';
import { bytesOf } from '../bytes.js';
import { UsageError } from '../errors.js';
import { signRequest, type RequestToSign } from './sign-request.js';
import { openSigningKey, type SignatureAlgorithm, type SigningOptions } from './signing-key.js';

const ed25519 = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const secret = 'c2VjcmV0IHRoYXQgdGhlIGdhdGV3YXkgZHJldw';
const pem = ({ privateKey }: { privateKey: KeyObject }): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const jwk = ({ privateKey }: { privateKey: KeyObject }) => privateKey.export({ format: 'jwk' }) as { kty: string };

const KEYS: [string, SigningOptions, SignatureAlgorithm, KeyObject][] = [
  ['Ed25519 as PEM', { keyId: 'key_1', privateKey: pem(ed25519) }, 'ed25519', ed25519.publicKey],
  ['Ed25519 as JWK', { keyId: 'key_1', privateKey: jwk(ed25519) }, 'ed25519', ed25519.publicKey],
  ['P-256 as PEM', { keyId: 'key_1', privateKey: pem(p256) }, 'ecdsa-p256-sha256', createPublicKey(pem(p256))],
  ['P-256 as JWK', { keyId: 'key_1', privateKey: jwk(p256) }, 'ecdsa-p256-sha256', p256.publicKey],
  ['a shared secret', { keyId: 'key_1', secret }, 'hmac-sha256', createSecretKey(Buffer.from(secret))],
];

const sale: RequestToSign = {
  method: 'POST',
  url: new URL('https://Fiscal.example:8443/v1/receipts?x=%C5%9F'),
  headers: { 'content-type': 'application/json', authorization: 'Bearer t', 'idempotency-key': 'k-1', accept: '*/*' },
  body: bytesOf('{"items":[]}'),
};

async function signed(request: RequestToSign, options: SigningOptions): Promise<Record<string, string>> {
  return { ...request.headers, ...(await signRequest(request, options.keyId, await openSigningKey(options))) };
}

async function isVerified(
  request: RequestToSign,
  headers: Record<string, string>,
  alg: SignatureAlgorithm,
  key: KeyObject,
) {
  const verify = createVerifier(key, alg);
  const keyLookup = () => Promise.resolve({ id: 'key_1', algs: [alg], verify });
  const url = request.url.href;
  return httpbis.verifyMessage({ keyLookup, all: true, maxAge: 60 }, { method: request.method, url, headers });
}

test.each(KEYS)('%s', async (_name, options, algorithm, key) => {
  const headers = await signed(sale, options);
  await expect(isVerified(sale, headers, algorithm, key)).resolves.toBe(true);
  await expect(isVerified({ ...sale, method: 'PUT' }, headers, algorithm, key)).resolves.toBe(false);
  await expect(isVerified(sale, { ...headers, 'idempotency-key': 'k-2' }, algorithm, key)).resolves.toBe(false);
});

test('a body is covered by its digest, the token and the key by their headers', async () => {
  const headers = await signed(sale, KEYS[0]![1]);
  expect(headers['content-digest']).toBe(`sha-256=:${createHash('sha256').update('{"items":[]}').digest('base64')}:`);
  expect(headers['signature-input']).toMatch(
    /^fgw=\("@method" "@authority" "@path" "@query" "content-type" "content-digest" "authorization" "idempotency-key"\);created=\d+;expires=\d+;nonce="[\w-]{22}";keyid="key_1";alg="ed25519";tag="fgw-v1"$/,
  );
});

test('without a body there is no digest', async () => {
  const bare: RequestToSign = { ...sale, method: 'POST', headers: { authorization: 'Bearer t' }, body: null };
  const headers = await signed(bare, KEYS[0]![1]);
  expect(headers['signature-input']).toMatch(/^fgw=\("@method" "@authority" "@path" "@query" "authorization"\);/);
  expect(headers['content-digest']).toBeUndefined();
  await expect(isVerified(bare, headers, 'ed25519', ed25519.publicKey)).resolves.toBe(true);
});

test('each attempt has a nonce of its own', async () => {
  const nonces = await Promise.all(
    Array.from({ length: 20 }, async () => (await signed(sale, KEYS[4]![1]))['signature-input']),
  );
  expect(new Set(nonces).size).toBe(20);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const sec1 = p256.privateKey.export({ type: 'sec1', format: 'pem' }).toString();
test.each([
  ['RSA', pem(rsa)],
  ['an EC key in the form of SEC 1', sec1],
  ['a public key', ed25519.publicKey.export({ type: 'spki', format: 'pem' }).toString()],
  ['no key at all', 'hello'],
])('%s is refused with what is wanted', async (_name, privateKey) => {
  await expect(openSigningKey({ keyId: 'key_1', privateKey })).rejects.toThrow(UsageError);
});
