// However many hints come without a signature, a payment's status is read once in five seconds, and after the last of them.
import { HintPace } from './hint-pace.js';

it('reads at once, once more after five seconds, and drops what that reading sees as well', () => {
  const pace = new HintPace();
  const turns = [0, 1_000, 2_000, 4_999].map((nowMs) => pace.turn('pay_1', nowMs));
  expect(turns).toEqual([{ kind: 'now' }, { kind: 'later', inMs: 4_000 }, { kind: 'dropped' }, { kind: 'dropped' }]);
  expect(pace.turn('pay_1', 10_000)).toEqual({ kind: 'now' });
  expect(pace.turn('pay_2', 1_000)).toEqual({ kind: 'now' });
});

it('knows so many payments and no more, until their time has passed', () => {
  const pace = new HintPace();
  for (let order = 0; order < 10_000; order += 1) pace.turn(`pay_${String(order)}`, 0);
  expect(pace.turn('pay_more', 4_999)).toEqual({ kind: 'full' });
  expect(pace.turn('pay_more', 5_000)).toEqual({ kind: 'now' });
});

it('has at most so many readings as five seconds have passed, however the hints are spread', () => {
  const pace = new HintPace();
  const readings: number[] = [];
  for (let nowMs = 0; nowMs < 60_000; nowMs += 7) {
    const turn = pace.turn('pay_1', nowMs);
    if (turn.kind === 'now') readings.push(nowMs);
    if (turn.kind === 'later') readings.push(nowMs + turn.inMs);
  }
  expect(readings.slice(1).every((atMs, index) => atMs - (readings[index] ?? 0) >= 5_000)).toBe(true);
  expect(readings).toHaveLength(13);
});
