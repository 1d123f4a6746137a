// Promise: no text reaches the database or a receipt that would break it, and a product is found however its name was typed.
import fc from 'fast-check';
import { labelProblem, nameKey, normaliseText, textProblem, truncateUtf8, utf8Length } from './text.js';

describe('textProblem', () => {
  test.each([
    ['', null],
    ['Non, 1 kg', null],
    ['O‘zbek noni 🥖', null],
    ['a\u0000b', 'nul'],
    ['a\tb', 'control'],
    ['a\nb', 'control'],
    ['a\u001db', 'control'],
    ['a\u007fb', 'control'],
    ['a\u0085b', 'control'],
    ['a\u009fb', 'control'],
    ['a\u001fb', 'control'],
    ['a\u00a0b', null],
    ['\udfff', 'lone_surrogate'],
    ['\ud7ff\ue000', null],
    ['a\ud800b', 'lone_surrogate'],
    ['a\udc00b', 'lone_surrogate'],
    ['\udc00\ud800', 'lone_surrogate'],
    ['a\ud83d', 'lone_surrogate'],
    ['a\nb\u0000', 'control'],
  ])('%j: %p', (text, expected) => {
    expect(textProblem(text)).toBe(expected);
  });

  test('a marking code may carry the GS1 group separator, and nothing else', () => {
    expect(labelProblem('0104780012345678215abc\u001d93XyZ1')).toBeNull();
    expect(labelProblem('01\u001e')).toBe('control');
    expect(labelProblem('01\u001d\u0000')).toBe('nul');
  });
});

test('normaliseText composes', () => {
  expect(normaliseText('и\u0306')).toBe('й');
});

describe('nameKey', () => {
  test.each([
    ['O‘zbek noni', "O'zbek noni"],
    ['Oʻzbek noni', 'O’zbek noni'],
    ['O`zbek noni', 'Oʼzbek noni'],
    ['МОЛОКО 3,2%', 'молоко 3,2%'],
    ['Сок', 'Cок'],
    ['КОВЁР', 'KOBËP'],
    ['  Choy \u00a0 qora\u200b ', 'choy qora'],
    ['«Нестле»', '“нестле”'],
    ['Й', 'И\u0306'],
    ['ТОРТ', 'TOPT'],
  ])('%j and %j are the same name', (left, right) => {
    expect(nameKey(left)).toBe(nameKey(right));
  });

  test.each([
    ['Choy qora', 'Choy yashil'],
    ['Choyqora', 'Choy qora'],
    ['Сок 1 л', 'Сок 1,1 л'],
    ['кот', 'кит'],
    ['Молоко', 'Moloko'],
  ])('%j and %j are not', (left, right) => {
    expect(nameKey(left)).not.toBe(nameKey(right));
  });

  test('says nothing for a text of spaces and invisible characters', () => {
    expect(nameKey(' \u200b\u00a0\ufeff ')).toBe('');
  });

  test('applied twice changes nothing', () => {
    const hard = fc.string({ unit: fc.constantFrom(...'aёЕѐі İΣς\u0301\u0306\u0308‘\u200b\u00a0Ўў\u00ad\ud800ǅ') });
    fc.assert(
      fc.property(fc.oneof(hard, fc.string({ unit: 'binary' })), (text) => nameKey(nameKey(text)) === nameKey(text)),
    );
  });
});

describe('truncateUtf8', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abc', 2, 'ab'],
    ['хлеб', 5, 'хл'],
    ['хлеб', 8, 'хлеб'],
    ['a🥖b', 4, 'a'],
    ['a🥖b', 5, 'a🥖'],
    ['€€', 5, '€'],
    ['abc', 0, ''],
    ['', 10, ''],
  ])('%j to %p bytes is %j', (text, maxBytes, expected) => {
    expect(truncateUtf8(text, maxBytes)).toBe(expected);
  });

  test('is the longest beginning that fits, and whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(80), (text, maxBytes) => {
        const cut = truncateUtf8(text, maxBytes);
        const [next = ''] = text.slice(cut.length);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
        if (cut !== text) expect(Buffer.byteLength(cut + (next === '' ? '' : next))).toBeGreaterThan(maxBytes);
        expect(textProblem(cut)).not.toBe('lone_surrogate');
      }),
    );
  });

  test('utf8Length counts as an encoder does, lone surrogates included', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => utf8Length(text) === Buffer.byteLength(text)));
    for (const border of ['\u007f', '\u0080', '\u07ff', '\u0800', '\uffff', '\u{10000}', '\u{10ffff}']) {
      expect(utf8Length(border)).toBe(Buffer.byteLength(border));
    }
    expect(utf8Length('\ud800')).toBe(Buffer.byteLength('\ud800'));
  });
});
