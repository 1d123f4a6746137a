// Promise: every refusal is a complete RFC 9457 document with its headers, and discloses nothing else (docs/errors.md).
import { Problem, problemOf } from '#problems';
import { headersOf, HttpProblem, problemDocument, statusOf } from './problem-answer.js';

test('a document has every member of the contract and nothing else', () => {
  expect(problemDocument(new Problem('not_found', 'There is no such receipt.'), 'req_1')).toEqual({
    type: '/docs/problems/not_found',
    title: 'Not found',
    status: 404,
    detail: 'There is no such receipt.',
    code: 'not_found',
    retryable: false,
    request_id: 'req_1',
    errors: [],
  });
});

test('an unexpected error reveals nothing to the caller', () => {
  const problem = problemOf(new Error('password=hunter2'));
  expect([problem.code, statusOf(problem)]).toEqual(['internal', 500]);
  expect(JSON.stringify(problemDocument(problem, 'r'))).not.toContain('hunter2');
});

test('a lost database is 503 wherever it is noticed', () => {
  expect(problemOf(Object.assign(new Error('x'), { code: 'P1017' })).code).toBe('database_unavailable');
});

test('headers: those of the problem beside the time of a repetition', () => {
  const problem = new HttpProblem('too_many_requests', 'x', { allow: 'POST' }, { retryAfterSeconds: 9 });
  expect(headersOf(problem)).toEqual({ 'retry-after': '9', allow: 'POST' });
  expect(headersOf(new Problem('database_unavailable'))).toEqual({ 'retry-after': '5' });
  expect(headersOf(new Problem('not_found'))).toEqual({});
});
