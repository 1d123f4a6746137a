// A card number is recognised wherever it stands, and what only resembles one passes.
import { holdsCardNumber, looksLikeCard } from './card-number.js';

it.each([
  ['Uzcard', '8600495473316478'],
  ['Humo', '9860120154345678'],
  ['Visa, grouped', '4111 1111 1111 1111'],
  ['Mastercard, within a sentence', 'paid by 5555-5555-5555-4444, thanks'],
  ['American Express', '378282246310005'],
])('%s', (_name, text) => {
  expect([looksLikeCard(text), holdsCardNumber(text)]).toEqual([true, true]);
});

it.each([
  ['a wrong check digit', '8600495473316479'],
  ['a classification code of 17 digits', '01905001001000001'],
  ['part of a longer name', 'order4111111111111111x'],
  ['a telephone number', '998901234567'],
  ['a masked one', '860049******6478'],
  ['microseconds', '1795289400000002'],
])('%s goes through', (_name, text) => {
  expect(holdsCardNumber(text)).toBe(false);
});

it('takes any number with a right check digit for one where only tokens belong', () => {
  expect([looksLikeCard('1795289400000002'), holdsCardNumber('1795289400000002')]).toEqual([true, false]);
});
