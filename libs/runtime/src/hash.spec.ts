// Promise: two bodies get the same hash exactly when they say the same, whatever the order of their keys.
import { canonicalJson, sha256 } from './hash.js';

test('sorts keys at every depth, keeps the order of lists, leaves out undefined', () => {
  const one = canonicalJson({ b: [{ y: 1, x: 'é' }, null], a: undefined, c: { z: true, k: 1.5 } });
  const other = canonicalJson({ c: { k: 1.5, z: true }, b: [{ x: 'é', y: 1 }, null] });
  expect(one).toBe('{"b":[{"x":"é","y":1},null],"c":{"k":1.5,"z":true}}');
  expect(other).toBe(one);
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  expect(canonicalJson({ a: '1' })).not.toBe(canonicalJson({ a: 1 }));
});

test.each([[NaN], [Infinity], [1n], [Symbol('x')]])('refuses %p', (value) => {
  expect(() => canonicalJson({ value })).toThrow(TypeError);
});

test('sha256 of a known text', () => {
  expect(sha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
