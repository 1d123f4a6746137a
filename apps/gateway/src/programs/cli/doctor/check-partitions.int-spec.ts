// Promise: the doctor says when partitions of the next months are missing, were not kept for long, or cannot leave, and what to do.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createEmptyDatabase, createTestDatabase, testClient, type TestDatabase } from '#database/testing';
import { migrate, readMigrations } from '../../../../../../scripts/lib/migrations.mjs';
import { checkPartitions } from './check-partitions.js';
import type { Finding } from './finding.js';

let database: TestDatabase;
let prisma: PrismaService;
let owner: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await prisma?.$disconnect();
  await owner?.end();
  await database?.drop();
});

async function finding(check: string): Promise<Finding | undefined> {
  return (await checkPartitions(prisma)).find((one) => one.check === check);
}

/** All but the oldest go, and the last one begins so many days from now. */
async function endAfter(days: number): Promise<void> {
  for (const table of ['webhook_deliveries', 'webhook_attempts']) {
    const { rows } = await owner.query<{ name: string }>('SELECT name FROM partitions_of($1)', [table]);
    for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
    await owner.query(
      `SELECT create_partition($1, $1 || '_a', format('FROM (MINVALUE) TO (%L)', b.id)),
              create_partition($1, $1 || '_b', format('FROM (%L) TO (MAXVALUE)', b.id))
         FROM (SELECT first_id_at('dlv', now() + make_interval(days => $2::int4)) AS id) b`,
      [table, days],
    );
  }
}

test('a new installation has nothing to say about them', async () => {
  const findings = await checkPartitions(prisma);
  expect(findings.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok', 'ok']);
});

test.each([
  [80, 'ok'],
  [60, 'warn'],
  [20, 'bad'],
])('partitions for %d days are %s', async (days, state) => {
  await endAfter(days);
  const found = await finding('partitions ahead');
  expect(found).toMatchObject({ state, found: expect.stringContaining(`for ${days} days`) as unknown });
  expect(found?.do === null).toBe(state === 'ok');
});

test.each([
  [1, 'ok'],
  [7, 'warn'],
  [72, 'bad'],
])('kept %d hours ago is %s', async (hours, state) => {
  await owner.query(`UPDATE partition_rounds SET ended_at = now() - make_interval(hours => $1::int4)`, [hours]);
  expect(await finding('partitions kept')).toMatchObject({
    state,
    found: expect.stringContaining(`${hours} h ago`) as unknown,
  });
});

test.each([
  [6, 'ok'],
  [8, 'warn'],
])('taken off %d days ago and not dropped yet is %s', async (days, state) => {
  await owner.query(`UPDATE partition_rounds SET ended_at = now()`);
  await owner.query(
    `INSERT INTO released_partitions (name, of_table, released_at) VALUES ('webhook_attempts_a', 'webhook_attempts', now() - make_interval(days => $1::int4))
     ON CONFLICT (name) DO UPDATE SET released_at = EXCLUDED.released_at`,
    [days],
  );
  expect(await finding('partitions dropped')).toMatchObject({
    state,
    found: `1 taken off and not dropped, the oldest ${String(days * 24)} h ago`,
  });
});

test('the month that is held is named, also when all of it was delivered lately', async () => {
  await owner.query(`UPDATE partition_rounds SET is_held = true`);
  await endAfter(0);
  expect(await finding('partitions that are over')).toMatchObject({
    state: 'warn',
    found: expect.stringMatching(/webhook_deliveries_a, which ended on \d{4}-\d\d-\d\d/) as unknown,
    do: expect.stringContaining('WEBHOOK_KEEP_DAYS') as unknown,
  });
});

test('what holds a month up is named', async () => {
  await owner.query(`
    UPDATE partition_rounds SET is_held = true WHERE keeper = 'webhooks';
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000');
    INSERT INTO webhook_endpoints (id, merchant_id, url, events) VALUES ('whk_1', 'mer_1', 'https://a.example', '{*}');
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, created_at)
    SELECT 'dlv_01ka' || lpad(n::text, 22, '0'), 'mer_1', 'whk_1', n, 'evt_1', 't', 'rcp_1', 'https://a.example', now() - interval '50 days'
      FROM generate_series(1, 12) AS n`);
  expect(await finding('partitions that are over')).toMatchObject({
    state: 'warn',
    found: expect.stringContaining('whk_1 of mer_1: 12 not delivered') as unknown,
  });
  await owner.query(`
    UPDATE partition_rounds SET is_held = keeper = 'payments';
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '');
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at, awaits_operator)
    VALUES ('pay_1', 'mer_1', 'pac_1', 'rcp_1', 'payme', 'hold', 'manual', 1, now(), now() - interval '40 days', true);
    INSERT INTO provider_callbacks (account_id, address, received_at, body_sealed) VALUES ('pac_1', '127.0.0.1', '2026-01-02T00:00:00Z', '\\x01')`);
  expect(await finding('partitions that are over')).toMatchObject({
    state: 'warn',
    found: expect.stringMatching(/mer_1 has 1 that are not settled; the oldest text is of 2026-01-02/) as unknown,
    do: expect.stringContaining('/v1/payments/reconciliation') as unknown,
  });
  await owner.query(`
    UPDATE partition_rounds SET is_held = keeper = 'attempts';
    SELECT create_partition('attempts', 'attempts_old', format('FROM (%L) TO (%L)', first_id_at('rcp', now() - interval '500 days'), first_id_at('rcp', now() - interval '470 days')));
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
    SELECT first_id_at('rcp', now() - make_interval(days => days)) || repeat('0', 16), 'mer_1', 'cli_1', 'receipts', '', 'sale', status::receipt_status, '{}', 1, 0
      FROM (VALUES (490, 'unknown'), (480, 'rejected'), (460, 'unknown')) r (days, status)`);
  expect(await finding('partitions that are over')).toMatchObject({
    state: 'warn',
    found: expect.stringMatching(/^attempts_old, which ended on .*; mer_1 has 1 receipts without an end$/) as unknown,
    do: expect.stringContaining('archive list') as unknown,
  });
});

test('a conversion that stopped between its migrations is bad: events beyond the bound will be refused', async () => {
  const empty = await createEmptyDatabase();
  const half = testClient(empty.ownerUrl);
  try {
    const migrations = readMigrations().filter(({ name }) => name < '20261125160200_webhook_partitions');
    await migrate({ migrateDatabaseUrl: empty.ownerUrl, databaseUrl: undefined, migrations });
    expect(await checkPartitions(half)).toMatchObject([
      { check: 'partitions ahead', state: 'bad', do: expect.stringContaining('npm run migrate') as unknown },
    ]);
  } finally {
    await half.$disconnect();
    await empty.drop();
  }
});
