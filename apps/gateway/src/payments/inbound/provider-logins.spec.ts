// Promise: guesses of a provider's password are bounded however many come at once, and a provider that is right is never refused for their number.
import { createLogger } from '#runtime';
import { CallerLogins } from '../../access/limits/failed-logins.js';
import { MemoryBuckets } from '../../access/limits/token-bucket.js';
import { ProviderLogins } from './provider-logins.js';

const RATE = { requests: 3, seconds: 3_600 };
const HERE = { accountId: 'pac_1', address: '192.0.2.1' };

function limited(): { logins: ProviderLogins; call: (isRight: boolean) => Promise<boolean> } {
  const clock = { now: () => new Date(1_000), monotonicMs: () => 1_000 };
  const logins = new ProviderLogins(
    new CallerLogins({ rate: RATE, buckets: new MemoryBuckets(RATE, clock) }),
    createLogger('test', 'fatal', { write: () => undefined }),
  );
  /** @returns whether the password was checked */
  const call = async (isRight: boolean): Promise<boolean> => {
    const begun = await logins.begin(HERE);
    // The answer takes a moment, in which all the others arrive.
    await new Promise((resolve) => setImmediate(resolve));
    await logins.end(HERE, begun, isRight ? 'right' : 'wrong');
    return !begun.isHeldBack;
  };
  return { logins, call };
}

const calls = (count: number, call: (isRight: boolean) => Promise<boolean>, isRight: boolean): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, () => call(isRight)));

test('a burst of guesses is checked as often as one after the other', async () => {
  const { call } = limited();
  const checked = await calls(50, call, false);
  expect(checked.filter(Boolean)).toHaveLength(RATE.requests);
  // Then the right one is held back as well, from this address.
  expect(await call(true)).toBe(false);
});

test('a burst of right calls is answered whole, also the first after a start', async () => {
  const { call } = limited();
  expect(await calls(200, call, true)).not.toContain(false);
  expect(await calls(200, call, true)).not.toContain(false);
});

test('a caller that was right and then guesses has no more guesses than the others', async () => {
  const { call } = limited();
  await call(true);
  const checked = [];
  for (let guess = 0; guess < 20; guess += 1) checked.push(await call(false));
  expect(checked.filter(Boolean)).toHaveLength(RATE.requests);
});

test('what was not checked counts neither way', async () => {
  const { logins, call } = limited();
  for (let nth = 0; nth < 20; nth += 1) await logins.end(HERE, await logins.begin(HERE), 'unclear');
  expect((await calls(50, call, false)).filter(Boolean)).toHaveLength(RATE.requests);
});
