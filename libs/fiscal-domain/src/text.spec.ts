// Promise: no text reaches the database or a receipt that would break it, and a product is found however its name was typed.
import fc from 'fast-check';
import {
  isStreamSafe,
  labelProblem,
  nameKey,
  normaliseText,
  storableJson,
  textProblem,
  truncateText,
  truncateUtf8,
  utf8Length,
} from './text.js';

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

describe('runs of combining marks', () => {
  const run = (marks: number): string => `a${'\u0301\u0316'.repeat(marks / 2)}`;

  test('up to thirty are a text, more are not', () => {
    expect([30, 32].map((marks) => textProblem(run(marks)))).toEqual([null, 'marks']);
    expect(textProblem(run(30).repeat(100))).toBeNull();
    expect(isStreamSafe('\u{1d165}'.repeat(30))).toBe(true);
    expect(isStreamSafe(`ab${'\u{1d165}'.repeat(31)}`)).toBe(false);
  });

  test('a text with more is neither normalised nor made a key of', () => {
    for (const text of [run(40), `${run(20)}\u200b${run(20).slice(1)}`]) {
      expect(nameKey(text)).toBe(text.replaceAll('\u200b', ''));
    }
    expect(normaliseText(run(40))).toBe(run(40));
  });

  test('every character that normalising sorts is counted', () => {
    for (let code = 0; code <= 0x1ffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      // U+0345 has the highest combining class: whatever has one is sorted before it.
      const isSorted = `a\u0345${character}`.normalize('NFD') !== `a\u0345${character.normalize('NFD')}`;
      if (isSorted && isStreamSafe(character.repeat(31))) throw new Error(`U+${code.toString(16)} is not counted`);
    }
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

describe('foreign texts', () => {
  test('are cut between characters', () => {
    expect(truncateText('a\u{1f600}b', 2)).toBe('a');
    expect(truncateText('a\u{1f600}b', 3)).toBe('a\u{1f600}');
    expect(truncateText('ab', 3)).toBe('ab');
  });

  test('in JSON become what can be stored, and nothing else of them changes', () => {
    const storable = (text: string): string => Buffer.from(text.replaceAll('\0', '\ufffd')).toString();
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(JSON.parse(storableJson(JSON.stringify([text])))).toEqual([storable(text)]);
      }),
    );
    // However the escapes are written, also of a name.
    expect(JSON.parse(storableJson('{"\\u0000":"\\\\u0000 \\ud83d\\ude00 \\uD83D! \\udE00"}'))).toEqual({
      '\ufffd': '\\u0000 \u{1f600} \ufffd! \ufffd',
    });
  });
});
