// Promise: however often metrics are scraped, and however long a reading takes, the database is read a twentieth of the time at most.
import { FreshReading } from './fresh-reading.js';

let nowMs = 0;
let readings = 0;
let tookMs = 0;

function newReading(): FreshReading<number> {
  return new FreshReading(
    () => {
      readings += 1;
      nowMs += tookMs;
      return tookMs < 0 ? Promise.reject(new Error('away')) : Promise.resolve(readings);
    },
    () => nowMs,
  );
}

beforeEach(() => {
  [nowMs, readings, tookMs] = [0, 0, 0];
});

test('one reading for all who ask within five seconds', async () => {
  const reading = newReading();
  expect([await reading.get(), await reading.get()]).toEqual([1, 1]);
  nowMs += 4_999;
  expect(await reading.get()).toBe(1);
  nowMs += 1;
  expect(await reading.get()).toBe(2);
});

test('a reading of a second is used for twenty', async () => {
  const reading = newReading();
  tookMs = 1_000;
  await reading.get();
  nowMs = 19_999;
  expect(await reading.get()).toBe(1);
  nowMs = 20_000;
  expect(await reading.get()).toBe(2);
});

test('a reading that failed is made again after five seconds', async () => {
  const reading = newReading();
  tookMs = -1;
  await expect(reading.get()).rejects.toThrow('away');
  tookMs = 0;
  nowMs += 5_001;
  expect(await reading.get()).toBe(2);
});

test('a reading that takes too long is left out of the scrapes meanwhile; what it brings is shown by a later one', async () => {
  let end: (value: number) => void = () => undefined;
  const slow = new FreshReading(
    () => {
      readings += 1;
      return new Promise<number>((resolve) => (end = resolve));
    },
    () => nowMs,
    20,
  );
  expect(await slow.get()).toBeNull();
  nowMs = 4_999;
  expect(await slow.get()).toBeNull();
  end(7);
  expect(await slow.get()).toBe(7);
  expect(readings).toBe(1);
});

test('a reading that took long and brought nothing is made again after a minute: the database may be back, or too busy for it', async () => {
  let brings: number | null = null;
  const reading = new FreshReading(
    () => {
      nowMs += 15_000;
      return Promise.resolve(brings);
    },
    () => nowMs,
  );
  expect(await reading.get()).toBeNull();
  brings = 7;
  nowMs += 44_999;
  expect(await reading.get()).toBeNull();
  nowMs += 1;
  expect(await reading.get()).toBe(7);
});
