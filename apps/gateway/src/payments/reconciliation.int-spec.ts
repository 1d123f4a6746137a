// Promise: what disagrees is found without reading the many payments that have come to their end.
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { disagreementsOf } from './reconciliation.js';

const PAYMENTS = 20_000;

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query(`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES ('acc_1', 'mer_1', 'click', 'Click', '{}', '\\x00')`);
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                           total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at, payment_id)
     SELECT 'rcp_' || n, 'mer_1', 'cli_1', 'receipts', '', 'sale', 'registered', n, 'dev_1', '{}', 1, 0, 'UZ', n, now(), 'pay_' || n
       FROM generate_series(1, $1::int) AS n`,
    [PAYMENTS],
  );
  await client.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, link)
     SELECT 'pay_' || n, 'mer_1', 'acc_1', 'rcp_' || n, 'click', 'charge',
            CASE n WHEN 7700 THEN 'capture_unknown' ELSE 'captured' END::payment_state, 1, now(), 'attached'
       FROM generate_series(1, $1::int) AS n`,
    [PAYMENTS],
  );
  await client.query(`UPDATE payments SET state = 'manual', awaits_operator = true WHERE id = 'pay_77'`);
  await client.query(`UPDATE payments SET discrepancy = '{"provider": "voided"}' WHERE id = 'pay_770'`);
  await client.query(`UPDATE payments SET due_at = now() WHERE id = 'pay_7700'`);
  await client.query(`
    INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason) VALUES ('pay_177', 1, 'waiting', 'a test')`);
  await client.query('ANALYZE');
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
const query = ({ text, values }: { text: string; values: unknown[] }, before = ''): [string, unknown[]] => [
  before + text,
  values,
];

test('each kind is found, in the order of ids, page by page', async () => {
  const first = await client.query<{ id: string; kind: string }>(
    ...query(disagreementsOf('mer_1', { limit: 2, afterId: null })),
  );
  expect(first.rows.map(({ id, kind }) => [id, kind])).toEqual([
    ['pay_177', 'refund_open'],
    ['pay_77', 'manual'],
    ['pay_770', 'provider_differs'],
  ]);
  const next = await client.query<{ id: string; kind: string }>(
    ...query(disagreementsOf('mer_1', { limit: 2, afterId: 'pay_77' })),
  );
  expect(next.rows.map(({ id, kind }) => [id, kind])).toEqual([
    ['pay_770', 'provider_differs'],
    ['pay_7700', 'unknown'],
  ]);
  expect((await client.query(...query(disagreementsOf('mer_2', { limit: 2, afterId: null })))).rows).toEqual([]);
});

test('no more rows are read than may disagree', async () => {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    ...query(disagreementsOf('mer_1', { limit: 100, afterId: null }), 'EXPLAIN (ANALYZE, FORMAT JSON) '),
  );
  const read = nodes(rows[0]!['QUERY PLAN'][0].Plan).filter((node) => node['Relation Name'] !== undefined);
  expect(read.length).toBeGreaterThan(3);
  for (const node of read) expect(node['Actual Rows'] * node['Actual Loops']).toBeLessThan(20);
});
