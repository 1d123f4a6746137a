// Promise: a refund asks for what was typed, digit by digit, and never for more than is left.
import { EMPTY_REFUND, refundBody, type Left } from './refund-body.js';

const LEFT: Left = {
  total: 150_000,
  vat_total: 16_071,
  lines: [
    { line: 1, qty: 2.5, total: 100_000, vat: 10_714, labels: [] },
    { line: 2, qty: 1, total: 50_000, vat: 5_357, labels: ['0104600'] },
  ],
};

test('all that is left is an empty body', () => {
  expect(refundBody(EMPTY_REFUND, LEFT)).toEqual({ body: {}, faults: {} });
  expect(refundBody({ ...EMPTY_REFUND, method: 'cash', externalId: ' r-1 ' }, LEFT).body).toEqual({
    payment: { method: 'cash' },
    external_id: 'r-1',
  });
});

test('quantities stay text', () => {
  const draft = { ...EMPTY_REFUND, mode: 'qty' as const, parts: { 1: '0,125', 2: '1' }, labels: { 2: ['0104600'] } };
  expect(refundBody(draft, LEFT).body).toEqual({
    lines: [
      { line: 1, qty: '0.125' },
      { line: 2, qty: '1', labels: ['0104600'] },
    ],
  });
});

test.each(['2.501', '0', '-1', 'two', '1e1', '0.0001'])('the quantity %s is refused at its line', (typed) => {
  const judged = refundBody({ ...EMPTY_REFUND, mode: 'qty', parts: { 1: typed } }, LEFT);
  expect(judged).toEqual({ body: null, faults: { 1: 'badQty' } });
});

test('sums are so‘m with two digits, and no more than is left', () => {
  const by = (typed: string) => refundBody({ ...EMPTY_REFUND, mode: 'sum', parts: { 2: typed } }, LEFT);
  expect(by('19,99').body).toEqual({ lines: [{ line: 2, sum: 1_999 }] });
  expect(by('500').body).toEqual({ lines: [{ line: 2, sum: 50_000 }] });
  expect(by('500.01').faults).toEqual({ 2: 'badSum' });
  expect(by('').body).toBeNull();
});
