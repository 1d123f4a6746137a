// Payme's receipts are read as its documents have them: another currency is never paid, a state that no table has is under way.
import { paymeReceiptStatus } from './payme.transform.js';

const RECEIPT = {
  _id: '62da82a4e1c8f7f3d6f5b0a1',
  state: 4,
  amount: 150_050,
  currency: 860,
  pay_time: 1_712_345_678_000,
};

it.each([
  ['paid', RECEIPT, { status: 'captured', amountTiyin: 150_050 }],
  ['held', { ...RECEIPT, state: 5 }, { status: 'authorized' }],
  ['paid, its currency as text', { ...RECEIPT, currency: '860' }, { status: 'captured' }],
  ['paid, without a currency', { ...RECEIPT, currency: undefined }, { status: 'captured' }],
  ['paid in another currency', { ...RECEIPT, currency: 840 }, { status: 'manual' }],
  ['held in another currency', { ...RECEIPT, state: 5, currency: 840 }, { status: 'manual' }],
  ['paid in what cannot be read', { ...RECEIPT, currency: {} }, { status: 'manual' }],
  ['cancelled after it was paid', { ...RECEIPT, state: 50 }, { status: 'refunded', refundedTiyin: 150_050 }],
  ['cancelled unpaid', { ...RECEIPT, state: 50, pay_time: 0 }, { status: 'voided', refundedTiyin: null }],
  ['a state of a later version', { ...RECEIPT, state: 99 }, { status: 'in_flight' }],
])('%s', (_name, receipt, expected) => {
  expect(paymeReceiptStatus(receipt)).toMatchObject(expected);
});
