import { checkPrime, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

const isPrime = promisify(checkPrime);

/** The field of Curve25519. */
const P = 2n ** 255n - 19n;
const SIGN_BIT = 2n ** 255n;
/** y of the points whose order divides 8: 0 (order 4), 1 (the identity), -1 (order 2), and two of order 8. */
const SMALL_ORDER: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  P - 1n,
  littleEndian(Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')),
  littleEndian(Buffer.from('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex')),
]);

const MIN_RSA_EXPONENT = 65_537n;
/** A longer one makes each verification cost more, and protects nothing. */
const MAX_RSA_EXPONENT = 2n ** 64n;
const SMALL_PRIMES = primesBelow(2_000);

/**
 * Why signatures of a public key prove nothing, although the key can be read; null when nothing speaks against it. Cheap
 * enough for each reading of a stored key: keys that were registered before a rule must not outlive it.
 */
export function weaknessOf(key: KeyObject): string | null {
  const { kty, crv, x, n, e } = key.export({ format: 'jwk' });
  if (kty === 'OKP' && crv === 'Ed25519') return isWeakEd25519(bytesOf(x)) ? 'it is a point of small order' : null;
  if (kty === 'RSA') return rsaWeakness(bigEndian(bytesOf(n)), bigEndian(bytesOf(e)));
  return null;
}

/**
 * Also what takes long to find out; for the registration of a key. A product of two primes fails the first round of the test
 * for primes, a prime passes them all: two seconds of a core at 4096 bits, so in the pool of threads.
 */
export async function weaknessOfNewKey(key: KeyObject): Promise<string | null> {
  const known = weaknessOf(key);
  if (known !== null || key.asymmetricKeyType !== 'rsa') return known;
  const modulus = bigEndian(bytesOf(key.export({ format: 'jwk' }).n));
  // The order of the group of a prime modulus, or of a square, is public.
  return isSquare(modulus) || (await isPrime(modulus)) ? 'its modulus is no product of two primes' : null;
}

/**
 * For a point of small order signatures can be made without a private key (RFC 8032 §5.1.7 multiplies it by the hash; the
 * product is one of eight values), and a coordinate above the field is another spelling of such a point.
 * The sign bit changes neither.
 */
export function isWeakEd25519(publicKey: Buffer): boolean {
  if (publicKey.length !== 32) return true;
  const y = littleEndian(publicKey) % SIGN_BIT;
  return y >= P || SMALL_ORDER.has(y);
}

function rsaWeakness(modulus: bigint, exponent: bigint): string | null {
  if (exponent < MIN_RSA_EXPONENT || exponent >= MAX_RSA_EXPONENT || exponent % 2n === 0n) {
    return 'its exponent must be odd, at least 65537 and shorter than 65 bits';
  }
  return SMALL_PRIMES.some((prime) => modulus % prime === 0n) ? 'its modulus has a small factor' : null;
}

function isSquare(value: bigint): boolean {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  // Newton's iteration from above ends at the integer root.
  for (let next = (root + value / root) / 2n; next < root; next = (root + value / root) / 2n) root = next;
  return root * root === value;
}

function bytesOf(part: unknown): Buffer {
  if (typeof part !== 'string') throw new TypeError('the key lacks a part that its type has');
  return Buffer.from(part, 'base64url');
}

function bigEndian(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

function littleEndian(bytes: Buffer): bigint {
  return bigEndian(Buffer.from(bytes).reverse());
}

function primesBelow(limit: number): readonly bigint[] {
  const primes: number[] = [];
  for (let candidate = 2; candidate < limit; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes.map(BigInt);
}
