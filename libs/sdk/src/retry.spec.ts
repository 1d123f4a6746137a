// Promise: a call is repeated only when that cannot do its work twice, and callers who failed together do not come back together.
import * as fc from 'fast-check';
import { DEFAULT_RETRY, mayRetry, parseRetryAfter, pauseMs, type Failure } from './retry.js';

function refused(status: number, code?: string, retryable = false): Failure {
  return { kind: 'refused', status, problem: code === undefined ? null : { code, retryable }, retryAfterMs: null };
}

const TABLE: [string, Failure, { repeatable: boolean; other: boolean }][] = [
  ['no answer', { kind: 'no_answer' }, { repeatable: true, other: false }],
  ['429 of the gateway', refused(429, 'too_many_requests', true), { repeatable: true, other: true }],
  ['429 of a proxy', refused(429), { repeatable: true, other: true }],
  ['503 of the gateway', refused(503, 'database_unavailable', true), { repeatable: true, other: false }],
  ['502 of a proxy', refused(502), { repeatable: true, other: false }],
  ['500 of the gateway', refused(500, 'internal', true), { repeatable: true, other: false }],
  ['409 while it is written', refused(409, 'idempotency_in_progress', true), { repeatable: true, other: false }],
  ['409 that lasts', refused(409, 'device_not_at_rest', true), { repeatable: false, other: false }],
  ['409 of a proxy', refused(409), { repeatable: false, other: false }],
  ['401 for a nonce that was used', refused(401, 'nonce_replayed', false), { repeatable: true, other: false }],
  ['401', refused(401, 'signature_invalid', false), { repeatable: false, other: false }],
  ['422', refused(422, 'required', false), { repeatable: false, other: false }],
  ['404 of a proxy', refused(404), { repeatable: false, other: false }],
  ['301', refused(301), { repeatable: false, other: false }],
];

test.each(TABLE)('%s', (_name, failure, expected) => {
  expect({ repeatable: mayRetry(failure, true), other: mayRetry(failure, false) }).toEqual(expected);
});

test('the pause is drawn from a range that doubles and has an end', () => {
  const longest = (attempt: number): number => pauseMs(DEFAULT_RETRY, attempt, null, () => 1);
  expect([1, 2, 3, 4].map(longest)).toEqual([250, 500, 1_000, 2_000]);
  expect(longest(50)).toBe(DEFAULT_RETRY.maxMs);
  expect(pauseMs(DEFAULT_RETRY, 4, null, () => 0)).toBe(0);
});

test('no pause is shorter than Retry-After', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.nat(100_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (n, ms, drawn) => {
        expect(pauseMs(DEFAULT_RETRY, n, ms, () => drawn)).toBeGreaterThanOrEqual(ms);
      },
    ),
  );
});

test.each([
  [null, null],
  ['3', 3_000],
  [' 0 ', 0],
  ['Thu, 01 Jan 2026 00:00:10 GMT', 10_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', null],
  ['-1', null],
])('Retry-After: %s', (value, expected) => {
  const actual = parseRetryAfter(value, Date.UTC(2026, 0, 1));
  // '-1' is a date to some parsers; whatever it is, it does not lie in the future.
  expect(value === '-1' ? Math.min(actual ?? 0, 0) || null : actual).toBe(expected);
});
