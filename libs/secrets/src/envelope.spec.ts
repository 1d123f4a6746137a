// Promise: a secret at rest opens only for its own row with the right key, and damage is noticed, never returned.
import { deriveKey, EnvelopeError, open, parseKeyring, seal } from './envelope.js';

const first = Buffer.alloc(32, 1).toString('base64');
const second = Buffer.alloc(32, 2).toString('hex');
const ring = parseKeyring(`a:${first}`);

test('opens what it sealed, and seals differently each time', () => {
  const sealed = seal('ключ-123', 'devices|dev_1|api_key', ring);
  expect(open(sealed, 'devices|dev_1|api_key', ring)).toBe('ключ-123');
  expect(seal('ключ-123', 'devices|dev_1|api_key', ring).equals(sealed)).toBe(false);
  expect(sealed.includes('ключ-123')).toBe(false);
});

test('an older key still opens after rotation, new values use the new one', () => {
  const old = seal('x', 'row', ring);
  const rotated = parseKeyring(`b:${second},a:${first}`);
  expect(open(old, 'row', rotated)).toBe('x');
  const fresh = seal('x', 'row', rotated);
  expect(() => open(fresh, 'row', ring)).toThrow(EnvelopeError);
  expect(open(fresh, 'row', rotated)).toBe('x');
});

test('refuses another row, every changed byte and every cut', () => {
  const sealed = seal('secret', 'devices|dev_1', ring);
  expect(() => open(sealed, 'devices|dev_2', ring)).toThrow(EnvelopeError);
  for (let at = 0; at < sealed.length; at += 1) {
    const damaged = Buffer.from(sealed);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    expect(() => open(damaged, 'devices|dev_1', ring)).toThrow(EnvelopeError);
    expect(() => open(sealed.subarray(0, at), 'devices|dev_1', ring)).toThrow(EnvelopeError);
  }
});

test('reads one bare key or a list, and repeats no key in its complaint', () => {
  expect(parseKeyring(first).active).toBe('1');
  expect([...parseKeyring(`b:${second},a:${first}`).keys.keys()]).toEqual(['b', 'a']);
  for (const bad of ['', 'short', `a:${first},a:${second}`, `:${first}`, `a b:${first}`]) {
    expect(() => parseKeyring(bad)).toThrow(/^32 bytes in base64 or hex/);
  }
});

test('keys derived for different purposes differ', () => {
  expect(deriveKey(ring, 'one').equals(deriveKey(ring, 'one'))).toBe(true);
  expect(deriveKey(ring, 'one').equals(deriveKey(ring, 'two'))).toBe(false);
});
