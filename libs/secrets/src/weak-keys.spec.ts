// Promise: a public key whose signatures can be made without a private key is recognised, and no good key is taken for one.
import {
  createPublicKey,
  generateKeyPairSync,
  generatePrimeSync,
  getDiffieHellman,
  verify,
  type KeyObject,
} from 'node:crypto';
import { isWeakEd25519, weaknessOf, weaknessOfNewKey } from './weak-keys.js';

const ed25519 = (bytes: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });

function base64(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}

const rsa = (n: bigint, e: bigint): KeyObject =>
  createPublicKey({ key: { kty: 'RSA', n: base64(n), e: base64(e) }, format: 'jwk' });

const good = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey;
const modulus = BigInt(`0x${Buffer.from(good.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`);
const prime = (bits: number): bigint => generatePrimeSync(bits, { bigint: true });

/** The encodings of the points of order 1, 2, 4 and 8, those above the field and those with the other sign among them. */
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '0000000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
];

/** The OpenSSL of Node.js 24 refuses points of small order by itself. */
const OPENSSL_REFUSES = Number(process.versions.node.split('.')[0]) >= 24;

test('without this check the identity point accepts one signature for every message, where OpenSSL does not refuse it', () => {
  const base = `58${'66'.repeat(31)}`;
  const forged = Buffer.from(`${base}01${'00'.repeat(31)}`, 'hex');
  const identity = ed25519(Buffer.from(SMALL_ORDER[0] ?? '', 'hex'));
  for (const text of ['a', 'b']) expect(verify(null, Buffer.from(text), identity, forged)).toBe(!OPENSSL_REFUSES);
});

test.each(SMALL_ORDER)('Ed25519 of small order: %s', (hex) => {
  expect(weaknessOf(ed25519(Buffer.from(hex, 'hex')))).toMatch(/small order/);
});

test('an Ed25519 key of another length is weak', () => {
  expect(isWeakEd25519(Buffer.alloc(31, 7))).toBe(true);
});

test.each<[string, () => KeyObject]>([
  ['exponent 1', () => rsa(modulus, 1n)],
  ['exponent 3', () => rsa(modulus, 3n)],
  ['an even exponent', () => rsa(modulus, 65_538n)],
  ['a long exponent', () => rsa(modulus, 2n ** 64n + 13n)],
  ['an even modulus', () => rsa(modulus - 1n, 65_537n)],
  ['a modulus with a small factor', () => rsa(prime(2_040) * 251n, 65_537n)],
])('RSA with %s', async (_what, key) => {
  expect(weaknessOf(key())).not.toBeNull();
  expect(await weaknessOfNewKey(key())).not.toBeNull();
});

test.each<[string, () => bigint]>([
  ['prime', () => prime(2_048)],
  ['a square', () => prime(1_024) ** 2n],
])('RSA with a modulus that is %s', async (_what, value) => {
  expect(await weaknessOfNewKey(rsa(value(), 65_537n))).toMatch(/no product of two primes/);
});

test('nothing waits while a prime modulus is recognised', async () => {
  const longest = BigInt(`0x${getDiffieHellman('modp16').getPrime('hex')}`);
  let isAnswered = false;
  const answer = weaknessOfNewKey(rsa(longest, 65_537n)).finally(() => {
    isAnswered = true;
  });
  // Comes after all that the call did by itself, and before anything that a thread hands over.
  await new Promise((resolve) => process.nextTick(resolve));
  expect(isAnswered).toBe(false);
  expect(await answer).toMatch(/no product of two primes/);
});

test('good keys are good', async () => {
  for (let at = 0; at < 50; at += 1) {
    expect(await weaknessOfNewKey(generateKeyPairSync('ed25519').publicKey)).toBeNull();
  }
  for (const modulusLength of [2_048, 3_072]) {
    expect(await weaknessOfNewKey(generateKeyPairSync('rsa', { modulusLength }).publicKey)).toBeNull();
  }
  expect(await weaknessOfNewKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)).toBeNull();
});
