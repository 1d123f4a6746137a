// Promise: an installation with receipts gets them in partitions while sales are written, without losing or changing one; a migration that is killed
// is begun again; keys, external ids and registrations are one receipt's as before, each merchant reads its own, no program may do more than before,
// and no relay takes it for a restore.
import type pg from 'pg';
import type { Prisma } from '#database';
import { createEmptyDatabase, makeHalfYears } from '#database/testing';
import { isHalfPartitioned, readPartitions, type RunStatement } from '#ledger';
import { firstIdAt, newIdOf } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  grantAsBefore,
  migrateAndDie,
  moreWritten,
  ODD_RECEIPTS,
  OLD_RECEIPT,
  refusalOf,
  writtenDuring,
} from './conversions.js';

const COLUMNS_MOVE = '20261126150000_what_moves_together';
const BOUND = '20261128020000_receipt_partitions_bound';
const LAST = '20261128020200_receipt_partitions';
const ROWS = 20_000;
const OF_MERCHANT = `merchant_id = current_setting('fgw.merchant_id', true)`;
const PERMISSION_DENIED = '42501';
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let owner: pg.Client;
let programs: pg.Client;
let identityBefore: string;

const migrations = readMigrations();
const upTo = (name: string): typeof migrations => migrations.filter((migration) => migration.name < name);
const migrateUpTo = (name: string): Promise<unknown> =>
  migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: upTo(name) });

beforeAll(async () => {
  database = await createEmptyDatabase();
  await migrateUpTo(COLUMNS_MOVE);
  owner = await connect(database.ownerUrl);
  programs = await connect(database.url);
  // With rows it keeps the order of columns that it had, another one than that of new partitions.
  await owner.query(`
    INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, terminal_id, receipt_seq,
                          registered_at, document, total_tiyin, vat_total_tiyin)
    SELECT ${OLD_RECEIPT}, 'mer_' || 1 + n % 2, 'cli_1', 'receipts', CASE WHEN n % 3 > 0 THEN 'old-' || n END, CASE WHEN n % 3 < 2 THEN 'old-' || n END, '',
           'sale', CASE WHEN n % 5 = 0 THEN 'rejected' ELSE 'registered' END::receipt_status, CASE WHEN n % 5 > 0 THEN 'UZ' || n % 7 END,
           CASE WHEN n % 5 > 0 THEN n END, CASE WHEN n % 5 > 0 THEN now() END, '{"what": "чек"}', 1, 0 FROM generate_series(1, ${ROWS}) AS n`);
  await migrateUpTo(BOUND);
  await grantAsBefore(owner, {
    receipts: OF_MERCHANT,
    attempts: '(SELECT true FROM receipts WHERE receipts.id = attempts.receipt_id)',
    archived_attempts: 'EXISTS (SELECT FROM receipts WHERE receipts.id = archived_attempts.receipt_id)',
  });
  await owner.query(`
    REVOKE UPDATE, DELETE, TRUNCATE ON receipts FROM fiscal_app, fiscal_app_tenant;
    GRANT UPDATE (status, updated_at, device_id, lane_place, terminal_id, receipt_seq, registered_at, evidence) ON receipts TO fiscal_app, fiscal_app_tenant;
    INSERT INTO database_identity (identity) SELECT '7/00000001/' || 'receipts'::regclass::oid;
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at)
    SELECT 'att_' || r.id, r.id, 'dev_1', 1, 'rejected', '{}', '', 'rly', now() FROM receipts r WHERE r.id LIKE '%001'`);
  identityBefore = await identity();
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
});

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await owner.query(text, [...values])).rows as Row[];

async function one<T>(text: string, values: unknown[] = []): Promise<T> {
  const { rows } = await owner.query<{ value: T }>(text, values);
  return rows[0]!.value;
}

const identity = (): Promise<string> => one<string>('SELECT identity AS value FROM database_identity');
const digest = (): Promise<string> =>
  one<string>(
    `SELECT md5(string_agg(to_jsonb(r)::text, ',' ORDER BY id)) AS value FROM receipts r WHERE id ~ '_01ka0'`,
  );

const ACCEPT = `
  INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, lane_place, device_id, document,
                        total_tiyin, vat_total_tiyin)
  VALUES ($1, $2, 'cli_1', 'receipts', $3, $4, '', 'sale', 'accepted', nextval('lane_place_seq'), 'dev_1', '{}', 1, 0)
      ON CONFLICT DO NOTHING RETURNING id`;

let sold = 0;

/** As programs of the release before sell: accepted, sent, registered; every second one in a sandbox, every third one tries a key that is taken. */
async function sell(client: pg.Client): Promise<string> {
  sold += 1;
  const number = sold;
  const id = newIdOf('rcp', number % 2 === 0 ? 'mer_test_1' : 'mer_1');
  if (number % 3 === 0) {
    const taken = await client.query(ACCEPT, [`${id}x`, 'mer_1', 'old-1', null]);
    if (taken.rows.length > 0) throw new Error('a key was sold again');
  }
  const accepted = await client.query(ACCEPT, [id, 'mer_1', `sale-${String(number)}`, `sale-${String(number)}`]);
  if (accepted.rows.length !== 1) throw new Error('a sale was left out');
  for (const change of [
    `status = 'sending'`,
    `status = 'registered', terminal_id = 'UZ_writer', receipt_seq = ${String(number)}, registered_at = now(), evidence = 'answer'`,
  ])
    if ((await client.query(`UPDATE receipts r SET ${change} WHERE r.id = $1`, [id])).rowCount !== 1)
      throw new Error('a sale was not there');
  return id;
}

async function seenBy(merchantId: string): Promise<number[]> {
  await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
  await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
  const { rows } = await programs.query<{ receipts: number; attempts: number }>(
    `SELECT (SELECT count(*)::int4 FROM receipts WHERE id ~ '_01ka0') AS receipts, (SELECT count(*)::int4 FROM attempts) AS attempts`,
  );
  await programs.query('ROLLBACK');
  return rows.flatMap(({ receipts, attempts }) => [receipts, attempts]);
}

test('a filled database is converted while sales are written; killed and repeated, nothing is missing or changed', async () => {
  const before = await digest();
  const seenBefore = await seenBy('mer_2');
  expect(seenBefore).toEqual([ROWS / 2, ROWS / 1_000]);
  const written = await writtenDuring(database, sell, async (soFar) => {
    await moreWritten(soFar, 20);
    await migrateAndDie(database, 'receipts');
    await migrateUpTo(LAST);
    await migrateAndDie(database, 'receipts');
    expect(await one<boolean>(`SELECT to_regclass('parts.receipts_first') IS NULL AS value`)).toBe(true);
    // Which alarms while it stands so (docs/alarms.md, PartitionsBehind).
    expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead]).toEqual([true, 0]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined });
    // Rights and policies come with the table, not with what is set anew after all migrations.
    expect(await seenBy('mer_2')).toEqual(seenBefore);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: database.url });
    await moreWritten(soFar, 50);
  });
  expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead > 60]).toEqual([false, true]);
  expect(await digest()).toBe(before);
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM receipts WHERE terminal_id = 'UZ_writer' AND status = 'registered' ORDER BY id`,
  );
  expect(rows.map(({ id }) => id)).toEqual([...written].sort());
  expect(await seenBy('mer_2')).toEqual(seenBefore);
});

test('relays know the database by the new table', async () => {
  const oid = await one<string>(`SELECT 'receipts'::regclass::oid::text AS value`);
  expect(await identity()).toBe(`7/00000001/${oid}`);
  expect(await identity()).not.toBe(identityBefore);
});

test('the migration that shuts the table, and each half-year that is made later, reads none of what was there', async () => {
  const empty = await createEmptyDatabase();
  const client = await connect(empty.ownerUrl);
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  const implied = (): number =>
    notices.filter((notice) => /constraint for default partition "receipts_first" is implied/.test(notice)).length;
  const read = (): string[] =>
    notices.filter((notice) => /(building index .* on|verifying) table "receipts_first"/.test(notice));
  try {
    await migrate({ migrateDatabaseUrl: empty.ownerUrl, databaseUrl: undefined, migrations: upTo(LAST) });
    await client.query('SET client_min_messages = debug1');
    await client.query(`BEGIN; ${migrations.find(({ name }) => name === LAST)?.sql ?? ''}; COMMIT`);
    const made = implied();
    expect([made > 0, read()]).toEqual([true, []]);
    // As if no keeper had come for long: the last one has begun already.
    await makeHalfYears(empty.ownerUrl, [new Date(Date.UTC(new Date().getUTCFullYear(), 0))]);
    expect((await client.query(`SELECT make_next_partition('receipts') AS step`)).rows).toEqual([{ step: 'made' }]);
    expect(implied()).toBeGreaterThan(made);
    expect(read()).toEqual([]);
  } finally {
    await client.end();
    await empty.drop();
  }
});

test('what was there, and what sandboxes sell, is in no half-year; each half-year begins where the one before ends', async () => {
  const { rows } = await owner.query<{ name: string; lower_id: string; upper_id: string | null }>(
    `SELECT * FROM partitions_of('receipts') ORDER BY lower_id`,
  );
  expect(rows.slice(1).map(({ lower_id: lower }) => lower)).toEqual(
    rows.slice(0, -1).map(({ upper_id: upper }) => upper),
  );
  expect(rows.at(-1)?.upper_id).toBeNull();
  const first = (id: string): string => `${id}${'0'.repeat(16)}`;
  for (const [id, partition] of [
    [first(firstIdAt('rcp', new Date('2020-01-01'))), 'receipts_first'],
    [first(firstIdAt('rcp', new Date('2050-01-01')).replace('rcp_', 'rcp_test_')), 'receipts_first'],
    [first(rows[0]?.lower_id ?? ''), rows[0]?.name],
    [first(firstIdAt('rcp', new Date('2050-01-01'))), rows.at(-1)?.name],
  ])
    expect([
      id,
      await one<string>(`${ACCEPT.replace('RETURNING id', 'RETURNING tableoid::regclass::text AS value')}`, [
        ...[id, 'mer_9'],
        ...[`place-${String(id)}`, null],
      ]),
    ]).toEqual([id, `parts.${String(partition)}`]);
});

test('a key, an external id and a registration are one receipt’s, of whichever half-year', async () => {
  const [old, later] = ['2020-01-01', '2050-01-01'].map((year) => firstIdAt('rcp', new Date(year)) + '7'.repeat(16));
  expect((await programs.query(ACCEPT, [old, 'mer_1', 'key-1', 'order-1'])).rows).toEqual([{ id: old }]);
  expect((await programs.query(ACCEPT, [later, 'mer_1', 'key-1', 'order-2'])).rows).toEqual([]);
  expect((await programs.query(ACCEPT, [later, 'mer_1', 'key-2', 'order-1'])).rows).toEqual([]);
  expect((await programs.query(ACCEPT, [later, 'mer_1', 'key-2', 'order-2'])).rows).toEqual([{ id: later }]);
  const register = (id = ''): Promise<string | undefined> =>
    refusalOf(
      programs,
      `UPDATE receipts SET status = 'registered', terminal_id = 'UZ_both', receipt_seq = 1, registered_at = now(), evidence = 'answer' WHERE id = $1`,
      [id],
    );
  await programs.query(`UPDATE receipts SET status = 'sending' WHERE id = ANY ($1)`, [[old, later]]);
  expect([await register(old), await register(later)]).toEqual([undefined, '23505']);
});

test.each(['fiscal_app', 'fiscal_app_tenant'])(
  '%s reads no partition directly, and may do no more than before',
  async (role) => {
    await programs.query(`SET ROLE ${role}`);
    try {
      for (const statement of [
        'SELECT FROM parts.receipts_first',
        'DELETE FROM parts.receipts_first',
        'DELETE FROM receipts',
        'TRUNCATE receipts',
        `UPDATE receipts SET document = '{}'`,
        `UPDATE receipts SET id = ''`,
        'ALTER TABLE receipts DISABLE TRIGGER receipts_change_legally',
        'ALTER TABLE receipts DETACH PARTITION parts.receipts_first',
      ])
        expect([statement, await refusalOf(programs, statement)]).toEqual([statement, PERMISSION_DENIED]);
      const release = `SELECT release_emptied_partitions('receipts', 1827)`;
      expect(await refusalOf(programs, release)).toBe(role === 'fiscal_app' ? undefined : PERMISSION_DENIED);
      expect(await refusalOf(programs, `SELECT release_emptied_partitions('events', 1827)`)).toBeDefined();
    } finally {
      await programs.query('RESET ROLE');
    }
  },
);

test.each(ODD_RECEIPTS)('a receipt with an id %s', async (_of, id, refused) => {
  const old = await createEmptyDatabase();
  const client = await connect(old.ownerUrl);
  try {
    await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined, migrations: upTo(BOUND) });
    await client.query(ACCEPT, [id, 'mer_1', null, null]);
    const done = migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined });
    if (refused !== null)
      await expect(done).rejects.toMatchObject({ cause: { message: expect.stringContaining(refused) as string } });
    else {
      await done;
      expect((await client.query('SELECT FROM parts.receipts_first')).rowCount).toBe(1);
      const { rows } = await client.query<{ lower: string }>(
        `SELECT min(lower_id) AS lower FROM partitions_of('receipts')`,
      );
      expect((rows[0]?.lower ?? '') > id).toBe(true);
    }
  } finally {
    await client.end();
    await old.drop();
  }
});

test('what an operator has hung on the table, and partitions would not have, is named before anything is changed', async () => {
  const old = await createEmptyDatabase();
  const client = await connect(old.ownerUrl);
  const upgrade = (): Promise<unknown> => migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined });
  try {
    await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined, migrations: upTo(BOUND) });
    const hanging: [what: string, make: string, takeAway: string][] = [
      ['sold reads it', 'CREATE VIEW sold AS SELECT id FROM receipts', 'DROP VIEW sold'],
      [
        'the function how_many() reads it',
        'CREATE FUNCTION how_many() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM receipts; END',
        'DROP FUNCTION how_many()',
      ],
      [
        'the function sum_of(receipts) reads it',
        'CREATE FUNCTION sum_of(receipts) RETURNS bigint LANGUAGE sql AS $$ SELECT $1.total_tiyin $$',
        'DROP FUNCTION sum_of(receipts)',
      ],
      [
        'the constraint notes_receipt_id_fkey of notes',
        'CREATE TABLE notes (receipt_id text REFERENCES receipts)',
        'DROP TABLE notes',
      ],
      [
        'the constraint not_much of receipts',
        'ALTER TABLE receipts ADD CONSTRAINT not_much CHECK (total_tiyin < 1000000000000)',
        'ALTER TABLE receipts DROP CONSTRAINT not_much',
      ],
      ['the column note', 'ALTER TABLE receipts ADD COLUMN note text', 'ALTER TABLE receipts DROP COLUMN note'],
      [
        'the policy readers',
        'CREATE POLICY readers ON receipts FOR SELECT TO fiscal_app USING (true)',
        'DROP POLICY readers ON receipts',
      ],
      [
        'the policy bounds',
        'CREATE POLICY bounds ON receipts AS RESTRICTIVE TO fiscal_app USING (true) WITH CHECK (true)',
        'DROP POLICY bounds ON receipts',
      ],
      [
        'the policy everyone',
        'CREATE POLICY everyone ON receipts USING (true) WITH CHECK (true)',
        'DROP POLICY everyone ON receipts',
      ],
      [
        'the trigger receipts_move_legally',
        'ALTER TABLE receipts DISABLE TRIGGER receipts_move_legally',
        'ALTER TABLE receipts ENABLE TRIGGER receipts_move_legally',
      ],
      ['the right SELECT of PUBLIC', 'GRANT SELECT ON receipts TO PUBLIC', 'REVOKE ALL ON receipts FROM PUBLIC'],
      [
        'the right SELECT of fiscal_app to pass it on',
        'GRANT SELECT ON receipts TO fiscal_app WITH GRANT OPTION',
        'REVOKE ALL ON receipts FROM fiscal_app',
      ],
      [
        'FORCE ROW LEVEL SECURITY',
        'ALTER TABLE receipts FORCE ROW LEVEL SECURITY',
        'ALTER TABLE receipts NO FORCE ROW LEVEL SECURITY',
      ],
      [
        'its REPLICA IDENTITY',
        'ALTER TABLE receipts REPLICA IDENTITY FULL',
        'ALTER TABLE receipts REPLICA IDENTITY DEFAULT',
      ],
    ];
    for (const [what, make, takeAway] of hanging) {
      await client.query(make);
      const message = `something hangs on the table receipts that partitions of it would not have: ${what}`;
      await expect(upgrade()).rejects.toMatchObject({ cause: { message } });
      expect((await client.query(`SELECT FROM pg_constraint WHERE conname = 'receipts_in_first'`)).rowCount).toBe(0);
      await client.query(takeAway);
    }
    await upgrade();
    expect((await client.query(`SELECT to_regclass('parts.receipts_first') AS first`)).rows[0]?.first).not.toBeNull();
  } finally {
    await client.end();
    await old.drop();
  }
});
