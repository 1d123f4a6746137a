// Promise: one text is one text, however its accents were typed; nothing else of a body changes.
import fc from 'fast-check';
import { inNfc, MAX_TEXT_LENGTH, mayNeedNfc } from './nfc.js';

const COMPOSED = 'Oʻzbekiston caf\u00e9 \u0439';
const DECOMPOSED = 'Oʻzbekiston cafe\u0301 \u0438\u0306';

test('texts and names, in lists and objects', () => {
  const body = { a: DECOMPOSED, list: [DECOMPOSED, 1, null, { b: DECOMPOSED }], metadata: { [DECOMPOSED]: 'x' } };
  expect(inNfc(body)).toEqual({
    ...{ a: COMPOSED, list: [COMPOSED, 1, null, { b: COMPOSED }] },
    metadata: { [COMPOSED]: 'x' },
  });
  expect(inNfc(DECOMPOSED)).toBe(COMPOSED);
});

test('a text is normalised when it could need it, escaped or not', () => {
  expect(mayNeedNfc(JSON.stringify({ a: DECOMPOSED }))).toBe(true);
  expect(mayNeedNfc('{"a":"cafe\\u0301"}')).toBe(true);
  expect(mayNeedNfc('{"a":"plain"}')).toBe(false);
});

test('whatever JSON holds, only the form of its texts changes', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const expected: unknown = JSON.parse(text.normalize('NFC'));
      expect(inNfc(JSON.parse(text))).toEqual(expected);
    }),
  );
});

test('nesting as deep as a body can be exhausts nothing', () => {
  const depth = 100_000;
  expect(() => inNfc(JSON.parse(`${'['.repeat(depth)}"e\u0301"${']'.repeat(depth)}`))).not.toThrow();
});

const MARKS = '\u0301\u0316';

test.each<[string, unknown, string, string]>([
  ['too many marks in a row', { a: { b: [1, `a${MARKS.repeat(16)}`] } }, '/a/b/1', 'invalid_text'],
  ['too many marks in a name', { a: { [`a${MARKS.repeat(16)}`]: 1 } }, '/a', 'invalid_text'],
  ['a text longer than any field', { a: [`ж${'a'.repeat(MAX_TEXT_LENGTH)}`] }, '/a/0', 'too_long'],
])('%s is refused by its place', (_what, body, pointer, code) => {
  expect(() => inNfc(body)).toThrow(expect.objectContaining({ errors: [expect.objectContaining({ pointer, code })] }));
});

test('thirty marks in a row, as often as they come, and the longest text are taken', () => {
  const text = `a${MARKS.repeat(15)}`.repeat(50);
  const long = 'ж'.repeat(MAX_TEXT_LENGTH);
  expect(inNfc({ text, long })).toEqual({ text: text.normalize('NFC'), long });
});
