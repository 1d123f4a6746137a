// Promise: what screens ask for is answered by indexes, also behind row-level security, and by a bounded part of what there is.
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { deliverySearch, WALKED } from '../../notify/webhooks/delivery-search.js';
import { givenUp } from '../../notify/webhooks/recover-deliveries.js';
import { timelinePage } from '../../notify/timeline/read-timeline.js';
import { paymentSearch } from '../../payments/search-payments.js';
import { countdowns } from './countdown-rows.js';
import { sumsBetween } from './receipt-sums.js';

const ROWS = 60_000;
const MERCHANT = 'mer_7';
let database: TestDatabase;
/** The superuser, which may take each role. */
let client: pg.Client;

const ULID = (prefix: string): string => `'${prefix}_01kz' || lpad(n::text, 22, '0')`;
/** As ids of one minute each: about 42 days of them. */
const AT = "('2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute')";

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  const insert = (table: string, columns: string, values: string): Promise<unknown> =>
    client.query(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM generate_series(1, ${ROWS}) AS n`);
  await insert(
    'receipts',
    'id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, document, total_tiyin, vat_total_tiyin, created_at, refund_of',
    `${ULID('rcp')}, 'mer_' || n % 50, 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_' || n % 500, 'brn_' || n % 100, '{}', n, 0, ${AT},
     CASE WHEN n % 3 = 0 THEN 'rcp_01kz' || lpad((n / 3)::text, 22, '0') END`,
  );
  await client.query(`INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    SELECT 'pac_' || n, 'mer_' || n, 'payme', 'P', '{}', '\\x00' FROM generate_series(0, 49) AS n`);
  await insert(
    'payments',
    'id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, provider_ref, expires_at, created_at',
    `${ULID('pay')}, 'mer_' || n % 50, 'pac_' || n % 50, ${ULID('rcp')}, 'payme', 'inbound',
     (CASE WHEN n % 900 = 7 THEN 'pending' ELSE 'captured' END)::payment_state, n, 'ref-' || n, now(), ${AT}`,
  );
  await client.query(`INSERT INTO webhook_endpoints (id, merchant_id, url, events)
    SELECT 'whk_' || n, 'mer_' || n, 'https://a.example', '{*}' FROM generate_series(0, 49) AS n`);
  await insert(
    'events',
    'id, merchant_id, type, subject_id, data, created_at',
    `${ULID('evt')}, 'mer_' || n % 50, 'receipt.accepted', ${ULID('rcp')}, '{}', ${AT}`,
  );
  await insert(
    'webhook_deliveries',
    'id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, last_http_status, finished_at, created_at',
    `${ULID('dlv')}, 'mer_' || n % 50, 'whk_' || n % 50, n, ${ULID('evt')}, 'receipt.accepted', ${ULID('rcp')}, 'https://a.example',
     (CASE WHEN n % 700 = 7 THEN 'failed' WHEN n % 900 = 7 THEN 'pending' ELSE 'delivered' END)::delivery_state, 200, ${AT}, ${AT}`,
  );
  await insert('webhook_attempts', 'delivery_id, number, duration_ms, outcome', `${ULID('dlv')}, 1, 1, 'delivered'`);
  await insert('payment_calls', 'payment_id, call, lease_id, finished_at', `${ULID('pay')}, 'status', 'l', now()`);
  await insert(
    'attempts',
    'id, receipt_id, device_id, number, state, baseline, request, relay_id',
    `${ULID('att')}, ${ULID('rcp')}, 'dev_1', 1, 'rejected', '{}', '', 'r'`,
  );
  await client.query('VACUUM ANALYZE');
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const asTenant = { merchantId: MERCHANT, webhookId: 'whk_7' };
const page = { limit: 100, afterId: null };
const later = { limit: 100, afterId: 'x' };
const receiptId = `rcp_01kz${'607'.padStart(22, '0')}`;
const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

const STATEMENTS: Readonly<Record<string, { statement: Prisma.Sql; most?: number }>> = {
  'payments, no filter': { statement: paymentSearch(MERCHANT, {}, page), most: 101 },
  'payments, a later page': {
    statement: paymentSearch(MERCHANT, {}, { ...later, afterId: `pay_01kz${'3000'.padStart(22, '0')}` }),
  },
  'payments by receipt': { statement: paymentSearch(MERCHANT, { receipt_id: receiptId }, page), most: 1 },
  'payments by the provider’s id': { statement: paymentSearch(MERCHANT, { provider_ref: 'ref-607' }, page) },
  'payments that are pending': { statement: paymentSearch(MERCHANT, { status: 'pending' }, page) },
  'payments by sum': { statement: paymentSearch(MERCHANT, { amount_min: '5', amount_max: '6' }, page), most: WALKED },
  'payments of a day': {
    statement: paymentSearch(
      MERCHANT,
      { created_from: '2026-01-02T00:00:00Z', created_to: '2026-01-03T00:00:00Z' },
      page,
    ),
  },
  'deliveries, no filter': { statement: deliverySearch(asTenant, {}, page), most: 101 },
  'deliveries given up': { statement: deliverySearch(asTenant, { state: 'failed' }, page) },
  'deliveries that wait': { statement: deliverySearch(asTenant, { state: 'pending' }, page) },
  'deliveries by status': { statement: deliverySearch(asTenant, { http_status: '5xx' }, page), most: WALKED },
  'deliveries by subject': { statement: deliverySearch(asTenant, { subject_id: receiptId }, page), most: 1 },
  'what recover finds': { statement: givenUp({ ...asTenant, from: day('2026-01-01'), to: day('2026-01-20') }) },
  'a timeline': {
    statement: timelinePage(
      { merchantId: MERCHANT, receiptId, paymentId: receiptId.replace('rcp', 'pay'), subjects: [receiptId] },
      ['2020-01-01T00:00:00Z', 0, ''],
      200,
    ),
  },
  'the sums of a day': { statement: sumsBetween(MERCHANT, day('2026-01-02'), day('2026-01-03')) },
  countdowns: { statement: countdowns(MERCHANT, 50) },
};

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
/** Few rows by nature. */
const SMALL = new Set([
  'provider_accounts',
  'webhook_endpoints',
  'devices',
  'provider_callbacks',
  'payment_refunds',
  'merchants',
]);

describe.each(['fiscal_app', 'fiscal_app_tenant'])('as %s', (role) => {
  test.each(Object.entries(STATEMENTS))('%s', async (_name, { statement, most }) => {
    await client.query(`SELECT set_config('role', $1, false), set_config('fgw.merchant_id', $2, false)`, [
      role,
      MERCHANT,
    ]);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `EXPLAIN (FORMAT JSON, ANALYZE) ${statement.text}`,
      [...statement.values],
    );
    const found = nodes(rows[0]!['QUERY PLAN'][0].Plan);
    const read = found.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? '');
    expect(read.filter((name) => !SMALL.has(name))).toEqual([]);
    const largest = Math.max(
      ...found.map((node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)),
    );
    if (most !== undefined) expect(largest).toBeLessThanOrEqual(most);
    expect(largest).toBeLessThan(ROWS / 4);
  });
});
