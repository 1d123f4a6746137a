// What is reported to the tax office about a payment has its form, or is left out: it never stops a sale.
import { readExtraInfo } from './extra-info.js';

const whole = {
  paymentId: 'a'.repeat(36),
  paymentProvider: 141,
  phone: '998901234567',
  rrn: '123456789012',
  cardType: 2,
};

test('what has its form is read as it is', () => {
  expect(readExtraInfo(whole)).toEqual(whole);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['text', 'abc'],
  ['nothing known', { QRPaymentID: '1' }],
  ['a longer id', { paymentId: 'a'.repeat(37) }],
  ['an id with a blank', { paymentId: 'a b' }],
  ['another country', { phone: '79001234567' }],
  ['letters for digits', { rrn: '12a' }],
  ['numbers as text', { paymentProvider: '141', cardType: '1' }],
  ['numbers out of range', { paymentProvider: 65_536, cardType: 4 }],
  ['fractions', { paymentProvider: 1.5, cardType: 0 }],
  ['deep values', { paymentId: { a: [] }, phone: ['998901234567'] }],
])('%s is left out', (_what, value) => {
  expect(readExtraInfo(value)).toBeNull();
});

test('one bad field does not take the others with it', () => {
  expect(readExtraInfo({ ...whole, phone: 'x' })).toEqual({ ...whole, phone: undefined });
});
