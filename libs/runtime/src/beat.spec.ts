// Promise: loops of one process with the same pause wake together, whenever their rounds began and however long these took.
import { untilBeat } from './beat.js';

const MOMENTS = Array.from({ length: 200 }, (_, n) => 1_000_000 + n * 37.3);

test.each([500, 1_000, 2_000, 5_000])(
  'every %d ms: all who ask within one pause get the same moment',
  (everyMs) => {
    const wakes = MOMENTS.map((nowMs) => nowMs + untilBeat(everyMs, nowMs));
    const different = [...new Set(wakes.map(Math.round))].sort((a, b) => a - b);
    for (const [at, wake] of different.entries()) if (at > 0) expect(wake - (different[at - 1] ?? 0)).toBe(everyMs);
    for (const [at, nowMs] of MOMENTS.entries()) {
      expect((wakes[at] ?? 0) - nowMs).toBeGreaterThan(0);
      expect((wakes[at] ?? 0) - nowMs).toBeLessThanOrEqual(everyMs + 20);
    }
  },
);

test('every second of the shorter pauses ends with the longer one', () => {
  const [short, long] = [500, 1_000].map(
    (everyMs) => new Set(MOMENTS.map((nowMs) => Math.round(nowMs + untilBeat(everyMs, nowMs)))),
  );
  const shared = [...(long ?? [])].filter((wake) => short?.has(wake));
  expect(shared.length).toBeGreaterThanOrEqual((long?.size ?? 0) - 1);
});

test('a timer that rang a little early does not ring once more for the same beat', () => {
  const nowMs = MOMENTS[0] ?? 0;
  const beatMs = nowMs + untilBeat(500, nowMs);
  expect(untilBeat(500, beatMs - 1)).toBeCloseTo(501, 3);
});
