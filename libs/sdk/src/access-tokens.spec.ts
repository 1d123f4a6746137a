// Promise: one token serves all calls, a new one comes before the old one ends, and a failed renewal costs nothing while the old one lives.
import { accessTokensOf, type AccessTokens } from './access-tokens.js';
import type { AccessToken } from './options.js';

let nowMs = 0;
let answers: (() => Promise<AccessToken>)[] = [];
let asked = 0;

function newTokens(): AccessTokens {
  nowMs = 0;
  asked = 0;
  answers = [];
  const bring = (): Promise<AccessToken> => {
    asked += 1;
    return answers.shift()?.() ?? Promise.resolve({ accessToken: `token-${asked}`, expiresIn: 900 });
  };
  return accessTokensOf(
    bring,
    'https://gateway.example/oauth/token',
    () => Promise.reject(new Error('not used')),
    () => nowMs,
  );
}

const failing = (): Promise<AccessToken> => Promise.reject(new Error('away'));
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one request for all who wait, and none while it is fresh', async () => {
  const tokens = newTokens();
  await expect(Promise.all([tokens.get(), tokens.get(), tokens.get()])).resolves.toEqual(Array(3).fill('token-1'));
  nowMs = 719_000;
  await expect(tokens.get()).resolves.toBe('token-1');
  expect(asked).toBe(1);
});

test('after four fifths of its life the next one is fetched beside the calls', async () => {
  const tokens = newTokens();
  await tokens.get();
  nowMs = 721_000;
  await expect(tokens.get()).resolves.toBe('token-1');
  await settled();
  await expect(tokens.get()).resolves.toBe('token-2');
});

test('a renewal that fails is repeated by the next call, and stops no call before the end', async () => {
  const tokens = newTokens();
  await tokens.get();
  answers = [failing, failing];
  nowMs = 721_000;
  await expect(tokens.get()).resolves.toBe('token-1');
  await settled();
  nowMs = 901_000;
  await expect(tokens.get()).rejects.toThrow('away');
  await expect(tokens.get()).resolves.toBe('token-4');
});

test('a token that the gateway refused is not used again; the one after it stays', async () => {
  const tokens = newTokens();
  await tokens.get();
  tokens.forget('token-1');
  await expect(tokens.get()).resolves.toBe('token-2');
  tokens.forget('token-1');
  await expect(tokens.get()).resolves.toBe('token-2');
});

test('who aborts stops waiting, and takes nothing from the others', async () => {
  const tokens = newTokens();
  const stop = new AbortController();
  const waiting = tokens.get(stop.signal);
  const other = tokens.get();
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(other).resolves.toBe('token-1');
});
