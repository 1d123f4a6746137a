// Promise: nothing of a receipt falls off the edge of the paper, and no text breaks what it is printed with.
import fc from 'fast-check';
import { centred, PAPER_COLUMNS, printable, twoSided, wrapped } from './paper.js';

const text = fc.string({ unit: 'binary', maxLength: 200 });
const columns = fc.constantFrom(...PAPER_COLUMNS);
const bare = (lines: readonly string[]): string => lines.join('').replaceAll(' ', '');

test('whatever is printed fits into its columns, and no character is lost', () => {
  fc.assert(
    fc.property(text, text, columns, (left, right, width) => {
      const printed = [wrapped(left, width), centred(left, width), twoSided(left, right, width)];
      for (const line of printed.flat()) expect([...line].length).toBeLessThanOrEqual(width);
      expect(bare(wrapped(left, width))).toBe(bare([printable(left)]));
      expect(bare(twoSided(left, right, width))).toBe(bare([printable(left), printable(right)]));
    }),
  );
});

test('words stay whole where they fit; a label stands beside its value, else above it', () => {
  expect(wrapped('bir ikki uch', 8)).toEqual(['bir ikki', 'uch']);
  expect(wrapped('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(twoSided('JAMI', '1 234.00', 16)).toEqual(['JAMI    1 234.00']);
  expect(twoSided('Jami summa', '1 234.00', 16)).toEqual(['Jami summa', '        1 234.00']);
  expect(twoSided('Kod', '0104780000001', 8)).toEqual(['Kod', '01047800', '00001']);
  expect(centred('ab', 7)).toEqual(['  ab']);
});

test('control characters, lone surrogates and what XML forbids never reach the paper', () => {
  expect(printable('a\u0000b\u001dc\ud800d\uffff\u00a0e\u0085')).toBe('a b|c\ufffdd  e ');
});

test('marks that turn the direction of writing around, or end a line, turn and end none', () => {
  expect(printable('Wallet (a\u202eb\u2066c\u200fd)')).toBe('Wallet (abcd)');
  expect(printable('a\u2028b\u2029c')).toBe('a b c');
});

test('what people here write stays as it is', () => {
  expect(printable('Oʻzbekiston Ўзбекистон №1 «×»')).toBe('Oʻzbekiston Ўзбекистон №1 «×»');
});
