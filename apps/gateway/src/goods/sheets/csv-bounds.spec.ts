// Promise: what a CSV file gathers in memory is bounded while it is read, and a cell within the bounds comes through as it is.
import fc from 'fast-check';
import { CsvBounds } from './csv-bounds.js';
import { MAX_CELL_LENGTH, MAX_COLUMNS, MAX_ROW_BYTES, UnreadableFile } from './sheet-row.js';

function through(text: string, pieceBytes = 1_000): string {
  const bounds = new CsvBounds(','.charCodeAt(0));
  const bytes = Buffer.from(text);
  const handedOn: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    handedOn.push(...bounds.take(bytes.subarray(at, at + pieceBytes)));
  return Buffer.concat(handedOn).toString();
}

test('whatever stays within the bounds is handed on byte for byte, however it is cut into pieces', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', 'ў', ';'), maxLength: 150 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, pieceBytes) => {
      expect(through(text, pieceBytes)).toBe(text);
    }),
  );
});

const LONG = 'x'.repeat(3 * MAX_CELL_LENGTH);

test.each([
  ['plain', `a,${LONG},b\nc`, `a,${LONG.slice(0, MAX_CELL_LENGTH + 1)},b\nc`],
  ['quoted', `a,"${LONG}",b\nc`, `a,"${LONG.slice(0, MAX_CELL_LENGTH + 1)}",b\nc`],
  [
    'quoted, with separators in it',
    `"${'x,\n'.repeat(MAX_CELL_LENGTH)}"\nc`,
    `"${'x,\n'.repeat(MAX_CELL_LENGTH).slice(0, MAX_CELL_LENGTH + 1)}"\nc`,
  ],
  ['at the end of the file', LONG, LONG.slice(0, MAX_CELL_LENGTH + 1)],
])('a long cell is cut, and the next one is read as it is: %s', (_what, text, expected) => {
  expect(through(text)).toBe(expected);
  expect(through(text, 65_536)).toBe(expected);
});

test('a long cell of quotes alone is cut too', () => {
  const handedOn = through(`"${'""'.repeat(5 * MAX_CELL_LENGTH)}",b\n`);
  expect(handedOn.length).toBeLessThan(2 * MAX_CELL_LENGTH + 10);
  expect(handedOn.endsWith(',b\n')).toBe(true);
});

test.each([
  ['as many columns as there may be', ','.repeat(MAX_COLUMNS - 1), null],
  ['one column more', `a\n${','.repeat(MAX_COLUMNS)}`, `Line 2 has more than ${MAX_COLUMNS} columns.`],
  ['the same, quoted', '"a\n",'.repeat(MAX_COLUMNS), `columns`],
  ['separators within quotes', `"${','.repeat(5 * MAX_COLUMNS)}"`, null],
  ['a record of many long cells', `${'x'.repeat(60_000)},`.repeat(20), `Line 1 has more than ${MAX_ROW_BYTES} bytes.`],
  ['many records of long cells', `${'x'.repeat(60_000)}\n`.repeat(20), null],
])('%s', (_what, text, reason) => {
  if (reason === null) expect(through(text)).toBe(text);
  else {
    expect(() => through(text)).toThrow(UnreadableFile);
    expect(() => through(text)).toThrow(reason);
  }
});
