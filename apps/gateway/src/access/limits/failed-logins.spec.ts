// Promise: guessing is slowed down wherever it comes from, and no client waits for the failures of another.
import { FailedLogins, FailedTokens, type JudgedAttempt, type LoginAttempt } from './failed-logins.js';
import { LoginTurns } from './login-turns.js';
import { MemoryBuckets } from './token-bucket.js';

const RATE = { requests: 3, seconds: 30 };
const VICTIM = 'cli_victim';

function limited(): { logins: FailedLogins; pass: (ms: number) => void } {
  const at = { ms: 1_000 };
  const clock = { now: () => new Date(at.ms), monotonicMs: () => at.ms };
  const logins = new FailedLogins(
    { rate: RATE, buckets: new MemoryBuckets(RATE, clock) },
    'login',
    new LoginTurns(60_000),
  );
  return { logins, pass: (ms) => void (at.ms += ms) };
}

const from = (address: string, clientId = VICTIM): LoginAttempt => ({ clientId, address });

/** How many wrong attempts in a row were checked. */
async function guess(logins: FailedLogins, attempts: readonly LoginAttempt[]): Promise<number> {
  let checked = 0;
  for (const attempt of attempts) {
    await logins.judge(attempt, () => {
      checked += 1;
      return Promise.resolve(null);
    });
  }
  return checked;
}

test('one address guesses no faster than the limit; the announced wait is enough and not too long', async () => {
  const { logins, pass } = limited();
  const here = from('192.0.2.1');
  expect(
    await guess(
      logins,
      Array.from({ length: 50 }, () => here),
    ),
  ).toBe(3);
  expect(await logins.mayTry(here)).toEqual({ kind: 'wait', retryInMs: 10_000 });
  pass(9_999);
  expect((await logins.mayTry(here)).kind).toBe('wait');
  pass(1);
  // It had its burst: from then on one by one, as long as the client's and the address's buckets are empty too.
  expect(await logins.mayTry(here)).toEqual({ kind: 'open' });
  expect(await guess(logins, [here, here])).toBe(1);
});

test('a client that was never wrong here is always checked: by strangers from elsewhere, and by neighbours at the same address', async () => {
  const { logins } = limited();
  await guess(
    logins,
    Array.from({ length: 100 }, (_, at) => from(`198.51.100.${at}`)),
  );
  await guess(
    logins,
    Array.from({ length: 100 }, (_, at) => from('192.0.2.1', `cli_${at}`)),
  );
  expect(await logins.mayTry(from('192.0.2.2'))).toEqual({ kind: 'open' });
  expect(await logins.mayTry(from('192.0.2.1', 'cli_honest'))).toEqual({ kind: 'open' });
  // One slip of one's own, in the middle of it: a wait of one failure, however many others there were.
  await guess(logins, [from('192.0.2.2')]);
  expect(await logins.mayTry(from('192.0.2.2'))).toEqual({ kind: 'wait', retryInMs: 10_000 });
});

test('spread over addresses each has one guess, and is answered with a wait', async () => {
  const { logins } = limited();
  const many = Array.from({ length: 60 }, (_, at) => from(`198.51.100.${at % 20}`));
  expect(await guess(logins, many)).toBeLessThanOrEqual(20 + RATE.requests);
  const judged = await logins.judge(from('203.0.113.1'), () => Promise.resolve(null));
  expect(judged).toMatchObject({ kind: 'wrong', answer: { kind: 'wait' }, isSpent: true });
});

test('attempts at the same moment are checked as often as one after the other; right ones leave nothing behind', async () => {
  const { logins } = limited();
  const begin = (attempt: LoginAttempt): ReturnType<FailedLogins['begin']> => logins.begin(attempt);
  const kindsOf = (begun: Awaited<ReturnType<typeof begin>>[]): string[] => begun.map(({ verdict }) => verdict.kind);
  const right = await begin(from('192.0.2.9'));
  await logins.forgive(right);
  for (const begun of [await begin(from('192.0.2.9')), await begin(from('192.0.2.9'))]) await logins.forgive(begun);
  const burst = await Promise.all(Array.from({ length: 20 }, () => begin(from('192.0.2.1'))));
  expect(kindsOf(burst).filter((kind) => kind === 'open')).toHaveLength(3);
  // Under attack another address has one guess, however many it makes at once, and a right one gives back no more than it took.
  const other = await Promise.all([1, 2, 3].map(() => begin(from('192.0.2.2'))));
  expect(kindsOf(other)).toEqual(['open', 'wait', 'wait']);
  for (let index = 0; index < 5; index += 1) await logins.forgive(await begin(from('192.0.2.2', 'cli_other')));
  const third = await Promise.all([1, 2, 3].map(() => begin(from('192.0.2.3'))));
  expect(kindsOf(third)).toEqual(['open', 'wait', 'wait']);
});

test('of a program’s burst as many wrong ones are checked, and every right one, also under attack', async () => {
  const { logins } = limited();
  const burst = (address: string, size: number, isRight: boolean): Promise<JudgedAttempt<true>[]> => {
    const check = async (): Promise<true | null> => {
      await new Promise((resolve) => void setImmediate(resolve));
      return isRight ? true : null;
    };
    return Promise.all(Array.from({ length: size }, () => logins.judge(from(address), check)));
  };
  const kindsOf = (judged: JudgedAttempt<true>[]): string[] => [...new Set(judged.map(({ kind }) => kind))];
  expect(kindsOf(await burst('192.0.2.9', 50, true))).toEqual(['proven']);
  const wrong = await burst('192.0.2.1', 50, false);
  expect(wrong.filter(({ kind }) => kind === 'wrong')).toHaveLength(3);
  expect(wrong.filter(({ kind }) => kind === 'wait')).toHaveLength(47);
  // Nothing is left for strangers; the caller that was never wrong is checked one at a time.
  expect(kindsOf(await burst('192.0.2.9', 50, true))).toEqual(['proven']);
  // What cannot be checked does not count.
  const broken = logins.judge(from('192.0.2.9'), () => Promise.reject(new Error('no database')));
  await expect(broken).rejects.toThrow('no database');
  expect(kindsOf(await burst('192.0.2.9', 5, true))).toEqual(['proven']);
});

test('a subscriber of IPv6 is one address', async () => {
  const { logins } = limited();
  const addresses = Array.from({ length: 20 }, (_, at) => from(`2001:db8::${at.toString(16)}`));
  expect(await guess(logins, addresses)).toBe(3);
});

test('wrong tokens: per address, in its own buckets', async () => {
  const clock = { now: () => new Date(), monotonicMs: () => 1_000 };
  const tokens = new FailedTokens({ rate: RATE, buckets: new MemoryBuckets(RATE, clock) });
  const kinds = [];
  for (let at = 0; at < 4; at += 1) kinds.push((await tokens.begin('token', '192.0.2.1')).kind);
  expect(kinds).toEqual(['open', 'open', 'open', 'wait']);
  expect((await tokens.begin('token', '192.0.2.2')).kind).toBe('open');
});

test('no limit, no wait', async () => {
  const logins = new FailedLogins(null);
  expect(
    await guess(
      logins,
      Array.from({ length: 100 }, () => from('192.0.2.1')),
    ),
  ).toBe(100);
});
