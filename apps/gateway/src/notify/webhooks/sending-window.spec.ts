// Promise: a receiver gets as many requests at the same time as it answers well, and half as many as soon as it does not.
import { MAX_CONCURRENCY, SendingWindow } from './sending-window.js';

/** A round trip of all that may be under way. */
function round(window: SendingWindow, isWell: (index: number) => boolean): void {
  const tickets = Array.from({ length: window.size }, () => window.begin());
  tickets.forEach((ticket, index) => {
    if (isWell(index)) window.wentWell();
    else window.wasTooMuch(ticket);
  });
}

test('one more each round, up to a bound', () => {
  const window = new SendingWindow(8);
  const sizes = [0, 1, 2, 3].map(() => {
    round(window, () => true);
    return window.size;
  });
  expect(sizes).toEqual([8, 9, 10, 11]);
  for (let rounds = 0; rounds < 200; rounds += 1) round(window, () => true);
  expect(window.size).toBe(MAX_CONCURRENCY);
});

test('a round that fails as a whole halves it once, and never below one', () => {
  const window = new SendingWindow(40);
  const sizes = [0, 1, 2, 3, 4, 5, 6].map(() => {
    round(window, () => false);
    return window.size;
  });
  expect(sizes).toEqual([20, 10, 5, 2, 1, 1, 1]);
});

test('settles below what a receiver can take', () => {
  const window = new SendingWindow(8);
  const sizes: number[] = [];
  for (let rounds = 0; rounds < 300; rounds += 1) {
    round(window, (index) => index < 20);
    sizes.push(window.size);
  }
  expect(Math.max(...sizes.slice(50))).toBeLessThanOrEqual(22);
  expect(Math.min(...sizes.slice(50))).toBeGreaterThanOrEqual(10);
});

test('a size out of bounds is brought within the bounds', () => {
  expect([new SendingWindow(0).size, new SendingWindow(1_000).size]).toEqual([1, MAX_CONCURRENCY]);
});
