// Promise: a workbook of any size is a valid file: no sheet longer than Excel takes, every row there once, in order.
import { buffer } from 'node:stream/consumers';
import { readXlsx } from './testing/read-xlsx.js';
import { SheetText, xlsxStream, xlsxWorkbook, type Cell, type SheetPiece } from './xlsx-writer.js';

function pieceOf(rows: readonly Cell[][]): SheetPiece {
  const text = new SheetText();
  for (const row of rows) text.add(row);
  return text.take();
}

async function* pieces(...sizes: number[]): AsyncGenerator<SheetPiece> {
  let row = 0;
  for (const size of sizes) {
    await Promise.resolve();
    yield pieceOf(Array.from({ length: size }, () => [`r${(row += 1)}`, row]));
  }
}

const HEAD = ['name', 'number'];

test.each([
  [[], [0]],
  [[3], [3]],
  [[4], [4]],
  [
    [3, 3],
    [3, 3],
  ],
  [
    [3, 1, 1],
    [4, 1],
  ],
  [
    [2, 2, 2, 2],
    [4, 4],
  ],
])('pieces of %j on sheets of four rows', async (sizes, expected) => {
  const { names, sheets } = await readXlsx(
    await buffer(xlsxWorkbook(pieces(...sizes), { head: HEAD, rowsPerSheet: 4 })),
  );
  expect(sheets.map((rows) => rows[0])).toEqual(expected.map(() => HEAD));
  expect(sheets.map((rows) => rows.length - 1)).toEqual(expected);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const rows = sheets.flatMap((sheet) => sheet.slice(1));
  expect(rows).toEqual(Array.from({ length: total }, (_, index) => [`r${index + 1}`, String(index + 1)]));
  expect(names).toEqual(
    [
      ...['[Content_Types].xml', '_rels/.rels', 'xl/_rels/workbook.xml.rels', 'xl/workbook.xml'],
      ...expected.map((_, index) => `xl/worksheets/sheet${index + 1}.xml`),
    ].sort(),
  );
});

test('numbers are numbers, texts are escaped, what XML cannot hold is left out', () => {
  const { rows, bytes } = pieceOf([['<&>', 5, null, 'a\u0000\u001d\ud800b\r', 9_007_199_254_740_991]]);
  expect(rows).toBe(1);
  expect(Buffer.concat(bytes).toString()).toBe(
    '<row><c t="inlineStr"><is><t xml:space="preserve">&lt;&amp;&gt;</t></is></c><c><v>5</v></c><c/>' +
      '<c t="inlineStr"><is><t xml:space="preserve">ab&#13;</t></is></c>' +
      '<c t="inlineStr"><is><t xml:space="preserve">9007199254740991</t></is></c></row>',
  );
});

test('rows one by one: one sheet, in order, however many', async () => {
  const rows = Array.from({ length: 1_001 }, (_, at): Cell[] => [at]);
  const { sheets } = await readXlsx(await buffer(xlsxStream(rows)));
  expect(sheets).toEqual([rows.map(([at]) => [String(at)])]);
});

test('a failure of the rows is a failure of the file; a reader that stops ends the rows', async () => {
  async function* failing(): AsyncGenerator<SheetPiece> {
    yield pieceOf([['a']]);
    await Promise.reject(new Error('the database is gone'));
  }
  await expect(buffer(xlsxWorkbook(failing()))).rejects.toThrow('the database is gone');
  let ended = false;
  async function* endless(): AsyncGenerator<Cell[]> {
    try {
      for (;;) yield await Promise.resolve(['x'.repeat(100), Math.random()]);
    } finally {
      ended = true;
    }
  }
  const file = xlsxStream(endless());
  await new Promise((resolve) => file.once('data', resolve));
  file.destroy();
  while (!ended) await new Promise((resolve) => setTimeout(resolve, 5));
});
