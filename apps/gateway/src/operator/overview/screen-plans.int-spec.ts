// Promise: what screens ask for is answered by indexes, also behind row-level security, and by a bounded part of what there is; so is what sends
// webhooks, over twelve partitions.
import type pg from 'pg';
import { CALL_TABLES, hasUnpaid, parkAttemptsOfTerminal, PARTITIONED_TABLES } from '#ledger';
import { Prisma, type PrismaService } from '#database';
import {
  createTestDatabase,
  planOf,
  recorded,
  recordedInGroup,
  superuserOf,
  type TestDatabase,
} from '#database/testing';
import { insertDeliveries, type NewDelivery } from '../../notify/webhooks/delivery-rows.js';
import { deliverySearch, WALKED } from '../../notify/webhooks/delivery-search.js';
import { DeliveryRepository, type ClaimedEndpoint } from '../../notify/webhooks/delivery.repository.js';
import { givenUp } from '../../notify/webhooks/recover-deliveries.js';
import { SessionRepository } from '../../access/people/sessions/session.repository.js';
import { Users } from '../../access/people/users/users.js';
import type { AuditedChange } from '../../audit/audited-change.js';
import { UsageRepository } from '../../fleet/usage/usage.repository.js';
import type { EventHorizon } from '../../notify/events/event-horizon.js';
import { EventReader } from '../../notify/events/event-reader.js';
import type { GatewaySettings } from '../../settings.js';
import { timelinePage } from '../../notify/timeline/read-timeline.js';
import { paymentSearch } from '../../payments/search-payments.js';
import { ListUnknown } from '../list-unknown.js';
import type { ReceiptUrls } from '../../receipts/receipt-url.js';
import { countdowns } from './countdown-rows.js';
import { MAX_UNDER_WAY, sumsBetween, sumsOf, sumsOfAll, underWayOfAll } from './receipt-sums.js';

/** PLAN_ROWS=1000000 shows the same at a size that takes minutes to make. */
const ROWS = Number(process.env['PLAN_ROWS'] ?? 60_000);
const PARTITIONS = 12;
const MERCHANT = 'mer_7';
let database: TestDatabase;
/** The superuser, which may take each role. */
let client: pg.Client;

const ULID = (prefix: string): string => `'${prefix}_01kz' || lpad(n::text, 22, '0')`;
/** As ids of one minute each: about 42 days of them. */
const AT = "('2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute')";
const timeAt = (row: number): string => new Date(Date.UTC(2026, 0, 1) + row * 60_000).toISOString();

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  const insert = (table: string, columns: string, values: string): Promise<unknown> =>
    client.query(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM generate_series(1, ${ROWS}) AS n`);
  await makePartitions('receipts');
  await insert(
    'receipts',
    'id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, document, total_tiyin, vat_total_tiyin, created_at, refund_of',
    `${ULID('rcp')}, 'mer_' || n % 50, 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_' || n % 500, 'brn_' || n % 100, '{}', n, 0, ${AT},
     CASE WHEN n % 3 = 0 THEN 'rcp_01kz' || lpad((n / 3)::text, 22, '0') END`,
  );
  await insert(
    'registration_claims',
    'terminal_id, receipt_seq, merchant_id, receipt_id',
    `'UZ' || n % 500, n, 'mer_' || n % 50, ${ULID('rcp')}`,
  );
  await client.query(`INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    SELECT 'pac_' || n, 'mer_' || n, 'payme', 'P', '{}', '\\x00' FROM generate_series(0, 49) AS n`);
  await insert(
    'payments',
    'id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, provider_ref, expires_at, created_at',
    `${ULID('pay')}, 'mer_' || n % 50, 'pac_' || n % 50, ${ULID('rcp')}, 'payme', 'inbound',
     (CASE WHEN n % 900 = 7 THEN 'pending' ELSE 'captured' END)::payment_state, n, 'ref-' || n, now(), ${AT}`,
  );
  for (const table of PARTITIONED_TABLES) if (table !== 'receipts') await makePartitions(table);
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
  await insert(
    'payment_calls',
    'payment_id, call, lease_id, started_at, finished_at',
    `${ULID('pay')}, 'status', 'l', ${AT}, now()`,
  );
  await insert(
    'provider_callbacks',
    'account_id, address, reference, operation, payment_id, received_at',
    `'pac_' || n % 50, '127.0.0.1', 'r' || n, 'x', ${ULID('pay')}, ${AT}`,
  );
  await insert(
    'attempts',
    'id, receipt_id, device_id, number, state, baseline, request, relay_id',
    `${ULID('att')}, ${ULID('rcp')}, 'dev_1', 1, (CASE WHEN n % 900 = 7 THEN 'unknown' ELSE 'rejected' END)::attempt_state, '{}', '', 'r'`,
  );
  await client.query(`INSERT INTO archives (name) VALUES ('attempts-1')`);
  await insert(
    'archived_attempts',
    'id, receipt_id, number, created_at, archive',
    `${ULID('att_0')}, ${ULID('rcp')}, 1, ${AT}, 'attempts-1'`,
  );
  await client.query(`INSERT INTO merchants (id, code, name, tin)
    SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(0, 499) AS n`);
  await insert('users', 'id, email, name', `${ULID('usr')}, 'u' || n || '@shop.uz', 'U'`);
  await insert(
    'memberships',
    'id, user_id, merchant_id, role',
    `${ULID('mem')}, ${ULID('usr')}, 'mer_' || n % 50, 'support'`,
  );
  await insert(
    'user_sessions',
    'id, token_hash, previous_token_hash, renewed_at, user_id, login, oidc_sid, expires_at',
    `${ULID('ses')}, int4send(n), int4send(-n), now(), 'usr_01kz' || lpad((n % 5000 + 1)::text, 22, '0'), 'oidc', 'sid-' || n,
     now() + interval '1 hour'`,
  );
  await insert(
    'invitations',
    'id, token_hash, email, merchant_id, roles, invited_by, expires_at',
    `${ULID('inv')}, int4send(n), 'u' || n || '@shop.uz', 'mer_' || n % 500, '{support}', 'x', now() + interval '1 hour'`,
  );
  await insert(
    'merchant_usage',
    'merchant_id, day, receipts, storage_bytes',
    `'mer_' || n % 500, '2026-01-01'::date + n / 500, 1, 1`,
  );
  await client.query('VACUUM ANALYZE');
  // Autovacuum analyses partitions and never their table: nothing is known of it but what they say.
  await client.query(
    `DELETE FROM pg_statistic s USING pg_class c WHERE c.oid = s.starelid AND c.relkind = 'p';
     UPDATE pg_class SET reltuples = -1 WHERE relkind = 'p'`,
  );
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** Twelve, over which the rows are spread evenly. */
async function makePartitions(table: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM partitions_of($1)', [table]);
  for (const { name } of rows) await client.query(`DROP TABLE parts.${name}`);
  const prefix = table === 'events' ? 'evt' : table === 'attempts' || table === 'receipts' ? 'rcp' : 'dlv';
  const idAt = (row: number): string => `${prefix}_01kz${String(row).padStart(22, '0')}`;
  const boundAt = CALL_TABLES.some((name) => name === table) ? timeAt : idAt;
  const at = (part: number): string => `'${boundAt(Math.round((part * ROWS) / PARTITIONS))}'`;
  for (let part = 0; part < PARTITIONS; part += 1) {
    const from = part === 0 ? 'MINVALUE' : at(part);
    const to = part === PARTITIONS - 1 ? 'MAXVALUE' : at(part + 1);
    const [name, bounds] = [`${table}_part_${String(part)}`, `FROM (${from}) TO (${to})`];
    await client.query('SELECT create_partition($1, $2, $3)', [table, name, bounds]);
  }
}

const HORIZON = { limit: Prisma.sql`pg_snapshot_xmin(pg_current_snapshot())` } as unknown as EventHorizon;
const SESSION_SETTINGS = { SESSION_IDLE_SECONDS: 1_800, STEP_UP_SECONDS: 300 } as unknown as GatewaySettings;
const usersOf = (prisma: PrismaService): Users => new Users(prisma, {} as unknown as AuditedChange);
const sessionsOf = (prisma: PrismaService): SessionRepository => new SessionRepository(prisma, SESSION_SETTINGS);

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
  // The payment of this first receipt, and the receipt, which names its payment.
  'payments by receipt': { statement: paymentSearch(MERCHANT, { receipt_id: receiptId }, page), most: 2 },
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
  'attempts of deliveries': {
    statement: Prisma.sql`SELECT * FROM webhook_attempts
      WHERE delivery_id IN (${Prisma.join([607, 30_607, 59_957].map((n) => `dlv_01kz${String(n).padStart(22, '0')}`))})
      ORDER BY delivery_id, number`,
    most: 3,
  },
  'what recover finds': { statement: givenUp({ ...asTenant, from: day('2026-01-01'), to: day('2026-01-20') }) },
  'a timeline': {
    statement: timelinePage(
      { merchantId: MERCHANT, receiptId, paymentId: receiptId.replace('rcp', 'pay'), subjects: [receiptId] },
      ['2020-01-01T00:00:00Z', 0, ''],
      200,
    ),
  },
  'what waits for a person': {
    statement: recorded((prisma) => new ListUnknown(prisma, {} as unknown as ReceiptUrls).execute(MERCHANT, {})),
    most: ROWS / 900 + 1,
  },
  'the sums of a day': { statement: sumsBetween(MERCHANT, day('2026-01-02'), day('2026-01-03')) },
  'the sums of what was under way': {
    statement: sumsOf(
      MERCHANT,
      Array.from({ length: MAX_UNDER_WAY }, (_, n) => `rcp_01kz${String(n * 50 + 7).padStart(22, '0')}`),
    ),
    most: MAX_UNDER_WAY,
  },
  'receipts that would get to a device with their money': {
    statement: recorded((prisma) => hasUnpaid(prisma, { merchantId: MERCHANT, deviceId: 'dev_7' })),
    most: 1,
  },
  countdowns: { statement: countdowns(MERCHANT, 50) },
  'events of a subject': {
    statement: recorded((prisma) =>
      new EventReader(prisma, HORIZON).readOfSubject(
        { merchantId: MERCHANT, subjectId: receiptId },
        { after: 0n, upTo: 50_000n },
        100,
      ),
    ),
    most: 2,
  },
  'events, the next page': {
    statement: recorded((prisma) => new EventReader(prisma, HORIZON).readAfter(MERCHANT, 3_000n, 100)),
    most: 101,
  },
  'users of a merchant': { statement: recorded((prisma) => usersOf(prisma).list(MERCHANT, { limit: '100' })) },
  'a user of a merchant': {
    statement: recorded((prisma) => usersOf(prisma).get(MERCHANT, `usr_01kz${'607'.padStart(22, '0')}`)),
    most: 1,
  },
  'the session of a cookie': {
    statement: recorded((prisma) => sessionsOf(prisma).findLive(Buffer.from([0, 0, 2, 95]))),
    most: 2,
  },
  'sessions that ended at the provider': {
    statement: recorded((prisma) =>
      sessionsOf(prisma).endAtProvider(prisma, { issuer: 'https://login.example', subject: null, sid: 'sid-607' }),
    ),
    most: 1,
  },
  'what a merchant uses': {
    statement: recorded((prisma) => new UsageRepository(prisma).read('mer_7')),
    most: ROWS / 500 + 1,
  },
};

const DELIVERY_ID = `dlv_01kz${'907'.padStart(22, '0')}`;
const LEASE = new Date('2026-01-01T00:00:00Z');
const ENDPOINT: ClaimedEndpoint = {
  ...{ id: 'whk_7', merchant_id: MERCHANT, kind: 'endpoint', url: 'https://a.example', failures: 0, is_failing: false },
  ...{ wakes: 0n, lease_until: LEASE, batch_size: 1, concurrency: 8 },
};
const DELIVERY: NewDelivery = {
  ...{ merchantId: MERCHANT, endpointId: 'whk_7', url: 'https://a.example', eventPosition: 1n, eventId: 'evt_1' },
  ...{ type: 'receipt.accepted', subjectId: 'rcp_of_no_other' },
};

const RECORDED_ATTEMPTS = await recordedInGroup((prisma) =>
  new DeliveryRepository(prisma).record(
    {
      deliveryId: DELIVERY_ID,
      endpointId: ENDPOINT.id,
      url: ENDPOINT.url,
      number: 2,
      durationMs: 1,
      outcome: 'timeout',
      httpStatus: null,
      answer: null,
    },
    { kind: 'retry', delayMs: 5_000 },
  ),
);

/** Few rows by nature. */
const SMALL = new Set([
  ...['provider_accounts', 'webhook_endpoints', 'devices', 'payment_refunds', 'merchants', 'lanes', 'attempt_claims'],
  // Without a row here.
  'attempts_first',
  'receipts_first',
]);

/** Of programs, which write for many merchants in one statement. */
const OF_PROGRAMS: typeof STATEMENTS = {
  'usage counted up': {
    statement: recorded((prisma) =>
      new UsageRepository(prisma).add(
        new Map([
          ['mer_7', { receipts: 1, bytes: 100 }],
          ['mer_8', { receipts: 2, bytes: 1 }],
        ]),
      ),
    ),
  },
  'deliveries that are due': {
    statement: recorded((prisma) => new DeliveryRepository(prisma).due(ENDPOINT, 64)),
    most: ROWS / 900 + 1,
  },
  'an endpoint that is released': {
    statement: recorded((prisma) =>
      new DeliveryRepository(prisma).release(ENDPOINT, 'succeeded', { pauseMs: 0, concurrency: 8 }),
    ),
    most: ROWS / 900 + 1,
  },
  // By their ids, or as few as this by what waits.
  'attempts that are recorded': { statement: RECORDED_ATTEMPTS, most: ROWS / 900 + 1 },
  'deliveries that are made': {
    statement: recorded((prisma) => insertDeliveries(prisma, [DELIVERY])),
    most: 10,
  },
  'open attempts of a terminal': {
    statement: recorded((prisma) => parkAttemptsOfTerminal(prisma, 'UZ1', 'x')),
    most: 1,
  },
  'a day of all merchants': { statement: sumsOfAll(day('2026-01-02'), day('2026-01-03')) },
  'what is under way of a day of all merchants': { statement: underWayOfAll(day('2026-01-02'), day('2026-01-03')) },
};

describe.each([
  ['fiscal_app', { ...STATEMENTS, ...OF_PROGRAMS }],
  ['fiscal_app_tenant', STATEMENTS],
])('as %s', (role, statements) => {
  test.each(Object.entries(statements))('%s', async (_name, { statement, most }) => {
    await client.query(`SELECT set_config('role', $1, false), set_config('fgw.merchant_id', $2, false)`, [
      role,
      MERCHANT,
    ]);
    const { wholeTables, largest } = await planOf(client, statement);
    expect(wholeTables.filter((name) => !SMALL.has(name))).toEqual([]);
    if (most !== undefined) expect(largest).toBeLessThanOrEqual(most);
    expect(largest).toBeLessThan(ROWS / 4);
  });
});

test('whose attempts are is asked by the keys of their receipts: not from a hash of all receipts for each month', async () => {
  await client.query(
    `SELECT set_config('role', 'fiscal_app_tenant', false), set_config('fgw.merchant_id', $1, false)`,
    [MERCHANT],
  );
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT id FROM attempts WHERE state IN ('open', 'unknown')`,
  );
  await client.query('RESET ROLE');
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/receipts_part_\d+_pkey/);
  expect(plan).not.toContain('hashed');
});
