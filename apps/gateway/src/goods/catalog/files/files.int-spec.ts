// Promise: a file of products is taken row by row in any format, rows that are refused come back with reasons and can be sent again, and what is exported can be imported.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { ZipFile } from 'yazl';
import { FILE_MEDIA_TYPES } from '#http';
import { csvLine } from '../../sheets/csv.js';
import { xlsxStream, type Cell } from '../../sheets/xlsx-writer.js';
import { BREAD, CatalogFixture, type CatalogBody } from '../testing/catalog-fixture.js';
import { ImportProducts } from './import-products.js';
import type { FileFormat } from './product-table.js';
import { ProductsFile } from './products-file.js';

let catalog: CatalogFixture;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
});

afterAll(() => catalog?.stop());

beforeEach(async () => {
  await catalog.gateway.prisma.$executeRaw`DELETE FROM product_keys`;
  await catalog.gateway.prisma.$executeRaw`DELETE FROM products`;
});

type SentFile = CatalogBody & { progress: Record<string, number>; error: string | null };

/** On a busy machine the answer may come before the import's end: then its end is awaited. */
async function send(
  format: FileFormat,
  body: string | Buffer,
  mode = 'upsert',
): Promise<{ status: number; body: SentFile }> {
  const response = await fetch(`${catalog.gateway.base}/v1/catalog/imports?mode=${mode}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${catalog.gateway.token}`, 'content-type': FILE_MEDIA_TYPES[format] },
    body: new Uint8Array(Buffer.from(body)),
  });
  let answer = { status: response.status, body: (await response.json()) as SentFile };
  while (answer.body.state === 'running') {
    await delay(50);
    answer = (await catalog.ask('GET', `/v1/catalog/imports/${answer.body.id}`)) as never;
  }
  return answer;
}

/** Why a file was refused as a whole: 422 or, where that took longer than a call waits, an import that has failed. */
function refusalOf({ status, body }: Awaited<ReturnType<typeof send>>): string {
  if (status !== 200) expect([status, body.code]).toEqual([422, 'import_unreadable']);
  else expect(body.state).toBe('failed');
  return (status === 200 ? body.error : body.detail) ?? '';
}

async function get(path: string): Promise<Buffer> {
  const response = await fetch(`${catalog.gateway.base}${path}`, {
    headers: { authorization: `Bearer ${catalog.gateway.token}` },
  });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const HEAD = [
  'sku',
  'name',
  'name_uz',
  'aliases',
  'barcodes',
  'spic',
  'package_code',
  'vat_percent',
  'price',
  'marked',
];
const ROW: Cell[] = ['b-1', '=Хлеб', 'Non', 'Буханка|Батон', '4780001|4780002', BREAD, '1500001', 12, 500_000, 'нет'];
const table = (...rows: Cell[][]): Cell[][] => [HEAD, ROW, ...rows];

async function encoded(format: FileFormat, rows: Cell[][]): Promise<string | Buffer> {
  if (format === 'csv') return rows.map(csvLine).join('');
  if (format === 'xlsx') return buffer(xlsxStream(rows));
  return rows
    .slice(1)
    .map(([sku, name, uz, aliases, barcodes, spic, package_code, vat_percent, price, marked]) => ({
      ...{ sku, name: { ru: name, ...(uz !== null && { uz }) }, spic, package_code, vat_percent, price },
      ...(aliases !== null && { aliases: String(aliases).split('|') }),
      ...(barcodes !== null && { barcodes: String(barcodes).split('|') }),
      ...(marked !== null && { marked: marked !== 'нет' }),
    }))
    .map((each) => `${JSON.stringify(each)}\n`)
    .join('');
}

describe.each(['csv', 'xlsx', 'jsonl'] as const)('%s', (format) => {
  test('rows are taken or come back with reasons; corrected they are taken, too', async () => {
    const bad: Cell[] = ['b-2', 'Хлеб', null, null, null, '190500100100000112', '1500001', 12, 1, null];
    const { status, body } = await send(format, await encoded(format, table(bad, [...ROW])));
    expect([status, body.state, body.progress]).toEqual([
      200,
      'done',
      { rows: 3, created: 1, updated: 0, unchanged: 0, rejected: 2, archived: 0 },
    ]);
    const shown = await catalog.ask('GET', '/v1/catalog/products/b-1');
    expect(shown.body).toMatchObject({
      ...{ name: { ru: '=Хлеб', uz: 'Non' }, aliases: ['Буханка', 'Батон'], barcodes: ['4780001', '4780002'] },
      ...{ price: 500_000, marked: false },
    });
    const rejected = await get(`/v1/catalog/imports/${body.id}/rejected`);
    const again = await send(format, rejected);
    expect(again.body.progress).toMatchObject({ rows: 2, unchanged: 1, rejected: 1 });
    if (format === 'xlsx') return;
    expect(rejected.toString()).toContain('spic must have 17 digits');
    const mended = rejected.toString().replaceAll('190500100100000112', BREAD);
    expect((await send(format, mended)).body.progress).toMatchObject({
      rows: 2,
      created: 1,
      unchanged: 1,
      rejected: 0,
    });
  });

  test('what is exported is imported as it was, also in full', async () => {
    await catalog.put([
      catalog.product({
        ...{ sku: '+1', name: { ru: '-Хлеб', en: 'Bread;"x"' }, aliases: ['@a'], barcodes: ['1', '2'], price: 3 },
        ...{ cash_allowed: true, owner_type: 1, commission: { pinfl: '12345678901234' }, attributes: { a: '=b' } },
      }),
      catalog.product({ sku: 'plain' }),
    ]);
    const before = (await catalog.ask('GET', '/v1/catalog/products')).body.data;
    const file = await get(`/v1/catalog/export?format=${format}`);
    expect((await send(format, file)).body.progress).toMatchObject({ rows: 2, unchanged: 2 });
    await catalog.put([catalog.product({ sku: 'later' })]);
    await catalog.ask('PATCH', '/v1/catalog/products/plain', { price: 9 });
    expect((await send(format, file, 'full')).body.progress).toMatchObject({ updated: 1, unchanged: 1, archived: 1 });
    const after = (await catalog.ask('GET', '/v1/catalog/products')).body.data;
    const content = ({ etag: _etag, updated_at: _at, ...rest }: Record<string, unknown>): unknown => rest;
    expect(after.map(content)).toEqual(before.map(content));
  });
});

test.each<[string, FileFormat, string | Buffer, string]>([
  ['columns that there are not', 'csv', 'sku,spic,colour\n1,2,red\n', 'colour'],
  ['a column twice', 'csv', 'sku,spic,sku\n', 'twice'],
  ['no columns', 'csv', '1,2,3\n', 'There is no column'],
  ['nothing', 'csv', '\n', 'empty'],
  ['an unclosed quote', 'csv', `sku,spic\n"${'x'.repeat(100)}`, 'cannot be read on'],
  ['no workbook', 'xlsx', randomBytes(1_000), 'no XLSX workbook'],
])('a file with %s is refused as a whole, and nothing of it is taken', async (_name, format, body, reason) => {
  expect(refusalOf(await send(format, body, 'full'))).toContain(reason);
  expect((await catalog.ask('GET', '/v1/catalog/products')).body.data).toEqual([]);
});

test('rows with other encodings, control characters and too many cells are reported each for itself', async () => {
  const good = `a,${BREAD},Хлеб,1500001,12\n`;
  const lines = [
    Buffer.from(`sku,spic,name_ru,package_code,vat_percent\n${good}`),
    Buffer.concat([Buffer.from(`b,${BREAD},`), Buffer.from([0xd5, 0xeb]), Buffer.from(',1500001,12\n')]),
    Buffer.from(`c,${BREAD},x\u0007y\u0000,1500001,12\n`),
    Buffer.from(`d,${BREAD},x,1500001,12,and,more\n`),
    Buffer.from(`e,${BREAD},${'x'.repeat(10 * 1024 * 1024)},1500001,12\n`),
    Buffer.from(`f,${BREAD},x,1500001,twelve\n`),
    Buffer.from(good.replace('a,', 'g,')),
  ];
  const { body } = await send('csv', Buffer.concat(lines));
  expect(body.progress).toMatchObject({ rows: 7, created: 2, rejected: 5 });
  const rejected = (await get(`/v1/catalog/imports/${body.id}/rejected`)).toString().trim().split('\r\n').slice(1);
  expect(rejected).toEqual([
    expect.stringContaining('UTF-8'),
    expect.stringContaining('control characters'),
    expect.stringContaining('more cells'),
    expect.stringContaining('longer than'),
    expect.stringContaining('vat_percent'),
  ]);
});

test('workbooks: formulas, errors and endless cells are reported each for itself', async () => {
  const cells = (...values: string[]): string =>
    values.map((value) => `<c t="inlineStr"><is><t>${value}</t></is></c>`).join('');
  const good = (sku: string): string => cells(sku, BREAD, 'Хлеб', '1500001', '12');
  const rows = [
    cells('sku', 'spic', 'name_ru', 'package_code', 'vat_percent'),
    good('a'),
    `${cells('b', BREAD)}<c t="str"><f>A1&amp;"x"</f><v>x</v></c>${cells('1500001', '12')}`,
    `${cells('c', BREAD)}<c t="e"><v>#REF!</v></c>${cells('1500001', '12')}`,
    cells('d', BREAD, randomBytes(7_500_000).toString('base64'), '1500001', '12'),
    cells('e', '190500100100000112', 'Хлеб', '1500001', '12'),
    good('a'),
    good('f'),
  ];
  const zip = new ZipFile();
  const sheet = `<worksheet><sheetData>${rows.map((row) => `<row>${row}</row>`).join('')}</sheetData></worksheet>`;
  zip.addBuffer(Buffer.from(sheet), 'xl/worksheets/sheet1.xml');
  zip.end();
  const { body } = await send('xlsx', await buffer(zip.outputStream));
  expect(body.progress).toMatchObject({ rows: 7, created: 2, rejected: 5 });
  const [first] = await catalog.gateway.prisma.$queryRaw<{ reasons: string[] }[]>`
    SELECT array_agg(reasons ORDER BY number) AS reasons FROM catalog_import_rejects WHERE import_id = ${body.id}`;
  expect(first?.reasons).toEqual([
    expect.stringContaining('formula'),
    expect.stringContaining('#REF!'),
    expect.stringContaining('longer than'),
    expect.stringContaining('spic must have 17 digits'),
    expect.stringContaining('same sku'),
  ]);
});

test('a workbook that unpacks to more than any sheet is refused as a whole', async () => {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.alloc(64 * 1024 * 1024, ' '), 'xl/worksheets/sheet1.xml');
  zip.end();
  expect(refusalOf(await send('xlsx', await buffer(zip.outputStream), 'full'))).toContain('unpacks');
});

test('rows as large as they may be are taken in smaller batches: a thousand of them would not fit into memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'import-'));
  try {
    const path = join(folder, 'large.jsonl');
    const line = (index: number): string => `{"sku":"l${index}","attributes":{"x":"${'x'.repeat(200_000)}"}}\n`;
    await writeFile(path, Array.from({ length: 20 }, (_, index) => line(index)).join(''));
    const batches: number[] = [];
    const caller = { merchantId: catalog.gateway.merchantId, actor: 'cli', address: null, requestId: 'cmd_1' };
    const counts = await catalog.gateway.app
      .get(ImportProducts, { strict: false })
      .execute(
        caller,
        { path, format: 'jsonl', mode: 'upsert' },
        { columns: () => undefined, rejected: (rows) => void batches.push(rows.length), progress: () => undefined },
      );
    expect(counts).toMatchObject({ rows: 20, rejected: 20 });
    expect(batches).toEqual([3, 3, 3, 3, 3, 3, 2]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a file that takes longer to read than its size explains is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'import-'));
  const job = { path: join(folder, 'slow.csv'), format: 'csv', scratch: folder } as const;
  try {
    await writeFile(job.path, `sku,spic\n1,${BREAD}\n`);
    // Less than any thread takes to begin.
    const open = ProductsFile.open(job, { ms: 1, msPerMib: 0 });
    await expect(open).rejects.toThrow('The file takes too long to read.');
    const file = await ProductsFile.open(job, { ms: 1, msPerMib: 1e12 });
    await file.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

const opened = '['.repeat(32_000);
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test.each<[string, FileFormat, string, string]>([
  ['lists', 'csv', `"${opened}${opened.replaceAll('[', ']')}"`, 'the row is nested more than 16 levels deep'],
  ['objects', 'csv', `"${objects(10_000).replaceAll('"', '""')}"`, 'the row is nested more than 16 levels deep'],
  ['objects', 'jsonl', objects(1_990), 'the line is nested more than 16 levels deep'],
  ['many aliases', 'csv', `,${'a|'.repeat(3_000)}`, 'the row has more than 2000 values'],
])('%s that no thread hands on are a fault of their row (%s)', async (_what, format, value, reason) => {
  const head = 'sku,spic,name_ru,package_code,vat_percent,attributes,aliases\n';
  const good = { sku: 'good', spic: BREAD, name: 'Хлеб', package_code: '1500001', vat_percent: 12 };
  const rows =
    format === 'csv'
      ? `${head}deep,${BREAD},x,1500001,12,${value}\ngood,${BREAD},Хлеб,1500001,12\n`
      : `{"sku":"deep","attributes":${value}}\n${JSON.stringify(good)}\n`;
  const { body } = await send(format, rows);
  expect(body).toMatchObject({ state: 'done', progress: { rows: 2, rejected: 1 } });
  const rejected = (await get(`/v1/catalog/imports/${body.id}/rejected`)).toString();
  expect(rejected).toContain(reason);
});

test('a file is taken as it comes: what hangs on its connection is not searched for card data', async () => {
  const headers = {
    ...{ 'content-type': 'text/csv', authorization: `Bearer ${catalog.gateway.token}` },
    'x-note': 'not the body: 8600 4954 7331 6478',
  };
  const body = `sku,spic,name_ru,package_code,vat_percent\nq,${BREAD},Хлеб,1500001,12\n`;
  const response = await fetch(`${catalog.gateway.base}/v1/catalog/imports`, { method: 'POST', headers, body });
  expect([response.status < 300, await response.json()]).toMatchObject([true, { id: expect.any(String) }]);
});

test('files are for their path alone, imports for their merchant alone', async () => {
  const { body } = await send('csv', `sku,spic\n`);
  const { token } = await catalog.stranger();
  for (const path of [`/v1/catalog/imports/${body.id}`, `/v1/catalog/imports/${body.id}/rejected`])
    expect((await catalog.ask('GET', path, undefined, { token })).status).toBe(404);
  expect((await catalog.ask('POST', '/v1/catalog/imports', {})).status).toBe(415);
  const headers = { 'content-type': 'text/csv', authorization: `Bearer ${catalog.gateway.token}` };
  const elsewhere = await fetch(`${catalog.gateway.base}/v1/catalog/products`, { method: 'PUT', headers, body: 'x' });
  expect([elsewhere.status, ((await elsewhere.json()) as { code: string }).code]).toEqual([
    415,
    'unsupported_media_type',
  ]);
  const none = await fetch(`${catalog.gateway.base}/v1/catalog/imports`, { method: 'POST', headers });
  expect([none.status, ((await none.json()) as { code: string }).code]).toEqual([422, 'import_unreadable']);
});
