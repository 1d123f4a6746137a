// Promise: a shift leads to its receipts, also to those of the second in which it was closed.
import { receiptsOfShift } from './receipts-of-shift.js';

test('from its first second to the end of its last', () => {
  const shift = { device_id: 'dev_1', opened_at: '2026-11-22T04:00:30.000Z', closed_at: '2026-11-22T18:50:59.000Z' };
  expect(receiptsOfShift(shift)).toEqual({
    device_id: 'dev_1',
    registered_from: '2026-11-22T04:00:30.000Z',
    registered_to: '2026-11-22T18:51:00.000Z',
  });
});
