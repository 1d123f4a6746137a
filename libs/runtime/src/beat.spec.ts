// Promise: loops of one process with the same pause wake together, whenever their rounds began, and rest after one that took long.
import { setTimeout as delay } from 'node:timers/promises';
import { untilBeat } from './beat.js';
import { createLogger } from './logger.js';
import { Periodic } from './periodic.js';

const MOMENTS = Array.from({ length: 200 }, (_, n) => 1_000_000 + n * 37.3);

test.each([500, 1_000, 2_000, 5_000])(
  'every %d ms: moments are whole pauses apart, and at least half a pause away',
  (everyMs) => {
    const wakes = MOMENTS.map((nowMs) => nowMs + untilBeat(everyMs, nowMs));
    const different = [...new Set(wakes.map(Math.round))].sort((a, b) => a - b);
    for (const [at, wake] of different.entries()) if (at > 0) expect(wake - (different[at - 1] ?? 0)).toBe(everyMs);
    for (const [at, nowMs] of MOMENTS.entries()) {
      expect((wakes[at] ?? 0) - nowMs).toBeGreaterThanOrEqual(everyMs / 2);
      expect((wakes[at] ?? 0) - nowMs).toBeLessThanOrEqual(everyMs * 1.5);
    }
  },
);

test('the longer pauses end on beats of the shorter ones', () => {
  const nowMs = MOMENTS[0] ?? 0;
  const beatMs = nowMs + untilBeat(500, nowMs);
  for (const everyMs of [1_000, 2_000, 5_000]) {
    const beats = (nowMs + untilBeat(everyMs, nowMs) - beatMs) / 500;
    expect(beats).toBeCloseTo(Math.round(beats), 6);
  }
});

test('a timer that rang a little early does not ring once more for the same beat', () => {
  const nowMs = MOMENTS[0] ?? 0;
  const beatMs = nowMs + untilBeat(500, nowMs);
  expect(untilBeat(500, beatMs - 1)).toBeCloseTo(501, 3);
});

test('loops on the beat begin their rounds together, whenever they were started', async () => {
  const begunMs: [number[], number[]] = [[], []];
  const loops = begunMs.map((rounds, n) => {
    const run = (): Promise<void> => {
      rounds.push(performance.now());
      return Promise.resolve();
    };
    return new Periodic({ name: String(n), everyMs: 500, isOnBeat: true, run }, createLogger('test', 'silent'));
  });
  for (const loop of loops) {
    loop.start();
    await delay(130);
  }
  while (begunMs.some((rounds) => rounds.length < 4)) await delay(10);
  await Promise.all(loops.map((loop) => loop.stop()));
  const [first, second] = begunMs;
  // Both are as late as the machine is.
  for (const ms of second.slice(1, 4)) expect(Math.min(...first.map((other) => Math.abs(other - ms)))).toBeLessThan(50);
});
