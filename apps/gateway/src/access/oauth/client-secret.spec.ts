// Promise: a secret is recognised by its keyed hash alone, under the ring's older keys too, and by no other.
import { parseKeyring } from '#secrets';
import { hashAccessToken, looksLikeAccessToken, newAccessToken } from './access-token.js';
import { hashClientSecret, isClientSecret, newClientSecret, NO_SECRET_HASH } from './client-secret.js';

const first = Buffer.alloc(32, 1).toString('base64');
const second = Buffer.alloc(32, 2).toString('base64');
const ring = parseKeyring(`a:${first}`);

test('recognises the secret and nothing near it', () => {
  const secret = newClientSecret();
  const hash = hashClientSecret(secret, ring);
  expect(isClientSecret(secret, hash, ring)).toBe(true);
  for (const wrong of ['', secret.slice(1), `${secret} `, newClientSecret()]) {
    expect(isClientSecret(wrong, hash, ring)).toBe(false);
  }
  expect(isClientSecret(secret, hash.subarray(1), ring)).toBe(false);
  expect(isClientSecret(secret, NO_SECRET_HASH, ring)).toBe(false);
});

test('a rotated ring still knows old secrets; without the key a hash is worth nothing', () => {
  const hash = hashClientSecret('s', ring);
  expect(isClientSecret('s', hash, parseKeyring(`b:${second},a:${first}`))).toBe(true);
  expect(isClientSecret('s', hash, parseKeyring(`a:${second}`))).toBe(false);
});

test('tokens and secrets survive every encoding, differ each time and carry a checksum', () => {
  const token = newAccessToken();
  expect(token).toMatch(/^fgw_at_[0-9A-Za-z]{49}$/);
  expect(newClientSecret()).toMatch(/^fgw_cs_[0-9A-Za-z]{49}$/);
  expect(newAccessToken()).not.toBe(token);
  expect(hashAccessToken(token)).toHaveLength(32);
  expect(looksLikeAccessToken(token)).toBe(true);
  const swapped = token.replace(/(.)(.)$/, (_all, a: string, b: string) => (a === b ? `${a}_` : b + a));
  for (const wrong of [swapped, `${token}0`, token.slice(0, -1), token.replace('_at_', '_cs_'), 'x', '']) {
    expect(looksLikeAccessToken(wrong)).toBe(false);
  }
});
