// Promise: how far a payment is from its document is known exactly, however large the sums.
import type { LocalReceiptRequest } from './local-api.js';
import { paymentGap, requestPaymentGap } from './payment-gap.js';

test.each([
  [0, 0, [800_000], 800_000n],
  [400_000, 400_000, [500_000, 300_000], 0n],
  [800_001, 0, [800_000], 1n],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, [Number.MAX_SAFE_INTEGER], 9_007_199_254_740_991n],
])('cash %p and card %p for %j', (cashTiyin, cardTiyin, totals, gap) => {
  expect(paymentGap({ cashTiyin, cardTiyin }, totals)).toBe(gap);
});

test('of a request, by the nets of its items', () => {
  const item = {
    name: 'Non',
    spic: '1',
    units: 796,
    price: 1_000,
    amount: 1_500,
    vatPercent: 0,
    vat: 0,
    discount: 100,
  };
  const request: LocalReceiptRequest = { type: 'sale', items: [item], received: { cash: 1_000, card: 0 } };
  expect(requestPaymentGap(request)).toBe(400n);
  expect(requestPaymentGap({ ...request, items: [{ ...item, price: 0 }] })).toBeNull();
});
