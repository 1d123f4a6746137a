// Promise: a quantity is read with its unit in every language, and a code without a name gets no name.
import { RECEIPT_LANGUAGES } from './receipt-words.js';
import { unitName } from './unit-words.js';

test.each([
  [796, ['шт', 'dona', 'pc']],
  [166, ['кг', 'kg', 'kg']],
  [112, ['л', 'l', 'l']],
  [6, ['м', 'm', 'm']],
  [244_272_402, [null, null, null]],
  [0, [null, null, null]],
])('%i', (code, names) => {
  expect(RECEIPT_LANGUAGES.map((language) => unitName(code, language))).toEqual(names);
});
