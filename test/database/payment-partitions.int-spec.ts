// Promise: an installation with calls of payments gets them in partitions while they are written, without losing or changing one; a migration
// that is killed is begun again; one call of a payment is open at a time as before, in whichever month it began; each merchant reads its own,
// and no program may do more than before.
import type pg from 'pg';
import type { Prisma } from '#database';
import { createEmptyDatabase } from '#database/testing';
import { CALL_TABLES, isHalfPartitioned, readPartitions, type RunStatement } from '#ledger';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  expectMonthsAhead,
  expectNothingRead,
  grantAsBefore,
  migrateAndDie,
  moreWritten,
  refusalOf,
  untilWaiting,
  writtenDuring,
} from './conversions.js';

const FIRST = '20261127083000_payment_calls_id_started_at';
const BOUND = '20261127083400_payment_partitions_bound';
const LAST = '20261127083600_payment_partitions';
const ROWS = 20_000;
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let owner: pg.Client;
let programs: pg.Client;

const OWN_PAYMENT = `EXISTS (SELECT FROM payments WHERE payments.id = payment_calls.payment_id AND payments.merchant_id = current_setting('fgw.merchant_id', true))`;
const OWN_ACCOUNT = `EXISTS (SELECT FROM provider_accounts WHERE provider_accounts.id = provider_callbacks.account_id AND provider_accounts.merchant_id = current_setting('fgw.merchant_id', true))`;

beforeAll(async () => {
  database = await createEmptyDatabase();
  const migrations = readMigrations().filter(({ name }) => name < FIRST);
  await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
  owner = await connect(database.ownerUrl);
  programs = await connect(database.url);
  await grantAsBefore(owner, { payment_calls: OWN_PAYMENT, provider_callbacks: OWN_ACCOUNT });
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(1, 2) AS n;
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    SELECT 'pac_' || n, 'mer_' || n, 'payme', 'P', '{}', '' FROM generate_series(1, 2) AS n;
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at)
    SELECT 'pay_' || n, 'mer_' || 1 + n % 2, 'pac_' || 1 + n % 2, 'rcp_' || n, 'payme', 'inbound', 'captured', 1, now() FROM generate_series(1, 100) AS n;
    INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at, outcome)
    SELECT 'pay_' || 1 + n % 100, 'capture', 'l', now() - interval '1 hour', now(), '{"kind": "чек"}' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO payment_calls (payment_id, call, lease_id) VALUES ('pay_7', 'void', 'l');
    INSERT INTO provider_callbacks (account_id, address, reference, operation, payment_id, body_sealed, answer)
    SELECT 'pac_' || 1 + n % 2, '127.0.0.1', 'r' || n, 'CreateTransaction', 'pay_' || 1 + n % 100, '\\x01', '{}' FROM generate_series(1, ${ROWS}) AS n`);
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
});

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await owner.query(text, [...values])).rows as Row[];

async function digests(): Promise<string[]> {
  const found: string[] = [];
  for (const [table, written] of Object.entries({
    payment_calls: `call = 'written'`,
    provider_callbacks: `operation = 'written'`,
  })) {
    const { rows } = await owner.query<{ digest: string }>(
      `SELECT md5(string_agg(to_jsonb(t)::text, ',' ORDER BY id)) AS digest FROM ${table} t WHERE NOT ${written}`,
    );
    found.push(rows[0]?.digest ?? '');
  }
  return found;
}

/** As the release before opens and closes a call, and keeps one to us. */
async function writeCalls(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO payment_calls (payment_id, call, lease_id) VALUES ('new_' || gen_random_uuid(), 'written', 'l') RETURNING id::text`,
  );
  await client.query(
    `UPDATE payment_calls SET finished_at = now(), outcome = '{}' WHERE id = $1 AND finished_at IS NULL`,
    [rows[0]?.id],
  );
  await client.query(
    `INSERT INTO provider_callbacks (account_id, address, operation, reference) VALUES ('pac_1', '127.0.0.1', 'written', $1)`,
    [rows[0]?.id],
  );
  return rows[0]?.id ?? '';
}

async function seenBy(merchantId: string): Promise<number[]> {
  await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
  await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
  const { rows } = await programs.query<{ calls: number; callbacks: number }>(
    'SELECT (SELECT count(*)::int4 FROM payment_calls) AS calls, (SELECT count(*)::int4 FROM provider_callbacks) AS callbacks',
  );
  await programs.query('ROLLBACK');
  return rows.flatMap(({ calls, callbacks }) => [calls, callbacks]);
}

const refusal = (text: string): Promise<string | undefined> => refusalOf(programs, text);

test('a filled database is converted while calls are written; killed and repeated, nothing is missing or changed', async () => {
  const before = await digests();
  const written = await writtenDuring(database, writeCalls, async (soFar) => {
    const migrations = readMigrations();
    const upTo = (name: string): Promise<unknown> =>
      migrate({
        ...{ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined },
        migrations: migrations.filter((migration) => migration.name < name),
      });
    await upTo(BOUND);
    await migrateAndDie(database, 'provider_callbacks');
    await upTo(LAST);
    await migrateAndDie(database, 'provider_callbacks');
    expect((await owner.query(`SELECT to_regclass('parts.payment_calls_first') AS first`)).rows).toEqual([
      { first: null },
    ]);
    // Which alarms while it stands so (docs/alarms.md, PartitionsBehind).
    expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead]).toEqual([true, 0]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined });
    // Rights and policies come with the tables, not with what is set anew after all migrations.
    expect(await seenBy('mer_2')).toEqual([ROWS / 2 + 1, ROWS / 2]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: database.url });
    await moreWritten(soFar, 50);
  });
  expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead > 60]).toEqual([false, true]);
  expect(await digests()).toEqual(before);
  const byNumber = (one: string, other: string): number => Number(one) - Number(other);
  for (const [column, table, call] of [
    ['id', 'payment_calls', 'call'],
    ['reference', 'provider_callbacks', 'operation'],
  ]) {
    const { rows } = await owner.query<{ id: string }>(
      `SELECT ${column}::text AS id FROM ${table} WHERE ${call} = 'written'`,
    );
    expect(rows.map(({ id }) => id).sort(byNumber)).toEqual([...written].sort(byNumber));
  }
  const { rows: numbers } = await owner.query<{ all: number; different: number }>(
    'SELECT count(*)::int4 AS all, count(DISTINCT id)::int4 AS different FROM payment_calls',
  );
  expect(numbers[0]?.different).toBe(numbers[0]?.all);
});

test.each(CALL_TABLES)(
  'a time of a clock that was ahead, before the newest thousand of %s, moves its bound alone',
  async (table) => {
    const old = await createEmptyDatabase();
    const client = await connect(old.ownerUrl);
    try {
      const migrations = readMigrations();
      const before = migrations.filter(({ name }) => name <= BOUND);
      await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined, migrations: before });
      await client.query(`
      ALTER TABLE payment_calls DROP CONSTRAINT payment_calls_in_first;
      ALTER TABLE provider_callbacks DROP CONSTRAINT provider_callbacks_in_first;
      INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at)
      VALUES ('pay_1', 'void', 'l', now() + CASE WHEN '${table}' = 'payment_calls' THEN interval '1 year' ELSE '0' END, now());
      INSERT INTO provider_callbacks (account_id, address, received_at)
      VALUES ('pac_1', '127.0.0.1', now() + CASE WHEN '${table}' = 'payment_calls' THEN interval '0' ELSE '1 year' END);
      DO $$ BEGIN
        EXECUTE format('ALTER TABLE payment_calls ADD CONSTRAINT payment_calls_in_first CHECK (started_at < %L) NOT VALID', now() + interval '25 days');
        EXECUTE format('ALTER TABLE provider_callbacks ADD CONSTRAINT provider_callbacks_in_first CHECK (received_at < %L) NOT VALID', now() + interval '25 days');
      END $$`);
      await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined });
      for (const each of CALL_TABLES) {
        const { rows } = await client.query<{ months: number; rows: number }>(
          `SELECT extract(epoch FROM upper_id::timestamptz - now()) / 86400 / 30.4 AS months, (SELECT count(*)::int4 FROM parts.${each}_first) AS rows
           FROM partitions_of('${each}') WHERE name = '${each}_first'`,
        );
        expect([each, rows[0]?.rows, Number(rows[0]?.months) > 11]).toEqual([each, 1, each === table]);
      }
    } finally {
      await client.end();
      await old.drop();
    }
  },
);

test('the migration that shuts the tables reads none of them, and builds no index', () =>
  expectNothingRead(LAST, CALL_TABLES));

test.each(CALL_TABLES)(
  'what was in %s is its first partition, the last one has no end, and three months stand between',
  async (table) => {
    await expectMonthsAhead(owner, table);
    const { rows } = await owner.query<{ last: string }>(
      'SELECT lower_id AS last FROM partitions_of($1) WHERE upper_id IS NULL',
      [table],
    );
    const last = new Date(rows[0]?.last ?? '');
    expect([last.getUTCDate(), last.getUTCHours()]).toEqual([1, 0]);
  },
);

describe('one call of a payment is open at a time', () => {
  const opened = (payment: string, startedAt = 'now()'): string =>
    `INSERT INTO payment_calls (payment_id, call, lease_id, started_at) VALUES ('${payment}', 'void', 'l', ${startedAt})`;
  const closed = (payment: string): string =>
    `UPDATE payment_calls SET finished_at = now() WHERE payment_id = '${payment}' AND finished_at IS NULL`;

  test('also the one that was open at the conversion, and across months', async () => {
    expect(await refusal(opened('pay_7'))).toBe('23505');
    expect(await refusal(closed('pay_7'))).toBeUndefined();
    expect(await refusal(opened('pay_7', `now() + interval '2 months'`))).toBeUndefined();
    expect(await refusal(opened('pay_7'))).toBe('23505');
    expect(await refusal(closed('pay_7'))).toBeUndefined();
    expect(await refusal(opened('pay_7'))).toBeUndefined();
    // In one statement, as a worker does whose one before died.
    expect(
      await refusal(`WITH lost AS (${closed('pay_7')} RETURNING id)
        INSERT INTO payment_calls (payment_id, call, lease_id) SELECT 'pay_7', 'void', 'l' FROM (SELECT count(*) FROM lost) AS closed`),
    ).toBeUndefined();
    expect(await refusal(`DELETE FROM payment_calls WHERE payment_id = 'pay_7'`)).toBeUndefined();
    expect((await owner.query('SELECT * FROM parts.open_payment_calls')).rows).toEqual([]);
  });

  test('who opens one waits for who does at the same time, and is refused if that commits', async () => {
    const other = await connect(database.url);
    try {
      for (const [end, outcome] of [
        ['ROLLBACK', undefined],
        ['COMMIT', '23505'],
      ] as const) {
        await other.query(`BEGIN; ${opened('pay_8')}`);
        const second = refusal(opened('pay_8'));
        await untilWaiting(programs, owner);
        await other.query(end);
        expect([end, await second]).toEqual([end, outcome]);
        await owner.query(closed('pay_8'));
      }
    } finally {
      await other.end();
    }
  });

  test('a call that the keeper of partitions puts from one into another keeps its claim', async () => {
    const lastOne = `SELECT name FROM partitions_of('payment_calls') WHERE upper_id IS NULL`;
    // As if months had gone by: the last partition begins in the past, and has calls of a clock that was ahead beyond its month.
    const begins = new Date(Date.UTC(2026, 5, 1)).toISOString();
    await owner.query(`
      ALTER TABLE payment_calls DETACH PARTITION parts.payment_calls_first;
      DO $$ DECLARE p record; BEGIN
        FOR p IN SELECT name FROM partitions_of('payment_calls') LOOP EXECUTE format('DROP TABLE parts.%I', p.name); END LOOP;
      END $$;
      SELECT create_partition('payment_calls', 'payment_calls_202606', 'FROM (''${begins}'') TO (MAXVALUE)')`);
    expect(await refusal(opened('pay_9'))).toBeUndefined();
    expect((await owner.query(`SELECT make_next_partition('payment_calls') AS step`)).rows).toEqual([{ step: 'made' }]);
    expect((await owner.query<{ name: string }>(lastOne)).rows[0]?.name).toBe('payment_calls_202607');
    expect((await owner.query('SELECT FROM parts.payment_calls_202606')).rowCount).toBe(0);
    expect(await refusal(opened('pay_9'))).toBe('23505');
    expect(await refusal(closed('pay_9'))).toBeUndefined();
    expect(await refusal(opened('pay_9'))).toBeUndefined();
  });

  test('a claim whose call is not there any more is taken over, and one moves with its call', async () => {
    expect(await refusal(opened('pay_10'))).toBeUndefined();
    await owner.query(
      `ALTER TABLE payment_calls DISABLE TRIGGER USER; DELETE FROM payment_calls WHERE payment_id = 'pay_10'; ALTER TABLE payment_calls ENABLE TRIGGER USER`,
    );
    // Two at the same time: one of them takes it over.
    const other = await connect(database.url);
    try {
      await other.query(`BEGIN; ${opened('pay_10')}`);
      const second = refusal(opened('pay_10'));
      await untilWaiting(programs, owner);
      await other.query('COMMIT');
      expect(await second).toBe('23505');
    } finally {
      await other.end();
    }
    await owner.query(`UPDATE payment_calls SET payment_id = 'pay_11' WHERE payment_id = 'pay_10'`);
    expect(await refusal(opened('pay_11'))).toBe('23505');
    expect(await refusal(opened('pay_10'))).toBeUndefined();
    // What the table itself leaves out claims nothing.
    const { rows } = await owner.query<{ id: string; at: string }>(
      `SELECT id::text, started_at::text AS at FROM payment_calls WHERE payment_id = 'pay_10' AND finished_at IS NULL`,
    );
    await owner.query(closed('pay_10'));
    await owner.query(
      `INSERT INTO payment_calls (id, payment_id, call, lease_id, started_at) VALUES ($1, 'pay_10', 'void', 'l', $2) ON CONFLICT DO NOTHING`,
      [rows[0]?.id, rows[0]?.at],
    );
    expect(await refusal(opened('pay_10'))).toBeUndefined();
  });
});

test.each(['fiscal_app', 'fiscal_app_tenant'])(
  '%s reads no partition and no claim directly, and moves none',
  async (role) => {
    await programs.query(`SET ROLE ${role}`);
    try {
      for (const statement of [
        'SELECT FROM parts.payment_calls_first',
        'DELETE FROM parts.provider_callbacks_first',
        'SELECT FROM parts.open_payment_calls',
        'DELETE FROM parts.open_payment_calls',
        'ALTER TABLE payment_calls DISABLE TRIGGER payment_calls_one_open_per_payment',
        'ALTER TABLE provider_callbacks DETACH PARTITION parts.provider_callbacks_first',
        `SELECT staying_payment_calls(now(), now(), 1)`,
        `SELECT unfinished_payments(now())`,
      ])
        expect([statement, await refusal(statement)]).toEqual([statement, '42501']);
      const release = `SELECT release_payment_partitions('payment_calls', 395)`;
      expect(await refusal(release)).toBe(role === 'fiscal_app' ? undefined : '42501');
    } finally {
      await programs.query('RESET ROLE');
    }
  },
);
