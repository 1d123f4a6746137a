// Octo's answers are read as its published documents have them: som exactly, another currency never as success.
import { octoAnswer, octoPaymentStatus } from './octo.transform.js';

const PAYMENT = { octo_payment_UUID: 'u', status: 'succeeded', total_sum: 1500.5, refunded_sum: 0, currency: 'UZS' };

it('reads sums exactly, and what went back by its sum', () => {
  expect(octoPaymentStatus(PAYMENT)).toMatchObject({ status: 'captured', amountTiyin: 150_050, refundedTiyin: 0 });
  expect(octoPaymentStatus({ ...PAYMENT, refunded_sum: 500 })).toMatchObject({
    status: 'captured',
    refundedTiyin: 50_000,
  });
  expect(octoPaymentStatus({ ...PAYMENT, refunded_sum: 1500.5 })).toMatchObject({ status: 'refunded' });
  expect(octoPaymentStatus({ octo_payment_UUID: 'u', status: 'succeeded' })).toMatchObject({
    ...{ status: 'captured', amountTiyin: null, refundedTiyin: null },
  });
});

it('a part that went back is not the whole, whatever the payment is called', () => {
  const refunded = { ...PAYMENT, status: 'refunded' };
  expect(octoPaymentStatus({ ...refunded, refunded_sum: 500 })).toMatchObject({
    ...{ status: 'captured', refundedTiyin: 50_000 },
  });
  expect(octoPaymentStatus({ ...refunded, refunded_sum: 1500.5 })).toMatchObject({ status: 'refunded' });
  expect(octoPaymentStatus({ ...refunded, refunded_sum: undefined })).toMatchObject({ status: 'refunded' });
});

it('a sum that cannot be read is a person’s', () => {
  expect(octoPaymentStatus({ ...PAYMENT, total_sum: '1 500,50' })).toMatchObject({ status: 'manual' });
  expect(octoPaymentStatus({ ...PAYMENT, total_sum: 1500.505 })).toMatchObject({ status: 'manual' });
  expect(octoPaymentStatus({ ...PAYMENT, refunded_sum: {} })).toMatchObject({ status: 'manual' });
});

it('money in another currency is a person’s, a word that no document has is under way', () => {
  expect(octoPaymentStatus({ ...PAYMENT, currency: 'USD' })).toMatchObject({ status: 'manual' });
  expect(octoPaymentStatus({ ...PAYMENT, status: 'new_word' })).toMatchObject({ status: 'in_flight' });
});

it('a payment that waits for its customer shows the page again: the answer that named it first may have been lost', () => {
  const waiting = { ...PAYMENT, status: 'wait_user_action', octo_pay_url: 'https://pay2.octo.uz/pay/u' };
  expect(octoPaymentStatus(waiting)).toMatchObject({
    ...{ status: 'pending', nextAction: { type: 'redirect', url: 'https://pay2.octo.uz/pay/u' } },
  });
  expect(octoPaymentStatus({ ...waiting, status: 'succeeded' })).toMatchObject({ nextAction: null });
});

it.each([
  [{ error: 11, errMessage: 'too often' }, 'unsent'],
  [{ error: 2, errMessage: 'Wrong secret' }, 'refused'],
  [{ error: 77, errMessage: 'unlisted' }, 'unknown'],
])('%j is %s', (body, kind) => {
  expect(octoAnswer({ kind: 'answered', status: 200, body })).toMatchObject({ kind });
});
