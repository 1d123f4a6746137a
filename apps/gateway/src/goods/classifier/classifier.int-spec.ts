// Promise: the register changes from one complete version to the next or not at all, merchants learn which products it touches, and a source that misbehaves changes nothing.
import 'reflect-metadata';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClassifierEntry } from '#fiscal-domain';
import { createLogger } from '#runtime';
import { BREAD, CatalogFixture, sampleEntries } from '../catalog/testing/catalog-fixture.js';
import { Classifier } from './classifier.js';
import { ClassifierJob } from './classifier-job.js';
import { ImportRuns, type ImportKind } from './import-runs.js';
import { LoadClassifier, type LoadOutcome } from './load-classifier.js';
import { beginAnew, siteRow } from './testing/begin-anew.js';
import { RegisterSite, type SiteRow } from './testing/register-site.js';

const site = new RegisterSite();
let catalog: CatalogFixture;

beforeAll(async () => {
  await site.start();
  catalog = await CatalogFixture.start();
});

afterAll(async () => {
  await catalog?.stop();
  await site.stop();
});

beforeEach(() => beginAnew(catalog, site, sampleEntries().map(siteRow)));

const load = (kind: ImportKind, source: string): Promise<LoadOutcome> =>
  catalog.gateway.app.get(LoadClassifier, { strict: false }).execute(kind, source, { pausesMs: [5, 5] });

const entry = async (spic: string): Promise<ClassifierEntry> =>
  (await catalog.ask('GET', `/v1/classifier/${spic}`)).body as unknown as ClassifierEntry;

/** Everything that a load could change, as one text. */
async function world(): Promise<string> {
  const [row] = await catalog.gateway.prisma.$queryRaw<{ world: string }[]>`
    SELECT concat((SELECT jsonb_agg(to_jsonb(e) ORDER BY spic) FROM classifier_entries e),
                  (SELECT count(*) FROM classifier_history), (SELECT count(*) FROM affected_products)) AS world`;
  return row?.world ?? '';
}

test('a full export in two languages becomes a version; what it no longer has ends; merchants learn of their products', async () => {
  const { token, merchantId } = await catalog.stranger();
  await catalog.put([
    catalog.product({ sku: 'gone' }),
    catalog.product({ sku: 'repacked', spic: '00401001001000003', package_code: '1500005' }),
    catalog.product({ sku: 'marked', spic: '00403001001000004', package_code: '1500007' }),
    catalog.product({ sku: 'same', spic: '00405001001000006', package_code: '1500011' }),
  ]);
  await catalog.put([catalog.product({ sku: 'theirs' })], token);
  site.rows = site.rows
    .filter(({ spic }) => spic !== BREAD)
    .map((row) => (row.spic === '00401001001000003' ? { ...row, packages: [{ code: '7', name: 'ящик' }] } : row))
    .map((row) => (row.spic === '00403001001000004' ? { ...row, marked: true, cash: false } : row));
  site.rows.push({
    ...siteRow(sampleEntries()[0] as ClassifierEntry),
    spic: '99999999999999999',
    ru: 'Новое',
    uz: 'Yangi',
  });
  const outcome = await load('full', site.fullUrl);
  expect(outcome).toMatchObject({ kind: 'applied', version: 2, added: 1, ended: 1, affected: 4, rejected: 0 });
  expect(await entry(BREAD)).toMatchObject({ active: false, version: 2, name: { ru: 'Хлеб пшеничный формовой' } });
  expect(await entry('99999999999999999')).toMatchObject({
    name: { ru: 'Новое', uz: 'Yangi', en: 'Новое' },
    ...{ active: true, units: 796, vat_percents: [0, 12], version: 2 },
  });
  expect((await entry('00405001001000006')).version).toBe(1);
  expect((await catalog.ask('GET', '/v1/catalog/affected')).body.data).toMatchObject([
    { sku: 'gone', reasons: ['inactive'], classifier_version: 2 },
    { sku: 'marked', reasons: ['now_marked', 'cash_forbidden'] },
    { sku: 'repacked', reasons: ['package_removed'] },
  ]);
  expect((await catalog.ask('GET', '/v1/catalog/affected?limit=1', undefined, { token })).body.data).toMatchObject([
    { sku: 'theirs', reasons: ['inactive'] },
  ]);
  const events = await catalog.gateway.prisma.$queryRaw<{ merchant_id: string; data: unknown }[]>`
    SELECT merchant_id, data FROM events WHERE type = 'catalog.product_affected' AND data->>'classifier_version' = '2'`;
  expect(events.find((event) => event.merchant_id === merchantId)?.data).toMatchObject({
    products: 1,
    skus: ['theirs'],
  });
  expect(events).toHaveLength(2);
  // The version before is kept.
  const [before] = await catalog.gateway.prisma.$queryRaw<{ entry: { active: boolean; version: number } }[]>`
    SELECT entry FROM classifier_history WHERE spic = ${BREAD} AND replaced_in = 2`;
  expect(before?.entry).toMatchObject({ active: true, version: 1 });
  // The same again is no new version, and a sale notices at once.
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: null });
  const { body } = await catalog.ask('POST', '/v1/catalog/resolve', { items: [{ sku: 'gone' }] });
  expect(body.items[0]?.errors[0]?.code).toBe('E-013');
});

test('changes by time and codes out of force are taken over on top; of one code the newest counts', async () => {
  const change = (mxik: string, updatedAt: string, more: Record<string, unknown>) => ({ mxik, updatedAt, ...more });
  const [today, before] = [new Date().toISOString(), new Date(Date.now() - 3_600_000).toISOString()];
  site.changes = [
    [
      change(BREAD, today, { nameRu: 'Хлеб новый', isActive: 1, label: 1 }),
      change('12345678901234567', today, { name: 'Чай', packageNames: [{ code: 5, nameRu: 'пачка' }] }),
    ],
    [
      change(BREAD, before, { nameRu: 'Хлеб старый' }),
      change(BREAD, '2001-01-01', { nameRu: 'Хлеб древний' }),
      { mxik: '1' },
    ],
  ];
  expect(await load('changes', site.changesUrl)).toMatchObject({
    kind: 'applied',
    version: 2,
    added: 1,
    changed: 1,
    rejected: 1,
  });
  expect(await entry(BREAD)).toMatchObject({
    name: { ru: 'Хлеб новый', uz: expect.stringContaining('Bug') as unknown },
    marked: true,
  });
  expect(await entry('12345678901234567')).toMatchObject({ packages: [{ code: '5', name: 'пачка' }], active: true });
  site.inactive = [BREAD, '55555555555555555'];
  expect(await load('inactive', site.inactiveUrl)).toMatchObject({ kind: 'applied', version: 3, added: 0, ended: 1 });
  expect((await entry(BREAD)).active).toBe(false);
  expect((await catalog.ask('GET', '/v1/classifier/55555555555555555')).status).toBe(404);
});

test('a feed that has gone back in time since the last load brings nothing old back', async () => {
  const at = (hours: number, nameRu: string): Record<string, unknown> => ({
    ...{ mxik: BREAD, nameRu, updatedAt: new Date(Date.now() - hours * 3_600_000).toISOString() },
  });
  site.changes = [[at(1, 'Хлеб новый')]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ version: 2, changed: 1 });
  site.changes = [[at(2, 'Хлеб прежний'), { mxik: '00405001001000006', nameRu: 'Масло иное' }]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ version: 3, changed: 1 });
  expect((await entry(BREAD)).name.ru).toBe('Хлеб новый');
  expect((await entry('00405001001000006')).name.ru).toBe('Масло иное');
  // A time to come counts as now, and does not shut out changes reported until then; a workbook has no times.
  site.changes = [[at(-48, 'Хлеб будущий')]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ version: 4, changed: 1 });
  site.rows = site.rows.map((row) => (row.spic === BREAD ? { ...row, ru: 'Хлеб из книги' } : row));
  expect(await load('full', site.fullUrl)).toMatchObject({ version: 5 });
  expect((await entry(BREAD)).name.ru).toBe('Хлеб из книги');
  site.changes = [[at(0, 'Хлеб новейший')]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ version: 6, changed: 1 });
});

test('a relief that a source reports changes no VAT: not of the code, not of a product, not of a line', async () => {
  await catalog.put([catalog.product({ sku: 'bread' })]);
  const relief = { lgotaId: 7, lgotaName: 'без НДС', vatPercent: 0, vat: 0, nds: 0, vat_percents: [0] };
  site.changes = [[{ mxik: BREAD, nameRu: 'Хлеб льготный', ...relief }]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ kind: 'applied', changed: 1, affected: 0 });
  expect(await entry(BREAD)).toMatchObject({ name: { ru: 'Хлеб льготный' }, vat_percents: [0, 12] });
  expect((await catalog.ask('GET', '/v1/catalog/products/bread')).body['vat_percent']).toBe(12);
  const { body } = await catalog.ask('POST', '/v1/catalog/resolve', { items: [{ sku: 'bread' }] });
  expect(body.items[0]).toMatchObject({ vat_percent: 12, errors: [] });
  // Where no rate was given, it is asked for; none is taken from a relief.
  const open = await catalog.put([catalog.product({ sku: 'open', vat_percent: undefined })]);
  expect(open.body.results[0]?.errors).toMatchObject([{ pointer: '/vat_percent', code: 'required' }]);
});

test('changes and codes out of force are fetched over and over by themselves, until the program ends', async () => {
  site.inactive = [BREAD];
  const logged: string[] = [];
  const job = new ClassifierJob(
    catalog.gateway.app.get(LoadClassifier, { strict: false }),
    { changesUrl: site.changesUrl, inactiveUrl: site.inactiveUrl, everyMs: 10 },
    createLogger('test', 'info', { write: (line: string) => void logged.push(line) }),
  );
  const fetched = (): number => logged.filter((line) => line.includes('register fetched')).length;
  job.onApplicationBootstrap();
  while (fetched() < 4) await delay(5);
  expect((await entry(BREAD)).active).toBe(false);
  // It ends while something is in hand: that is finished, and then it is quiet, else this never ends.
  site.troubles = ['hang'];
  while (site.troubles.length > 0) await delay(5);
  job.onModuleDestroy();
  site.release();
  for (let asked = -1; asked !== site.asked.length; await delay(1_000)) asked = site.asked.length;
});

test.each<[string, ImportKind, () => void, string]>([
  ['errors that stay', 'full', () => site.troubles.push('error', 'error', 'error'), 'answered 500'],
  ['a web page', 'full', () => site.troubles.push('html'), 'no XLSX workbook'],
  ['a web page as a feed', 'changes', () => site.troubles.push('html', 'html', 'html'), 'something else than JSON'],
  ['a connection that breaks', 'full', () => site.troubles.push('cut', 'cut', 'cut'), 'cannot be reached'],
  ['a list of nothing', 'inactive', () => undefined, 'no code'],
  ['a feed that repeats itself', 'changes', () => repeatPages(), 'repeats page 1'],
])('%s: nothing is taken over', async (_name, kind, prepare, reason) => {
  prepare();
  const before = await world();
  const sources = { full: site.fullUrl, changes: site.changesUrl, inactive: site.inactiveUrl, lines: '' };
  expect(await load(kind, sources[kind])).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining(reason) as unknown,
  });
  expect(await world()).toBe(before);
});

test('a feed that was stuck is read from its beginning the next time', async () => {
  repeatPages();
  expect(await load('changes', site.changesUrl)).toMatchObject({ kind: 'failed' });
  site.asked.length = 0;
  site.changes = [[{ mxik: BREAD, nameRu: 'Другое' }]];
  expect(await load('changes', site.changesUrl)).toMatchObject({ kind: 'applied', version: 2 });
  expect(site.asked[0]).toContain('page=0');
});

function repeatPages(): void {
  site.changes = [[{ mxik: BREAD, nameRu: 'Другое' }]];
  site.changes[1] = site.changes[0] ?? [];
}

test('a source that stumbles is asked again; a load that was cut off goes on where it was', async () => {
  site.rows[0] = { ...(site.rows[0] as SiteRow), ru: 'Хлеб иной' };
  // The second language fails for good.
  const answers = [undefined, 'error', 'error', 'error'];
  site.troubles = answers as typeof site.troubles;
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'failed' });
  expect(site.asked).toHaveLength(4);
  site.asked.length = 0;
  site.troubles = ['error'];
  expect(await load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 2 });
  expect(site.asked).toEqual(['category?lang=uz_latn', 'category?lang=uz_latn']);
  expect((await entry(BREAD)).name.ru).toBe('Хлеб иной');
});

test('busy while another load goes on; a load that has died does not block', async () => {
  const runs = catalog.gateway.app.get(ImportRuns, { strict: false });
  await runs.claim('full', 'elsewhere');
  site.inactive = [BREAD];
  expect(await load('inactive', site.inactiveUrl)).toEqual({ kind: 'busy' });
  await catalog.gateway.prisma.$executeRaw`UPDATE classifier_imports SET seen_at = now() - interval '3 minutes'`;
  expect(await load('inactive', site.inactiveUrl)).toMatchObject({ kind: 'applied', ended: 1 });
});

test('what is exported another gateway loads', async () => {
  const response = await fetch(`${catalog.gateway.base}/v1/classifier/export`, {
    headers: { authorization: `Bearer ${catalog.gateway.token}` },
  });
  expect(response.headers.get('x-classifier-version')).toBe('1');
  const text = await response.text();
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ClassifierEntry);
  const packages = (each: ClassifierEntry): unknown => ({
    ...each,
    packages: [...each.packages].sort((a, b) => (a.code < b.code ? -1 : 1)),
  });
  expect(lines.map(packages)).toEqual(
    sampleEntries()
      .sort((a, b) => (a.spic < b.spic ? -1 : 1))
      .map(packages),
  );
  const folder = await mkdtemp(join(tmpdir(), 'classifier-test-'));
  try {
    const file = join(folder, 'export.jsonl');
    await writeFile(file, text);
    expect(await load('lines', file)).toMatchObject({ kind: 'applied', version: null, rejected: 0 });
    await writeFile(file, `${text}{"spic":"123"}\nnonsense\n`);
    expect(await load('lines', file)).toMatchObject({ kind: 'applied', rejected: 2 });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an export that began before a new version gives the one of its beginning, whole', async () => {
  const classifier = catalog.gateway.app.get(Classifier, { strict: false });
  const exportAsOf = async (version: number): Promise<string> => {
    let text = '';
    for await (const piece of classifier.export(version)) text += piece;
    return text;
  };
  const [version, before] = [await classifier.version(), await exportAsOf(1)];
  site.rows = site.rows.slice(1);
  site.rows.push({ ...siteRow(sampleEntries()[0] as ClassifierEntry), spic: '99999999999999999' });
  await load('full', site.fullUrl);
  expect(version).toBe(1);
  expect(await exportAsOf(1)).toBe(before);
  expect(await exportAsOf(2)).not.toBe(before);
});

test('codes are found by words of three languages and by their beginning; the first load makes them searchable', async () => {
  await load('full', site.fullUrl);
  site.rows[0] = { ...(site.rows[0] as SiteRow), ru: 'Хлеб ржаной', uz: 'Javdar noni' };
  await load('full', site.fullUrl);
  const find = async (q: string): Promise<unknown[]> =>
    (await catalog.ask('GET', `/v1/classifier?q=${encodeURIComponent(q)}`)).body.data.map(({ spic }) => spic);
  expect(await find('ржаной хлеб')).toEqual([BREAD]);
  expect(await find('javdar')).toEqual([BREAD]);
  expect(await find('ржанной')).toEqual([BREAD]);
  expect(await find('0190500100100')).toContain(BREAD);
  expect(await find('01905001001000001')).toEqual([BREAD]);
  const all = (await catalog.ask('GET', '/v1/classifier?limit=100&active=true')).body.data;
  expect(all.length).toBeGreaterThan(50);
});
