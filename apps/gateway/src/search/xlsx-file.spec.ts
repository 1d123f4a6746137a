// Promise: a workbook of any size is a valid file: no sheet longer than Excel takes, every row there once, in order.
import { buffer } from 'node:stream/consumers';
import { COLUMNS, type Cell } from './spreadsheet-cells.js';
import { readXlsx } from './testing/read-xlsx.js';
import { xlsxFile } from './xlsx-file.js';

async function* batches(...sizes: number[]): AsyncGenerator<Cell[][]> {
  let row = 0;
  for (const size of sizes) {
    await Promise.resolve();
    yield Array.from({ length: size }, () => [`r${(row += 1)}`, row]);
  }
}

const HEAD = COLUMNS.map(({ name }) => name);

test.each([
  [[], [0]],
  [[3], [3]],
  [[4], [4]],
  [
    [3, 3],
    [4, 2],
  ],
  [
    [2, 2, 2, 2],
    [4, 4],
  ],
  [[9], [4, 4, 1]],
])('batches of %j on sheets of four rows', async (sizes, expected) => {
  const { names, sheets } = await readXlsx(await buffer(xlsxFile(batches(...sizes), 4)));
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

test('a failure of the rows is a failure of the file; whoever stops reading ends the rows', async () => {
  async function* failing(): AsyncGenerator<Cell[][]> {
    yield [['a']];
    await Promise.reject(new Error('the database is gone'));
  }
  await expect(buffer(xlsxFile(failing()))).rejects.toThrow('the database is gone');
  let ended = false;
  async function* endless(): AsyncGenerator<Cell[][]> {
    try {
      for (;;) yield await Promise.resolve(Array.from({ length: 100 }, () => ['x'.repeat(100), Math.random()]));
    } finally {
      ended = true;
    }
  }
  const file = xlsxFile(endless());
  await new Promise((resolve) => file.once('data', resolve));
  file.destroy();
  while (!ended) await new Promise((resolve) => setTimeout(resolve, 5));
});
