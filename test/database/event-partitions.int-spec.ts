// Promise: an installation with events gets them in partitions while they are written, without losing, changing or reordering one; a migration
// that is killed is begun again; each merchant reads its own, and no program may do more than before.
import pg from 'pg';
import type { Prisma } from '#database';
import { createEmptyDatabase } from '#database/testing';
import { isHalfPartitioned, readPartitions, type RunStatement } from '#ledger';
import { newId } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  expectMonthsAhead,
  expectNothingRead,
  grantAsBefore,
  migrateAndDie,
  moreWritten,
  writtenDuring,
} from './conversions.js';

const FIRST = '20261126060000_events_position_id';
const BOUND_TRIED = '20261126060200_event_partitions_bound_tried';
const LAST = '20261126060300_event_partitions';
const ROWS = 20_000;
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let owner: pg.Client;
let programs: pg.Client;

beforeAll(async () => {
  database = await createEmptyDatabase();
  const migrations = readMigrations().filter(({ name }) => name < FIRST);
  await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
  owner = await connect(database.ownerUrl);
  programs = await connect(database.url);
  await grantAsBefore(owner, { events: `merchant_id = current_setting('fgw.merchant_id', true)` });
  await owner.query(`
    REVOKE UPDATE, DELETE ON events FROM fiscal_app, fiscal_app_tenant;
    GRANT UPDATE (transaction_id) ON events TO fiscal_app, fiscal_app_tenant;
    INSERT INTO merchants (id, code, name, tin) SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(1, 2) AS n;
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    SELECT 'evt_01ka' || lpad(n::text, 22, '0'), 'mer_' || 1 + n % 2, 't', 'rcp_' || n, '{"receipt_id": "чек"}' FROM generate_series(1, ${ROWS}) AS n`);
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
});

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await owner.query(text, [...values])).rows as Row[];

async function digest(of: string): Promise<string> {
  const { rows } = await owner.query<{ digest: string }>(
    `SELECT md5(string_agg(to_jsonb(t)::text, ',' ORDER BY position)) AS digest FROM ${of} t`,
  );
  return rows[0]?.digest ?? '';
}

async function writeEvent(client: pg.Client): Promise<string> {
  const id = newId('evt');
  await client.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, 'mer_1', 't', 'rcp_x', '{}')`,
    [id],
  );
  return id;
}

async function seenBy(merchantId: string): Promise<number | undefined> {
  await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
  await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
  const { rows } = await programs.query<{ events: number }>('SELECT count(*)::int4 AS events FROM events');
  await programs.query('ROLLBACK');
  return rows[0]?.events;
}

test('a filled database is converted while events are written; killed and repeated, nothing is missing or changed', async () => {
  const before = await digest('events');
  const written = await writtenDuring(database, writeEvent, async (soFar) => {
    await migrateAndDie(database, 'events');
    const migrations = readMigrations().filter(({ name }) => name < LAST);
    const { applied } = await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
    expect(applied).toHaveLength(3);
    await migrateAndDie(database, 'events');
    expect((await owner.query(`SELECT to_regclass('parts.events_first') AS first`)).rows).toEqual([{ first: null }]);
    // Which alarms while it stands so (docs/alarms.md, PartitionsBehind).
    expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead]).toEqual([true, 0]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined });
    // Rights and policies come with the table, not with what is set anew after all migrations.
    expect(await seenBy('mer_2')).toBe(ROWS / 2);
    await programs.query('UPDATE events SET transaction_id = transaction_id WHERE position = 1');
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: database.url });
    await moreWritten(soFar, 50);
  });
  expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead > 60]).toEqual([false, true]);
  expect(await digest(`(SELECT * FROM events WHERE id < 'evt_01kb')`)).toBe(before);
  const { rows } = await owner.query<{ id: string }>(`SELECT id FROM events WHERE id >= 'evt_01kb' ORDER BY id`);
  expect(rows.map(({ id }) => id)).toEqual([...written].sort());
  const { rows: numbers } = await owner.query<{ all: number; different: number }>(
    'SELECT count(*)::int4 AS all, count(DISTINCT position)::int4 AS different FROM events',
  );
  expect(numbers[0]?.different).toBe(numbers[0]?.all);
});

test('an id of a clock that was ahead, before the newest million, moves the bound', async () => {
  const old = await createEmptyDatabase();
  const client = await connect(old.ownerUrl);
  try {
    const migrations = readMigrations();
    const upTo = (name: string): typeof migrations => migrations.filter((migration) => migration.name < name);
    await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined, migrations: upTo(BOUND_TRIED) });
    await client.query(`
      ALTER TABLE events DROP CONSTRAINT events_in_first;
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT first_id_at('evt', now() + make_interval(years => years)) || repeat('0', 16), 'mer_1', 't', 'x', '{}' FROM generate_series(0, 1) AS years;
      DO $$ BEGIN
        EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_in_first CHECK (id < %L) NOT VALID', first_id_at('evt', now() + interval '25 days'));
      END $$`);
    await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined });
    const { rows } = await client.query<{ is_beyond: boolean; events: number }>(`
      SELECT time_of_id(upper_id) BETWEEN now() + interval '1 year' AND now() + interval '14 months' AS is_beyond,
             (SELECT count(*)::int4 FROM parts.events_first) AS events FROM partitions_of('events') WHERE name = 'events_first'`);
    expect(rows).toEqual([{ is_beyond: true, events: 2 }]);
  } finally {
    await client.end();
    await old.drop();
  }
});

test('the migration that shuts the table reads none of it, and builds no index', () =>
  expectNothingRead(LAST, ['events']));

test('what was there is the first partition, the last one has no end, and three months stand between', () =>
  expectMonthsAhead(owner, 'events'));

test.each([
  `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ('${newId('evt')}', 'mer_1', 't', 'x', '{}')`,
  'UPDATE events SET transaction_id = transaction_id WHERE position = 1',
])('what is written through the table is judged by the age of its transaction: %s', async (statement) => {
  await programs.query('BEGIN');
  try {
    await programs.query(statement);
    // The trigger says so once it has let a transaction through (docs/adr/0056-age-of-the-feed.md).
    const { rows } = await programs.query(`SELECT current_setting('fiscal.writes_events', true) AS judged`);
    expect(rows).toEqual([{ judged: 'on' }]);
  } finally {
    await programs.query('ROLLBACK');
  }
});

describe('the programs’ roles', () => {
  const refusal = (text: string): Promise<string | undefined> =>
    programs.query(text).then(
      () => undefined,
      (error: unknown) => (error instanceof pg.DatabaseError ? error.code : 'no code'),
    );

  test.each(['fiscal_app', 'fiscal_app_tenant'])(
    '%s changes no event, and reads no partition directly',
    async (role) => {
      await programs.query(`SET ROLE ${role}`);
      try {
        for (const statement of [
          'SELECT FROM parts.events_first',
          'DELETE FROM events',
          `UPDATE events SET type = 'x'`,
          'TRUNCATE events',
          'DELETE FROM parts.events_first',
          'ALTER TABLE events DETACH PARTITION parts.events_first',
          `SELECT first_needed_events('', 'evt_', 0)`,
        ])
          expect([statement, await refusal(statement)]).toEqual([statement, '42501']);
      } finally {
        await programs.query('RESET ROLE');
      }
    },
  );

  test('no merchant’s statement takes a month of events off', async () => {
    await programs.query('SET ROLE fiscal_app_tenant');
    expect(await refusal('SELECT release_event_partitions(90)')).toBe('42501');
    await programs.query('RESET ROLE');
  });
});
