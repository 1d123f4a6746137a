// Promise: a request id never carries text that could break a log line or a header, and is never absent.
import { requestIdOf } from './request-id.js';

test('takes a sane id of the caller', () => {
  expect(requestIdOf({ 'x-request-id': 'erp-2026:00017' })).toBe('erp-2026:00017');
});

test.each([undefined, '', 'short', 'has space inside', 'evil"quote-here', 'x'.repeat(129), '-leading-mark'])(
  'replaces %p',
  (given) => {
    expect(requestIdOf({ 'x-request-id': given })).toMatch(/^req_[0-9a-z]{26}$/);
  },
);
