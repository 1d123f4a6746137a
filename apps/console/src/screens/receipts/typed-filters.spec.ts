// Promise: what a person does not touch in the form stays the filter that it was, to the second.
import type { ReceiptFilters } from './receipt-filters.js';
import { toFilters, toTyped } from './typed-filters.js';

/** As a shift leads to its receipts. */
const shift: ReceiptFilters = {
  device_id: 'dev_1',
  registered_from: '2026-03-01T04:00:30.000Z',
  registered_to: '2026-03-01T18:50:12.500Z',
};

test('a further filter leaves the seconds of a shift as they are', () => {
  const typed = { ...toTyped(shift, 'ru'), type: 'refund', total_min: '4 500,50' };
  expect(toFilters(typed, shift)).toEqual({ ...shift, type: 'refund', total_min: '450050' });
});

test('a time that is typed anew counts from its minute, and one that is taken away is none', () => {
  const typed = { ...toTyped(shift, 'en'), registered_from: '2026-03-01T09:01', registered_to: '' };
  expect(toFilters(typed, shift)).toEqual({ device_id: 'dev_1', registered_from: '2026-03-01T04:01:00.000Z' });
});
