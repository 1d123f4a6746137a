// Breaks if a user of the register meets a text that is missing or in a language that is not theirs.
import { WORD_TABLE } from './word-table.js';
import { LANGUAGES, preferredLanguage, sayer, type WordKey } from './words.js';

const rows = Object.entries(WORD_TABLE) as [WordKey, readonly string[]][];
const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([found]) => found).sort();
/** Names of programs, files and codes are the same everywhere. */
const NAMES = /PIN|JSON|REGISTER_\w+|X-API-Key|activation-code\.txt|reset-pin|IP|[EF]-0\d\d|Z-|Lines|\{\w+\}/g;

test('every text is there in Russian, Uzbek and English', () => {
  expect(LANGUAGES).toEqual(['ru', 'uz', 'en']);
  for (const [key, row] of rows) {
    expect([key, row.length, row.every((text) => text.trim() === text && text !== '')]).toEqual([key, 3, true]);
  }
});

test('the three say the same values', () => {
  for (const [key, [ru = '', ...others]] of rows) {
    for (const text of others) expect([key, placeholders(text)]).toEqual([key, placeholders(ru)]);
  }
});

test('Russian is in Cyrillic; Uzbek and English are in Latin letters', () => {
  const letters = rows.map(([key, row]) => [key, row.map((text) => text.replace(NAMES, ''))] as const);
  const wrong = letters.filter(([, [ru = '', uz = '', en = '']]) => /[a-z]/i.test(ru) || /[а-яё№]/i.test(uz + en));
  expect(wrong.map(([key]) => key).filter((key) => !['shift_number', 'last_number'].includes(key))).toEqual([]);
});

test('Uzbek writes o‘ and g‘ with one and the same sign', () => {
  expect(rows.filter(([, [, uz = '']]) => /[og]['`’]/i.test(uz)).map(([key]) => key)).toEqual([]);
});

test('values are put in', () => {
  expect(sayer('en')('of', { used: '3', all: '832' })).toBe('3 of 832');
  expect(sayer('uz')('of', { used: '3', all: '832' })).toBe('832 dan 3');
});

test.each([
  ['uz', 'uz'],
  ['uz-Latn-UZ,ru;q=0.8', 'uz'],
  ['de,en;q=0.5,ru;q=0.9', 'ru'],
  ['EN-gb', 'en'],
  ['ru;q=0,en;q=0.1', 'en'],
  ['fr, *;q=0.1', null],
  ['ru;q=x', null],
  [undefined, null],
])('Accept-Language %s means %s', (header, language) => {
  expect(preferredLanguage(header)).toBe(language);
});
