// Promise: an assertion proves a client only with its own key and algorithm, for us alone, for minutes, and named by a jti.
import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { claimedClient, verifyAssertion, type AuthenticationKey } from './client-assertion.js';

const NOW = new Date('2026-11-20T10:00:00Z');
const NOW_S = NOW.getTime() / 1_000;
const RULES = { clientId: 'cli_1', audiences: ['https://gw', 'https://gw/oauth/token'], now: NOW };

const ed25519 = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });

const keyOf = (id: string, algorithm: string, { publicKey }: { publicKey: KeyObject }): AuthenticationKey => ({
  ...{ id, algorithm, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() },
});
const KEYS = [keyOf('key_ed', 'EdDSA', ed25519), keyOf('key_ec', 'ES256', p256), keyOf('key_rsa', 'PS256', rsa)];

const CLAIMS = { iss: 'cli_1', sub: 'cli_1', aud: 'https://gw', jti: 'j-1', iat: NOW_S, exp: NOW_S + 60 };

function sign(
  claims: Record<string, unknown> = {},
  { alg = 'EdDSA', key = ed25519.privateKey, kid }: { alg?: string; key?: KeyObject; kid?: string } = {},
): Promise<string> {
  const all = Object.fromEntries(Object.entries({ ...CLAIMS, ...claims }).filter(([, value]) => value !== null));
  return new SignJWT(all).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(key);
}

test.each([
  ['EdDSA', ed25519.privateKey],
  ['Ed25519', ed25519.privateKey],
  ['ES256', p256.privateKey],
  ['PS256', rsa.privateKey],
])('%s is taken, with our kid, without, and with a name of the client’s own', async (alg, key) => {
  for (const kid of [undefined, 'key_ed', 'my-key-1']) {
    const verified = await verifyAssertion(
      await sign({}, { alg, key, ...(kid !== undefined && { kid }) }),
      KEYS,
      RULES,
    );
    expect(verified).toEqual({ jti: 'j-1', usableUntil: NOW_S + 90 });
  }
});

test('the issuer, the endpoint, or both of them as audience', async () => {
  for (const aud of ['https://gw/oauth/token', ['https://gw', 'https://gw/oauth/token']]) {
    expect(await verifyAssertion(await sign({ aud }), KEYS, RULES)).not.toBeNull();
  }
});

test.each<[string, Record<string, unknown>]>([
  ['another issuer', { iss: 'cli_2' }],
  ['another subject', { sub: 'cli_2' }],
  ['another audience', { aud: 'https://other' }],
  ['us and another audience, which could use it here', { aud: ['https://gw', 'https://other'] }],
  ['no audience', { aud: null }],
  ['no jti', { jti: null }],
  ['an empty jti', { jti: '' }],
  ['a jti that is no text', { jti: 7 }],
  ['a jti without end', { jti: 'x'.repeat(257) }],
  ['no expiry', { exp: null }],
  ['an expiry that is no number', { exp: 'never' }],
  ['expired', { exp: NOW_S - 31 }],
  ['good for a day', { exp: NOW_S + 86_400 }],
  ['not yet good', { nbf: NOW_S + 120 }],
])('refused: %s', async (_what, claims) => {
  expect(await verifyAssertion(await sign(claims), KEYS, RULES)).toBeNull();
});

test('refused: foreign keys, a changed claim, no signature, a symmetric one', async () => {
  const foreign = generateKeyPairSync('ed25519').privateKey;
  expect(await verifyAssertion(await sign({}, { key: foreign }), KEYS, RULES)).toBeNull();
  expect(await verifyAssertion(await sign(), [], RULES)).toBeNull();
  const [head = '', , signature = ''] = (await sign()).split('.');
  const payload = Buffer.from(JSON.stringify({ ...CLAIMS, jti: 'j-2' })).toString('base64url');
  expect(await verifyAssertion(`${head}.${payload}.${signature}`, KEYS, RULES)).toBeNull();
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  expect(await verifyAssertion(`${none}.${payload}.`, KEYS, RULES)).toBeNull();
  // The classic: the public key's text as the secret of an HMAC.
  const secret = new TextEncoder().encode(KEYS[2]?.publicKey);
  const hmac = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'HS256' }).sign(secret);
  expect(await verifyAssertion(hmac, KEYS, RULES)).toBeNull();
  // The right RSA key under an algorithm that it was not registered for.
  expect(await verifyAssertion(await sign({}, { alg: 'PS512', key: rsa.privateKey }), KEYS, RULES)).toBeNull();
});

test.each([
  '',
  'x',
  'a.b.c',
  'a.b',
  'é.é.é',
  `${'x'.repeat(9_000)}.y.z`,
  `e30.${Buffer.from('[]').toString('base64url')}.x`,
])('no JWT at all: %#', async (text) => {
  expect(claimedClient(text)).toBeNull();
  expect(await verifyAssertion(text, KEYS, RULES)).toBeNull();
});

test('whose it claims to be', async () => {
  expect(claimedClient(await sign())).toBe('cli_1');
  expect(claimedClient(await sign({ sub: 7 }))).toBeNull();
  expect(claimedClient(await sign({ sub: null }))).toBeNull();
});

test('a key that was registered before weak ones were refused proves nothing', async () => {
  const identity = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url') },
    format: 'jwk',
  });
  const [header = '', payload = ''] = (await sign()).split('.');
  const forged = Buffer.from(`58${'66'.repeat(31)}01${'00'.repeat(31)}`, 'hex');
  // The OpenSSL of Node.js 24 refuses it by itself.
  const isRefused = Number(process.versions.node.split('.')[0]) >= 24;
  expect(verify(null, Buffer.from(`${header}.${payload}`), identity, forged)).toBe(!isRefused);
  const assertion = `${header}.${payload}.${forged.toString('base64url')}`;
  expect(await verifyAssertion(assertion, [keyOf('key_w', 'EdDSA', { publicKey: identity })], RULES)).toBeNull();
});
