// Promise: a spreadsheet of any size passes in flat memory, and a broken or hostile one is reported as such, row by row where that is possible.
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { csvLine, readCsv } from './csv.js';
import { readLines } from './lines.js';
import { UnreadableFile, type SheetRow } from './sheet-row.js';
import { readXlsx } from './xlsx-reader.js';
import { xlsxStream, type Cell } from './xlsx-writer.js';

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sheets-'));
  file = join(folder, 'file');
});

afterAll(() => rm(folder, { recursive: true }));

async function all(rows: AsyncIterable<SheetRow>): Promise<SheetRow[]> {
  const read: SheetRow[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

/** A workbook as a spreadsheet program writes it. */
async function workbook(parts: Record<string, string | Buffer>): Promise<void> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(parts)) zip.addBuffer(Buffer.from(content), path);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}

const sheet = (rows: string): string => `<?xml version="1.0"?><worksheet><sheetData>${rows}</sheetData></worksheet>`;

test('what is written is read again, signs and all', async () => {
  const rows: Cell[][] = [
    ['name', 'price', null],
    ['Нон & "сут" <b>', 112_000, 'O‘zbek\n😀'],
    ['=1+1', -5, ' kept '],
    ['Cola;=1, -2\n+3', "a;'=b; ''-c", ';"=1'],
  ];
  await pipeline(xlsxStream(rows), createWriteStream(file));
  const read = await all(readXlsx(file));
  expect(read.map(({ cells }) => cells)).toEqual([
    ['name', 'price'],
    ['Нон & "сут" <b>', '112000', 'O‘zbek\n😀'],
    ['=1+1', '-5', ' kept '],
    ['Cola;=1, -2\n+3', "a;'=b; ''-c", ';"=1'],
  ]);
  expect(read.flatMap(({ faults }) => faults)).toEqual([]);
  await writeFile(file, rows.map(csvLine).join(''));
  expect((await all(readCsv(file))).map(({ cells }) => cells)).toEqual([
    ['name', 'price', null],
    ['Нон & "сут" <b>', '112000', 'O‘zbek\n😀'],
    ['=1+1', '-5', ' kept '],
    ['Cola;=1, -2\n+3', "a;'=b; ''-c", ';"=1'],
  ]);
  expect(await readFile(file, 'utf8')).toContain("'=1+1");
  expect(await readFile(file, 'utf8')).toContain("Cola;'=1,' -2\n'+3");
});

test('shared texts, gaps, numbers with exponents, phonetic hints, prefixes', async () => {
  await workbook({
    'xl/sharedStrings.xml':
      '<sst><si><t>Хлеб</t></si><si><r><t>a</t></r><r><t>b</t></r><rPh><t>no</t></rPh></si></sst>',
    'xl/worksheets/sheet10.xml': sheet('<row><c><v>9</v></c></row>'),
    'xl/worksheets/sheet2.xml':
      '<x:worksheet xmlns:x="m"><x:sheetData><x:row r="3"><x:c r="A3" t="s"><x:v>0</x:v></x:c><x:c r="C3" t="s"><x:v>1</x:v></x:c>' +
      '<x:c r="AA3"><x:v>1.12E5</x:v></x:c><x:c r="AB3" t="b"><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>',
  });
  const [row] = await all(readXlsx(file));
  expect(row?.number).toBe(3);
  expect([0, 1, 2, 26, 27].map((column) => row?.cells[column])).toEqual(['Хлеб', null, 'ab', '112000', 'true']);
});

test('numbers are read as a person sees them in the sheet, whatever digits the program writes behind them', async () => {
  const written = [
    '1234.5599999999999',
    '0.070000000000000007',
    '150.15000000000001',
    '-19.989999999999998',
    '1500',
    '1.1E-2',
  ];
  const kept = [
    '1.10',
    '0.50',
    '-7.0500',
    '10101001001000001',
    '1.0101001001000001E16',
    '1.0E-9',
    '99999999999999.991',
    'NaN.',
  ];
  const cells = [...written, ...kept].map((value) => `<c><v>${value}</v></c>`).join('');
  await workbook({ 'xl/worksheets/sheet1.xml': sheet(`<row>${cells}</row>`) });
  const [row] = await all(readXlsx(file));
  expect(row?.cells).toEqual(['1234.56', '0.07', '150.15', '-19.99', '1500', '0.011', ...kept]);
});

test('formulas, errors and endless cells are faults of their row, and the others are read', async () => {
  const long = randomBytes(8 * 1024 * 1024).toString('base64');
  await workbook({
    'xl/worksheets/sheet1.xml': sheet(
      '<row><c><f>A1</f><v>1</v></c></row><row><c t="e"><v>#REF!</v></c></row>' +
        `<row><c t="inlineStr"><is><t>${long}</t></is></c></row><row><c><v>4</v></c></row>`,
    ),
  });
  const rows = await all(readXlsx(file));
  expect(rows.map(({ faults }) => faults.join())).toEqual([
    expect.stringContaining('formula'),
    expect.stringContaining('#REF!'),
    expect.stringContaining('longer than'),
    '',
  ]);
  expect(rows[3]?.cells).toEqual(['4']);
});

test('rows whose numbers make no sense are counted, each with a number of its own', async () => {
  const cell = '<c><v>1</v></c>';
  await workbook({
    'xl/worksheets/sheet1.xml': sheet(
      ['7', '7', '3', 'x', '-1', '99999999999', '20'].map((r) => `<row r="${r}">${cell}</row>`).join(''),
    ),
  });
  expect((await all(readXlsx(file))).map(({ number }) => number)).toEqual([7, 8, 9, 10, 11, 12, 20]);
});

test('progress is reported, up to all of it', async () => {
  const rows = Array.from({ length: 5_000 }, (_, index): Cell[] => [index, randomBytes(20).toString('hex')]);
  await pipeline(xlsxStream(rows), createWriteStream(file));
  const shares: number[] = [];
  for await (const _row of readXlsx(file, (share) => void shares.push(share)));
  expect(shares.length).toBeGreaterThan(2);
  expect([...shares].sort((a, b) => a - b)).toEqual(shares);
  expect(shares.at(-1)).toBe(1);
});

test.each<[string, () => Promise<void>, string]>([
  ['no archive', () => writeFile(file, 'sku;name'), 'no XLSX workbook'],
  ['an empty file', () => writeFile(file, ''), 'no XLSX workbook'],
  ['an archive of something else', () => workbook({ 'readme.txt': 'x' }), 'without a worksheet'],
  ['a bomb', () => workbook({ 'xl/worksheets/sheet1.xml': Buffer.alloc(64 * 1024 * 1024, ' ') }), 'unpacks to'],
  ['broken XML', () => workbook({ 'xl/worksheets/sheet1.xml': '<worksheet><row></worksheet>' }), 'damaged'],
  ['no UTF-8', () => workbook({ 'xl/worksheets/sheet1.xml': Buffer.from([0x3c, 0x61, 0xff, 0xfe]) }), 'damaged'],
])('%s is reported as such', async (_name, write, message) => {
  await write();
  const reading = all(readXlsx(file));
  await expect(reading).rejects.toThrow(UnreadableFile);
  await expect(reading).rejects.toThrow(message);
});

test('CSV: separators, quotes, marks of order, and bytes of another encoding', async () => {
  await writeFile(file, '\ufeffsku;name\r\n1;"a;""b""\nc"\r\n\r\n2;x\r\n');
  expect((await all(readCsv(file))).map(({ cells }) => cells)).toEqual([
    ['sku', 'name'],
    ['1', 'a;"b"\nc'],
    ['2', 'x'],
  ]);
  const cp1251 = Buffer.from([0xd5, 0xeb, 0xe5, 0xe1]);
  await writeFile(file, Buffer.concat([Buffer.from('sku,name\n1,'), cp1251, Buffer.from('\n2,Хлеб\n')]));
  const rows = await all(readCsv(file));
  expect(rows.map(({ faults }) => faults)).toEqual([[], ['column 2 is not encoded in UTF-8'], []]);
  expect(rows[2]?.cells).toEqual(['2', 'Хлеб']);
  await writeFile(file, `sku,name\n1,${'x'.repeat(10 * 1024 * 1024)}\n2,y\n`);
  expect((await all(readCsv(file))).map(({ faults }) => faults.length)).toEqual([0, 1, 0]);
});

test('lines: long ones and other encodings are faults of their own', async () => {
  const parts = ['{"a":1}\r\n\n', Buffer.from([0xff, 0x0a]), `${'x'.repeat(2_000_000)}\n`, 'last'];
  await writeFile(file, Buffer.concat(parts.map((part) => Buffer.from(part))));
  const rows = await all(readLines(file));
  expect(rows.map(({ number, cells, faults }) => [number, cells[0], faults.length])).toEqual([
    [1, '{"a":1}', 0],
    [3, null, 1],
    [4, null, 1],
    [5, 'last', 0],
  ]);
});
