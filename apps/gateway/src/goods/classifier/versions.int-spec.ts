// Promise: half a register is never put in force; a person can go back to an earlier version, whole and on record, and nothing brings the newer one back unsaid.
import 'reflect-metadata';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { ClassifierEntry } from '#fiscal-domain';
import { createLogger } from '#runtime';
import { BREAD, CatalogFixture, sampleEntries } from '../catalog/testing/catalog-fixture.js';
import { xlsxStream } from '../sheets/xlsx-writer.js';
import { ClassifierJob } from './classifier-job.js';
import { GoBack, type BackOutcome } from './go-back.js';
import { ImportRuns, type ImportKind } from './import-runs.js';
import { LoadClassifier, type LoadOptions, type LoadOutcome } from './load-classifier.js';
import { beginAnew, siteRow } from './testing/begin-anew.js';
import { RegisterSite, type SiteRow } from './testing/register-site.js';

const NEW_CODE = '99999999999999999';
const CHEESE = '00403001001000004';
const OPERATOR = { actor: 'cli', address: null, requestId: 'cmd_1' };
const site = new RegisterSite();
let catalog: CatalogFixture;
let folder: string;

beforeAll(async () => {
  await site.start();
  catalog = await CatalogFixture.start();
  folder = await mkdtemp(join(tmpdir(), 'classifier-versions-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
  await catalog?.stop();
  await site.stop();
});

beforeEach(() =>
  beginAnew(
    catalog,
    site,
    sampleEntries()
      .filter(({ active }) => active)
      .map(siteRow),
  ),
);

const load = (kind: ImportKind, source: string, options: LoadOptions = {}): Promise<LoadOutcome> =>
  catalog.gateway.app.get(LoadClassifier, { strict: false }).execute(kind, source, { pausesMs: [5], ...options });

const back = (to: number | null = null): Promise<BackOutcome> =>
  catalog.gateway.app.get(GoBack, { strict: false }).execute(OPERATOR, { to, reason: 'wrong codes' });

const entry = async (spic: string): Promise<ClassifierEntry> =>
  (await catalog.ask('GET', `/v1/classifier/${spic}`)).body as unknown as ClassifierEntry;

/** Everything that may not change when nothing was taken over. */
async function world(): Promise<string> {
  const [row] = await catalog.gateway.prisma.$queryRaw<{ world: string }[]>`
    SELECT concat((SELECT jsonb_agg(to_jsonb(e) ORDER BY spic) FROM classifier_entries e),
                  (SELECT count(*) FROM classifier_history), (SELECT count(*) FROM affected_products)) AS world`;
  return row?.world ?? '';
}

/** Version 2: bread has ended, cheese is marked, one code is new. */
async function loadNextVersion(): Promise<void> {
  site.rows = site.rows
    .filter(({ spic }) => spic !== BREAD)
    .map((row) => (row.spic === CHEESE ? { ...row, marked: true } : row));
  site.rows.push({ ...siteRow(sampleEntries()[0] as ClassifierEntry), spic: NEW_CODE, ru: 'Новое', uz: 'Yangi' });
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 2 });
}

test('going back puts the version before in force as a new one, on every trail, and notifies the merchants whose products it touches', async () => {
  const { merchantId } = await catalog.stranger();
  await catalog.put([catalog.product({ sku: 'bread' })]);
  const contentBefore = (await entry(BREAD)).name;
  await loadNextVersion();
  await catalog.put([catalog.product({ sku: 'new', spic: NEW_CODE })]);
  expect(await back()).toMatchObject({ kind: 'applied', version: 3, restored: 1, changed: 3, ended: 1, affected: 1 });
  expect(await entry(BREAD)).toMatchObject({ active: true, version: 3, name: contentBefore });
  expect(await entry(CHEESE)).toMatchObject({ marked: false, version: 3 });
  expect(await entry(NEW_CODE)).toMatchObject({ active: false, version: 3 });
  expect((await entry('00405001001000006')).version).toBe(1);
  expect((await catalog.ask('GET', '/v1/catalog/affected?version=3')).body.data).toMatchObject([
    { sku: 'new', reasons: ['inactive'] },
  ]);
  const events = await catalog.gateway.prisma.$queryRaw<{ data: unknown }[]>`
    SELECT data FROM events WHERE type = 'catalog.product_affected' AND data->>'classifier_version' = '3'`;
  expect(events).toMatchObject([{ data: { products: 1, skus: ['new'] } }]);
  const trail = await catalog.gateway.prisma.auditRecord.findMany({ where: { action: 'classifier.go_back' } });
  expect(trail.map((record) => record.merchantId)).toEqual(
    expect.arrayContaining([catalog.gateway.merchantId, merchantId]),
  );
  expect(trail[0]).toMatchObject({
    before: { version: 2, restored_version: 2 },
    after: { version: 3, restored_version: 1, fetching: 'held', reason: 'wrong codes' },
  });
  // A sale goes by it at once.
  const { body } = await catalog.ask('POST', '/v1/catalog/resolve', { items: [{ sku: 'bread' }, { sku: 'new' }] });
  expect(body.items.map(({ errors }) => errors[0]?.code)).toEqual([undefined, 'E-013']);
});

test('one can go back to any version that was, also to the one that was left; what is in force already is reported as such', async () => {
  expect(await back()).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('no version before') as unknown,
  });
  await loadNextVersion();
  expect(await back(2)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('already') as unknown });
  expect(await back(7)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('no version 7') as unknown });
  const second = JSON.stringify(await contentNow());
  await back();
  expect(await back()).toMatchObject({ kind: 'refused' });
  expect(await back(2)).toMatchObject({ kind: 'applied', version: 4, restored: 2 });
  expect(JSON.stringify(await contentNow())).toBe(second);
  // The one before is counted from what is in force, not from the order of the decisions.
  expect(await back()).toMatchObject({ kind: 'applied', version: 5, restored: 1 });
});

async function contentNow(): Promise<unknown[]> {
  return catalog.gateway.prisma.$queryRaw<unknown[]>`
    SELECT to_jsonb(e) - 'version' AS entry FROM classifier_entries e ORDER BY spic`;
}

test('after going back nothing is fetched by itself until a person says so, and then from where that version was', async () => {
  await loadNextVersion();
  await catalog.gateway.prisma.$executeRaw`UPDATE classifier_imports SET reached_at = '2025-03-04' WHERE version = 2`;
  site.changes = [[{ mxik: CHEESE, nameRu: 'Сыр иной', updatedAt: new Date().toISOString() }]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ version: 3 });
  expect(await back()).toMatchObject({ version: 4, restored: 2 });
  const logged: string[] = [];
  const job = new ClassifierJob(
    catalog.gateway.app.get(LoadClassifier, { strict: false }),
    { changesUrl: site.changesUrl, inactiveUrl: undefined, everyMs: 1_000_000 },
    createLogger('test', 'info', { write: (line: string) => void logged.push(line) }),
  );
  site.asked.length = 0;
  await job.fetchChanges();
  expect(site.asked).toEqual([]);
  expect(logged.join()).toContain('classifier resume');
  expect(await catalog.gateway.app.get(GoBack, { strict: false }).resume(OPERATOR, 'mended')).toBe(true);
  expect(await catalog.gateway.app.get(GoBack, { strict: false }).resume(OPERATOR, 'mended')).toBe(false);
  const [record] = await catalog.gateway.prisma.auditRecord.findMany({ where: { action: 'classifier.resume' } });
  expect(record?.after).toMatchObject({ fetching: 'on', reason: 'mended' });
  await job.fetchChanges();
  expect(site.asked[0]).toContain('startDate=2025-03-03');
  expect((await entry(CHEESE)).name.ru).toBe('Сыр иной');
});

test('a load by hand lifts the hold; one that was cut off before is not gone on with', async () => {
  await loadNextVersion();
  site.troubles = [undefined, 'error', 'error'] as unknown as typeof site.troubles;
  site.rows[0] = { ...(site.rows[0] as SiteRow), ru: 'Иное' };
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'failed' });
  expect(await back()).toMatchObject({ kind: 'applied' });
  expect(await load('changes', site.changesUrl, { unattended: true })).toEqual({ kind: 'held' });
  site.asked.length = 0;
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 4 });
  expect(site.asked).toEqual(['category?lang=ru', 'category?lang=uz_latn']);
  expect(await load('changes', site.changesUrl, { unattended: true })).toMatchObject({ kind: 'applied' });
});

test('busy for going back while a load goes on', async () => {
  await loadNextVersion();
  await catalog.gateway.app.get(ImportRuns, { strict: false }).claim('full', 'elsewhere');
  const before = await world();
  expect(await back()).toEqual({ kind: 'busy' });
  expect(await world()).toBe(before);
});

const COUNT = 2_000;
const codeOf = (number: number): string => String(20_000_000_000_000_000n + BigInt(number));

async function storeMany(): Promise<void> {
  await catalog.gateway.prisma.$executeRaw`
    INSERT INTO classifier_entries (spic, name, packages, units, marked, cash_allowed, vat_percents, active, version)
    SELECT (20000000000000000 + n)::text, '{"ru": "x"}', '[]', 796, false, true, '{0,12}', true, 1
      FROM generate_series(1, ${COUNT}::int) n`;
}

async function workbook(codes: readonly string[]): Promise<string> {
  const file = join(folder, 'register.xlsx');
  const rows = codes.map((code) => [code, 'x']);
  await pipeline(xlsxStream([['ИКПУ', 'Наименование'], ...rows]), createWriteStream(file));
  return file;
}

const someCodes = (count: number): string[] => [
  ...sampleEntries().map(({ spic }) => spic),
  ...Array.from({ length: count }, (_, index) => codeOf(index + 1)),
];

test('suspiciously fewer codes are not taken over, and are when a person has checked; a mended source is read anew', async () => {
  await storeMany();
  const before = await world();
  const file = await workbook(someCodes(COUNT - 300));
  expect(await load('full', file)).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining(`would end 300 of ${COUNT + sampleEntries().length} codes`) as unknown,
  });
  expect(await world()).toBe(before);
  await workbook(someCodes(COUNT - 100));
  expect(await load('full', file)).toMatchObject({ kind: 'applied', version: 2, ended: 100 });
  await workbook(someCodes(COUNT / 2));
  expect(await load('full', file)).toMatchObject({ kind: 'failed' });
  expect(await load('full', file, { allowsFewer: true })).toMatchObject({ kind: 'applied', ended: 900 });
});

test('going back does not end most of the register unless the version is named', async () => {
  const file = await workbook(someCodes(COUNT));
  expect(await load('full', file)).toMatchObject({ kind: 'applied', version: 2, added: COUNT });
  const before = await world();
  expect(await back()).toMatchObject({ kind: 'refused', reason: expect.stringContaining('would end 2001') as unknown });
  expect(await world()).toBe(before);
  expect(await back(1)).toMatchObject({ kind: 'applied', restored: 1, ended: 2_001 });
});

test.each<[string, ImportKind, () => Promise<string>, string]>([
  [
    'a workbook whose end is missing',
    'full',
    async () => {
      const file = await workbook(someCodes(COUNT));
      const bytes = await readFile(file);
      await writeFile(file, bytes.subarray(0, Math.floor(bytes.length * 0.6)));
      return file;
    },
    'no XLSX workbook',
  ],
  [
    'a workbook of which much cannot be read',
    'full',
    () => workbook(someCodes(COUNT).map((code, index) => (index % 5 === 0 ? `№ ${index}` : code))),
    'rows cannot be read',
  ],
  [
    'an archive that unpacks to more than any sheet',
    'full',
    async () => {
      const file = join(folder, 'bomb.xlsx');
      const zip = new ZipFile();
      zip.addBuffer(Buffer.alloc(64 * 1024 * 1024, ' '), 'xl/worksheets/sheet1.xml');
      zip.end();
      await pipeline(zip.outputStream, createWriteStream(file));
      return file;
    },
    'unpacks to',
  ],
  [
    'a workbook with other columns',
    'full',
    async () => {
      const file = join(folder, 'other.xlsx');
      await pipeline(
        xlsxStream([
          ['Товар', 'Цена'],
          ['Хлеб', 5],
        ]),
        createWriteStream(file),
      );
      return file;
    },
    'no column with the code',
  ],
  [
    'lines that end within a line',
    'lines',
    async () => {
      const file = join(folder, 'register.jsonl');
      const lines = sampleEntries().map((each) => JSON.stringify(each));
      await writeFile(file, lines.join('\n').slice(0, -20));
      return file;
    },
    'ends within a line',
  ],
  [
    'lines that end early',
    'lines',
    async () => {
      const file = join(folder, 'register.jsonl');
      await writeFile(
        file,
        sampleEntries()
          .map((each) => `${JSON.stringify(each)}\n`)
          .join(''),
      );
      return file;
    },
    'as if it were cut off',
  ],
])('%s: nothing is taken over', async (_name, kind, prepare, reason) => {
  await storeMany();
  const before = await world();
  const file = await prepare();
  expect(await load(kind, file)).toMatchObject({ kind: 'failed', reason: expect.stringContaining(reason) as unknown });
  expect(await world()).toBe(before);
});
