// Promise: a key stands out for as long as was said, counted from the last time it was added.
import { ForAWhile } from './for-a-while.js';

test('each key until its own end, and again when it is added anew', () => {
  let nowMs = 0;
  const keys = new ForAWhile(100, () => nowMs);
  keys.add('a');
  nowMs = 99;
  keys.add('b');
  expect([keys.has('a'), keys.has('b'), keys.has('c')]).toEqual([true, true, false]);
  nowMs = 100;
  expect([keys.has('a'), keys.has('b')]).toEqual([false, true]);
  keys.add('b');
  nowMs = 199;
  expect([keys.has('a'), keys.has('b')]).toEqual([false, true]);
  nowMs = 200;
  expect(keys.has('b')).toBe(false);
});
