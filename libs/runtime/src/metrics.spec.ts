// Promise: measuring how late a program is does not keep it awake.
import { setTimeout as delay } from 'node:timers/promises';
import { Metrics } from './metrics.js';

test('the delay of the event loop is measured ten times a second', async () => {
  const metrics = new Metrics('at-rest');
  await delay(500);
  const { text } = await metrics.read();
  const least = /^nodejs_eventloop_lag_min_seconds\{.*\} ([\d.e-]+)$/m.exec(text)?.[1];
  // Each sample says the time since the one before; by default it would be 0.01.
  expect(Number(least)).toBeGreaterThan(0.05);
  // Without a sample it would be hours.
  expect(Number(least)).toBeLessThan(60);
});
