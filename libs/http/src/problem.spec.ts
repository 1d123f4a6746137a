// Promise: every refusal is a complete RFC 9457 document with the code of its first fault (docs/errors.md).
import { PROBLEMS } from './problem-codes.js';
import { problemOf } from './problem-of.js';
import { pointerTo, Problem } from './problem.js';

test('a document has every member of the contract and nothing else', () => {
  expect(new Problem('not_found', 'There is no such receipt.').toDocument('req_1')).toEqual({
    type: 'urn:fiscal-gateway:problem:not_found',
    title: 'Not found',
    status: 404,
    detail: 'There is no such receipt.',
    code: 'not_found',
    retryable: false,
    request_id: 'req_1',
    errors: [],
  });
});

test('several faults: the first gives the code, the rules of the local API are named', () => {
  const problem = Problem.fromErrors([
    { pointer: '/items/0/spic', code: 'E-013', detail: 'spic is unknown' },
    { pointer: '/payment', code: 'payment_mismatch', detail: 'off by one' },
  ]);
  expect(problem.code).toBe('E-013');
  expect(problem.status).toBe(422);
  expect(problem.errors[0]?.rule).toBe('ITEM_SPIC_NOT_IN_TASNIF');
  expect(problem.detail).toContain('1 more');
});

test('a code that only a foreign register knows still becomes a 422', () => {
  const problem = Problem.fromErrors([{ pointer: '', code: 'X-999', detail: 'no' }]);
  expect([problem.code, problem.status, problem.errors[0]?.code]).toEqual(['receipt_refused', 422, 'X-999']);
});

test('what may work later says when', () => {
  expect(new Problem('database_unavailable').headers).toEqual({ 'retry-after': '5' });
  expect(new Problem('no_device', 'x', { headers: { 'Retry-After': '7' } }).headers).toEqual({ 'retry-after': '7' });
});

test('the catalogue keeps the contract: 400 is never about content, E-codes are 422 with a rule', () => {
  for (const [code, kind] of Object.entries(PROBLEMS)) {
    expect(kind.status).toBeGreaterThanOrEqual(400);
    if (code.startsWith('E-')) expect(kind).toMatchObject({ status: 422, rule: expect.stringMatching(/^[A-Z_]+$/) });
    if (kind.status === 503 || kind.status === 429)
      expect(kind).toMatchObject({ retryAfterSeconds: expect.any(Number) });
  }
});

test('an unexpected error reveals nothing to the caller', () => {
  const problem = problemOf(new Error('password=hunter2'));
  expect([problem.code, problem.status]).toEqual(['internal', 500]);
  expect(JSON.stringify(problem.toDocument('r'))).not.toContain('hunter2');
});

test('a lost database is 503 wherever it is noticed', () => {
  expect(problemOf(Object.assign(new Error('x'), { code: 'P1017' })).code).toBe('database_unavailable');
});

test('pointers are escaped as RFC 6901 says', () => {
  expect(pointerTo(['metadata', 'a/b~c', 0])).toBe('/metadata/a~1b~0c/0');
});
