// Promise: a soak says "flat" of what stays, "growing" of a leak, and nothing good of what was not measured.
import { judgeSlope } from './slope.js';

const course = (values: number[]) => ({ name: 'memory', values, allowance: 2, share: 0.1 });
const noise = [0, 3, -2, 4, -3, 1, 2, -4];

test('flat: a level that swings, after a steep beginning', () => {
  const values = Array.from({ length: 30 }, (_, n) => (n < 8 ? 40 + n * 6 : 100) + (noise[n % 8] ?? 0));
  expect(judgeSlope(course(values))).toMatchObject({ isFlat: true });
});

test('growing: a slow leak under the same swings', () => {
  const values = Array.from({ length: 30 }, (_, n) => 100 + n + (noise[n % 8] ?? 0));
  const { isFlat, growth } = judgeSlope(course(values));
  expect(isFlat).toBe(false);
  expect(growth).toBeGreaterThan(12);
});

test('flat: one peak does not make a slope', () => {
  const values = Array.from({ length: 30 }, (_, n) => (n === 28 ? 900 : 100));
  expect(judgeSlope(course(values))).toMatchObject({ isFlat: true, growth: 0 });
});

test('not flat: too few samples', () => {
  expect(judgeSlope(course([1, 1, 1, 1])).isFlat).toBe(false);
  expect(judgeSlope(course(Array<number>(30).fill(Number.NaN))).isFlat).toBe(false);
});
