// Promise: a limit lets through what it promises, no more and no less, and says truly when to come again.
import fc from 'fast-check';
import { parseRate } from '../../http/rate.js';
import { MemoryBuckets, takeFromBucket } from './token-bucket.js';

class FakeClock {
  ms = 1_000;
  now(): Date {
    return new Date(this.ms);
  }
  monotonicMs(): number {
    return this.ms;
  }
}

test('a full bucket at once, then as fast as it fills', () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ requests: 5, seconds: 10 }, clock);
  const take = (): boolean => buckets.take('a').isAllowed;
  expect(Array.from({ length: 6 }, take)).toEqual([true, true, true, true, true, false]);
  expect(buckets.take('b').isAllowed).toBe(true);
  clock.ms += 1_999;
  expect(take()).toBe(false);
  clock.ms += 1;
  expect([take(), take()]).toEqual([true, false]);
  clock.ms += 60_000;
  expect(Array.from({ length: 6 }, take)).toEqual([true, true, true, true, true, false]);
});

test('says what is left and when there is more', () => {
  const clock = new FakeClock();
  const buckets = new MemoryBuckets({ requests: 2, seconds: 10 }, clock);
  expect(buckets.take('a')).toEqual({ isAllowed: true, remaining: 1, fullInMs: 5_000, retryInMs: 0 });
  expect(buckets.take('a')).toEqual({ isAllowed: true, remaining: 0, fullInMs: 10_000, retryInMs: 0 });
  clock.ms += 1_000;
  expect(buckets.take('a')).toEqual({ isAllowed: false, remaining: 0, fullInMs: 9_000, retryInMs: 4_000 });
});

test('a caller that waits as long as announced gets through, and never more than the rate allows', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 }),
      (requests, seconds, pauses) => {
        const rate = { requests, seconds };
        let now = 0;
        let fullAt = 0;
        let allowed = 0;
        for (const pause of pauses) {
          now += pause;
          const taken = takeFromBucket(rate, now, fullAt);
          fullAt = taken.fullAt;
          if (taken.verdict.isAllowed) {
            allowed += 1;
            continue;
          }
          const later = takeFromBucket(rate, now + taken.verdict.retryInMs + 1e-6, fullAt);
          expect(later.verdict.isAllowed).toBe(true);
        }
        expect(allowed).toBeLessThanOrEqual(requests + (now / (seconds * 1_000)) * requests + 1e-6);
      },
    ),
  );
});

test.each([
  ['off', null],
  ['600/60', { requests: 600, seconds: 60 }],
])('reads %s', (text, rate) => {
  expect(parseRate(text)).toEqual(rate);
});

test.each(['', '0', '10', '0/1', '1/0', '1.5/1', '-1/1', '10/s', ' 1/1', '9999999999/1'])('refuses "%s"', (text) => {
  expect(() => parseRate(text)).toThrow('off or REQUESTS/SECONDS');
});
