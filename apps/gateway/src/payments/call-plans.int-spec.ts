// Promise: what is asked of a payment's calls reads the months since it was made alone, and of these its own few rows, however many there are
// and however many months are kept.
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, planOf, recorded, visitedRows, type TestDatabase } from '#database/testing';
import { TIMELINE_SOURCES } from '../notify/timeline/timeline-sources.js';
import { InboundRepository } from './inbound/inbound.repository.js';
import { disagreementsOf } from './reconciliation.js';
import { PaymentRepository } from './repository/payment.repository.js';

const MONTHS = 13;
const PER_MONTH = 2_000;
let database: TestDatabase;
let client: pg.Client;
/** Names of the partitions of this month and those to come, of both tables. */
let recent: Set<string>;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '\\x00')`);
  // The first partition, which holds all up to today, is that of thirteen months.
  for (const table of ['payment_calls', 'provider_callbacks']) {
    await client.query(`ALTER TABLE ${table} DETACH PARTITION parts.${table}_first; DROP TABLE parts.${table}_first`);
    const { rows } = await client.query<{ ends: Date }>(
      `SELECT min(lower_id)::timestamptz AS ends FROM partitions_of($1)`,
      [table],
    );
    const ends = rows[0]?.ends ?? new Date();
    const before = (months: number): string =>
      new Date(Date.UTC(ends.getUTCFullYear(), ends.getUTCMonth() - months, 1)).toISOString();
    for (let month = MONTHS; month > 0; month -= 1)
      await client.query(`SELECT create_partition($1, $2, $3)`, [
        table,
        `${table}_${before(month).slice(0, 7).replace('-', '')}`,
        `FROM (${month === MONTHS ? 'MINVALUE' : `'${before(month)}'`}) TO ('${before(month - 1)}')`,
      ]);
  }
  const names = await client.query<{ name: string }>(
    `SELECT name FROM (VALUES ('payment_calls'), ('provider_callbacks')) t (of_table), partitions_of(of_table)
      WHERE upper_id IS NULL OR upper_id::timestamptz > now() - interval '2 days'`,
  );
  recent = new Set(names.rows.map(({ name }) => name));
  // One payment of this moment; each other has two calls of each kind, in its own month.
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin, vat_total_tiyin)
     VALUES ('rcp_new', 'mer_1', 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_1', '{}', 1, 0)`,
  );
  await client.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at, due_at)
     SELECT CASE n WHEN 0 THEN 'pay_new' ELSE 'pay_' || n END, 'mer_1', 'pac_1', CASE n WHEN 0 THEN 'rcp_new' ELSE 'rcp_' || n END, 'payme', 'hold',
            (CASE n WHEN 0 THEN 'authorized' ELSE 'captured' END)::payment_state, 1, now(),
            now() - n * interval '13 months' / $1::int4, CASE n WHEN 0 THEN now() END FROM generate_series(0, $1::int4) AS n`,
    [(MONTHS * PER_MONTH) / 2],
  );
  await client.query(
    `INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at, outcome)
     SELECT id, 'capture', 'l', created_at + interval '1 second', now(), '{"kind": "status"}' FROM payments, generate_series(1, 2)`,
  );
  await client.query(
    `INSERT INTO provider_callbacks (account_id, address, operation, payment_id, received_at, answer)
     SELECT 'pac_1', '127.0.0.1', 'x', id, created_at + interval '1 second', '{}' FROM payments, generate_series(1, 2)`,
  );
  await client.query('VACUUM ANALYZE payments, payment_calls, provider_callbacks');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const OF = { merchantId: 'mer_1', receiptId: 'rcp_new', paymentId: 'pay_new', subjects: ['rcp_new', 'pay_new'] };
const inbound = (prisma: unknown): InboundRepository =>
  new InboundRepository(prisma as never, {} as never, {} as never);

const STATEMENTS: [string, Prisma.Sql][] = [
  [
    'the facts of a payment',
    recorded((prisma) =>
      new PaymentRepository(prisma, { leaseSeconds: 60 } as never, {} as never).readFacts('pay_new'),
    ),
  ],
  ['how many of its provider’s calls are kept', recorded((prisma) => inbound(prisma).keptOf(prisma, 'pay_new', 100))],
  ['what money and receipt disagree about', disagreementsOf('mer_1', { limit: 100, afterId: null })],
  ...TIMELINE_SOURCES.map((source) => source(OF))
    .filter(({ text }) => /FROM (payment_calls|provider_callbacks)/.test(text))
    .map((statement, at): [string, Prisma.Sql] => [`source ${String(at + 1)} of a timeline`, statement]),
];

test.each(STATEMENTS)('%s: its own months, and of these its own rows', async (_name, statement) => {
  // As programs do after a while: a plan that is kept knows no values.
  await client.query('SET plan_cache_mode = force_generic_plan');
  const { visited, largest } = await planOf(client, statement);
  const calls = visited.filter((name) => /^(payment_calls|provider_callbacks)_/.test(name));
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter((name) => !recent.has(name))).toEqual([]);
  expect(largest).toBeLessThanOrEqual(10);
});

test('what of an old month may not leave is found by the few that are unfinished, whatever is under way now', async () => {
  await client.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_2', 'busy', 'B', '300000001');
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, due_at)
    SELECT first_id_at('pay', now()) || lpad(n::text, 16, '0'), 'mer_2', 'pac_1', 'rcp_busy_' || n, 'payme', 'hold', 'pending', 1, now(), now()
      FROM generate_series(1, 20000) AS n;
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at, awaits_operator)
    SELECT first_id_at('pay', now() - interval '300 days') || '0', 'mer_1', 'pac_1', 'rcp_old', 'payme', 'hold', 'manual', 1, now(), now() - interval '300 days', true;
    INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at)
    SELECT first_id_at('pay', now() - interval '300 days') || '0', 'void', 'l', now() - interval '300 days', now()`);
  await client.query('VACUUM ANALYZE payments');
  const visited = async (): Promise<number> => {
    await client.query('SELECT pg_stat_force_next_flush()');
    return visitedRows(client, ['payments']);
  };
  const before = await visited();
  const { rows } = await client.query<{ staying: string[] }>(
    `SELECT staying_payment_calls(now() - interval '310 days', now() - interval '280 days', 2001) AS staying`,
  );
  expect(rows[0]?.staying).toHaveLength(1);
  expect((await visited()) - before).toBeLessThan(100);
});
