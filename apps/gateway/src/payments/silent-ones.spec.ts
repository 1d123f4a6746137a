// Promise: who does not answer is left alone in growing pauses, and asked at once after an answer.
import { SilentOnes } from './silent-ones.js';

let nowMs = 1_000;
const clock = { monotonicMs: () => nowMs, now: () => new Date(nowMs) };
const silentOnes = (options: { most: number; after: number }) => new SilentOnes(options, clock);

beforeEach(() => {
  nowMs = 1_000;
});

test('for half a minute, two, eight, then ten', () => {
  const ones = silentOnes({ most: 10, after: 1 });
  for (const pauseMs of [30_000, 120_000, 480_000, 600_000, 600_000]) {
    ones.noteSilent('a');
    nowMs += pauseMs - 1;
    expect([ones.isLeftAlone('a'), ones.leftAlone()]).toEqual([true, ['a']]);
    nowMs += 1;
    expect([ones.isLeftAlone('a'), ones.leftAlone()]).toEqual([false, []]);
  }
});

test('only after so many silences in a row', () => {
  const ones = silentOnes({ most: 10, after: 3 });
  for (const isAnswered of [true, false]) {
    ones.noteSilent('a');
    ones.noteSilent('a');
    expect(ones.isLeftAlone('a')).toBe(false);
    if (isAnswered) ones.noteHeard('a');
  }
  ones.noteSilent('a');
  expect(ones.isLeftAlone('a')).toBe(true);
});

test('an answer ends it at once, and the pauses begin anew', () => {
  const ones = silentOnes({ most: 10, after: 1 });
  ones.noteSilent('a');
  nowMs += 30_000;
  ones.noteSilent('a');
  ones.noteHeard('a');
  expect(ones.isLeftAlone('a')).toBe(false);
  ones.noteSilent('a');
  nowMs += 30_000;
  expect(ones.isLeftAlone('a')).toBe(false);
});

test('not more than there is room for, which those give back that are not asked any more', () => {
  const ones = silentOnes({ most: 2, after: 1 });
  for (const id of ['a', 'b', 'c']) ones.noteSilent(id);
  expect(ones.leftAlone()).toEqual(['a', 'b']);
  nowMs += 30_000 + 600_000;
  expect(ones.leftAlone()).toEqual([]);
  ones.noteSilent('c');
  expect(ones.leftAlone()).toEqual(['c']);
});
