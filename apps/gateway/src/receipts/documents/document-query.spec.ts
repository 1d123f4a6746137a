// Promise: every reader gets the receipt in the form and language it asked for, or an answer that there is none.
import { Problem } from '#problems';
import { acceptedFormat, documentWish, isBrowser, publicQuery } from './document-query.js';

const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8';

test.each([
  [undefined, 'html'],
  ['', 'html'],
  ['*/*', 'html'],
  [CHROME, 'html'],
  ['application/pdf', 'pdf'],
  ['APPLICATION/PDF', 'pdf'],
  ['image/avif,image/webp,image/*;q=0.9', 'png'],
  ['text/plain', 'text'],
  ['text/plain;q=0.5, image/png;q=0.9', 'png'],
  ['text/html;q=0, */*', 'pdf'],
  ['text/*', 'html'],
  ['application/json', null],
  ['application/json, application/pdf;q=x', null],
  ['*/*;q=0', null],
  [','.repeat(2_000), null],
])('Accept: %s → %s', (accept, format) => {
  expect(acceptedFormat(accept)).toBe(format);
});

test('only who asks for pages by name is a browser', () => {
  expect([CHROME, '*/*', undefined, 'application/json', 'text/html;q=0.1, application/pdf'].map(isBrowser)).toEqual([
    ...[true, false, false, false, false],
  ]);
});

test('the query comes before the headers; Uzbek for who names no language of ours', () => {
  const headers = { accept: 'application/pdf', 'accept-language': 'de, ru;q=0.5' };
  expect(documentWish({}, headers)).toEqual({ format: 'pdf', language: 'ru', columns: 48 });
  expect(documentWish({ format: 'text', lang: 'en', columns: '32' }, headers)).toEqual({
    ...{ format: 'text', language: 'en', columns: 32 },
  });
  expect(documentWish({}, { 'accept-language': 'de' }).language).toBe('uz');
  expect(() => documentWish({}, { accept: 'application/json' })).toThrow(Problem);
});

test('what others add to a shared link is ignored, our own parameters are judged', () => {
  expect({ ...publicQuery({ utm_source: 'telegram', fbclid: 'x', lang: 'ru' }) }).toEqual({ lang: 'ru' });
  const refused = [{ lang: 'de' }, { format: 'docx' }, { columns: '40' }, { lang: ['ru', 'uz'] }];
  for (const query of refused) expect(() => publicQuery(query)).toThrow(Problem);
});
