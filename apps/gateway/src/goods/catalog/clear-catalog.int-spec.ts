// Promise: what was kept aside for a caller who does not come back leaves the database, and nothing else does.
import type pg from 'pg';
import { createTestDatabase, superuserOf, testClient, type TestDatabase } from '#database/testing';
import { createLogger } from '#runtime';
import { idAt } from '../../http/id-times.js';
import { ClearCatalog } from './clear-catalog.js';
import { CatalogFixture } from './testing/catalog-fixture.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });
let database: TestDatabase;
let client: pg.Client;
let prisma: ReturnType<typeof testClient>;
let clear: ClearCatalog;

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);
const idOf = (prefix: string, days: number): string => idAt(prefix, daysAgo(days), -1);

beforeEach(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  prisma = testClient(database.url);
  clear = new ClearCatalog(prisma, logger);
});
afterEach(async () => {
  await prisma?.$disconnect();
  await client?.end();
  await database?.drop();
});

async function insertSync(days: number, state: string, { pages = 3, commitRequested = false } = {}): Promise<string> {
  const id = `${idOf('syn', days).slice(0, -1)}${state.at(0)}`;
  await client.query(
    `INSERT INTO catalog_syncs (id, merchant_id, state, created_at, commit_requested_at)
     VALUES ($1, 'mer_1', $2::catalog_sync_state, $3, CASE WHEN $4::bool THEN $3::timestamptz END)`,
    [id, state, daysAgo(days), commitRequested],
  );
  await client.query(
    `INSERT INTO catalog_sync_items (sync_id, sku, product) SELECT $1, n::text, 'null' FROM generate_series(1, $2::int) AS n`,
    [id, pages],
  );
  return id;
}

async function left(): Promise<Record<string, string>> {
  const { rows } = await client.query<{ id: string; is: string }>(
    `SELECT id, state || ' ' || (SELECT count(*) FROM catalog_sync_items i WHERE i.sync_id = s.id) AS is FROM catalog_syncs s`,
  );
  return Object.fromEntries(rows.map((row) => [row.id, row.is]));
}

async function all(): Promise<number> {
  let rounds = 1;
  while (await clear.execute()) rounds += 1;
  return rounds;
}

test('a synchronisation that was forgotten is aborted, and its pages leave, in pieces', async () => {
  const [young, old, requested, aborted] = [
    await insertSync(6, 'open'),
    await insertSync(8, 'open', { pages: 4_500 }),
    await insertSync(9, 'open', { commitRequested: true }),
    await insertSync(10, 'aborted'),
  ];
  expect(await all()).toBe(3);
  expect(await left()).toEqual({
    [young]: 'open 3',
    [old]: 'aborted 0',
    [requested]: 'aborted 0',
    [aborted]: 'aborted 0',
  });
});

test('one that is being committed, or to which a page is being added, is left to that', async () => {
  const id = await insertSync(8, 'open');
  await client.query('BEGIN');
  await client.query('SELECT FROM catalog_syncs WHERE id = $1 FOR SHARE', [id]);
  expect(await clear.execute()).toBe(false);
  await client.query('COMMIT');
  expect(await left()).toEqual({ [id]: 'open 3' });
  await clear.execute();
  expect(await left()).toEqual({ [id]: 'aborted 0' });
});

test('rows of files that were refused leave after thirty days', async () => {
  const kept = idOf('imp', 29);
  for (const id of [kept, idOf('imp', 31), idOf('imp', 400)])
    await client.query(
      `INSERT INTO catalog_import_rejects (import_id, number, cells, reasons) SELECT $1, n, '[]', 'x' FROM generate_series(1, 2500) AS n`,
      [id],
    );
  expect(await all()).toBe(3);
  const { rows } = await client.query('SELECT DISTINCT import_id FROM catalog_import_rejects');
  expect(rows).toEqual([{ import_id: kept }]);
});

test('it is said of rows that have left, and pages of a forgotten synchronisation are refused', async () => {
  const catalog = await CatalogFixture.start();
  try {
    const { body } = await catalog.ask('POST', '/v1/catalog/syncs');
    await catalog.ask('PUT', `/v1/catalog/syncs/${body.id}/products`, { products: [catalog.product({ sku: 'a' })] });
    const owner = await superuserOf(catalog.gateway.database);
    try {
      const { rows } = await owner.query<{ merchant_id: string }>('SELECT merchant_id FROM catalog_syncs');
      const old = idOf('syn', 8);
      await owner.query(`UPDATE catalog_syncs SET id = '${old}', created_at = now() - interval '8 days'`);
      await owner.query(`UPDATE catalog_sync_items SET sync_id = '${old}'`);
      const importId = idOf('imp', 31);
      await owner.query(
        `INSERT INTO catalog_imports (id, merchant_id, format, mode, state, created_at) VALUES ($1, $2, 'csv', 'upsert', 'done', now() - interval '31 days')`,
        [importId, rows[0]?.merchant_id],
      );
      await catalog.gateway.app.get(ClearCatalog).execute();
      const page = await catalog.ask('PUT', `/v1/catalog/syncs/${old}/products`, {
        products: [catalog.product({ sku: 'b' })],
      });
      expect([page.status, page.body.code]).toEqual([409, 'sync_closed']);
      const rejected = await catalog.ask('GET', `/v1/catalog/imports/${importId}/rejected`);
      expect([rejected.status, rejected.body.code]).toEqual([404, 'not_found']);
      expect((await catalog.ask('GET', `/v1/catalog/imports/${importId}`)).status).toBe(200);
    } finally {
      await owner.end();
    }
  } finally {
    await catalog.stop();
  }
});
