// Promise: a problem has the code of its first fault and names all of them, and when trying again makes sense (docs/errors.md).
import { PROBLEMS } from './problem-codes.js';
import { pointerTo, Problem } from './problem.js';

test('several faults: the first gives the code, the rules of the local API are named', () => {
  const problem = Problem.fromErrors([
    { pointer: '/items/0/spic', code: 'E-013', detail: 'spic is unknown' },
    { pointer: '/payment', code: 'payment_mismatch', detail: 'off by one' },
  ]);
  expect(problem.code).toBe('E-013');
  expect(problem.isRefusal).toBe(true);
  expect(problem.errors[0]?.rule).toBe('ITEM_SPIC_NOT_IN_TASNIF');
  expect(problem.detail).toContain('1 more');
});

test('a code that only a foreign register knows still becomes a 422', () => {
  const problem = Problem.fromErrors([{ pointer: '', code: 'X-999', detail: 'no' }]);
  expect([problem.code, problem.isRefusal, problem.errors[0]?.code]).toEqual(['receipt_refused', true, 'X-999']);
});

test('what may work later says when', () => {
  expect(new Problem('database_unavailable').retryAfterSeconds).toBe(5);
  expect(new Problem('no_device', 'x', { retryAfterSeconds: 7 }).retryAfterSeconds).toBe(7);
  expect(new Problem('not_found').retryAfterSeconds).toBeNull();
});

test('the catalogue keeps the contract: 400 is never about content, E-codes are 422 with a rule', () => {
  for (const [code, kind] of Object.entries(PROBLEMS)) {
    expect(kind.status).toBeGreaterThanOrEqual(400);
    if (code.startsWith('E-')) expect(kind).toMatchObject({ status: 422, rule: expect.stringMatching(/^[A-Z_]+$/) });
    if (kind.status === 503 || kind.status === 429)
      expect(kind).toMatchObject({ retryAfterSeconds: expect.any(Number) });
  }
});

test('pointers are escaped as RFC 6901 says', () => {
  expect(pointerTo(['metadata', 'a/b~c', 0])).toBe('/metadata/a~1b~0c/0');
});
