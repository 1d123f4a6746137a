// Promise: one text is one text, however its accents were typed; nothing else of a body changes.
import fc from 'fast-check';
import { inNfc, mayNeedNfc } from './nfc.js';

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

test('a text is looked at when it could need it, escaped or not', () => {
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
