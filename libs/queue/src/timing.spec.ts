/** Promise at stake: whatever hangs in the queue, closing and checking end in time. */
import { Pause, TimedOutError, within } from './timing.js';

const never = new Promise<never>(() => undefined);

test('within passes on what came in time, value or error', async () => {
  await expect(within(Promise.resolve(7), 60_000, 'it')).resolves.toBe(7);
  await expect(within(Promise.reject(new Error('own')), 60_000, 'it')).rejects.toThrow('own');
});

test('within gives up after the time, and at once when it is aborted', async () => {
  await expect(within(never, 5, 'connecting')).rejects.toThrow(TimedOutError);
  const stop = new AbortController();
  const waiting = within(never, 600_000, 'connecting', stop.signal);
  stop.abort();
  await expect(waiting).rejects.toThrow('given up');
  await expect(within(never, 600_000, 'connecting', stop.signal)).rejects.toThrow('given up');
});

test('a pause is cut short from outside, also by a cut made before it began', async () => {
  const pause = new Pause();
  const sleeping = pause.sleep(600_000);
  pause.cut();
  await sleeping;
  pause.cut();
  await pause.sleep(600_000);
});
