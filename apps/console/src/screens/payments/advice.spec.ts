// Promise: no difference is said to mend itself where only a person goes on.
import { adviceFor } from './advice.js';

test('money that only a person gets back is not said to be asked for', () => {
  const one = { kind: 'refund_open', receipt_status: 'registered' } as const;
  expect(adviceFor({ ...one, next_actor: 'gateway' })).toBe('refund_open');
  expect(adviceFor({ ...one, next_actor: 'operator' })).toBe('refund_by_person');
  // There the receipt is decided on first.
  expect(adviceFor({ ...one, next_actor: 'operator', receipt_status: 'unknown' })).toBe('refund_open');
});

test('every other kind has its own', () => {
  const one = { receipt_status: 'registered', next_actor: 'operator' } as const;
  expect(adviceFor({ ...one, kind: 'manual' })).toBe('manual');
  expect(adviceFor({ ...one, kind: 'document_missing' })).toBe('document_missing');
});
