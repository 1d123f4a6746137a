// Promise: an installation with sandboxes, whose events a release before named behind all months, gets its events in partitions, and sandboxes sell meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createEmptyDatabase } from '#database/testing';
import { newIdOf } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

const FIRST = '20261126060000_events_position_id';
const DATED = '20261126060050_sandbox_events_dated_before';
const BOUND = '20261126060100_event_partitions_bound';

/** As programs of that release name the event of a receipt. */
const eventId = (): string => newIdOf('rcp', 'mer_test_1').replace('rcp_', 'evt_');

const OURS = /_sandbox_events_/;
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let owner: pg.Client;

beforeEach(async () => {
  database = await createEmptyDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterEach(async () => {
  await owner?.end();
  await database?.drop();
});

function migrateWhile(is: (name: string) => boolean): Promise<unknown> {
  const migrations = readMigrations().filter(({ name }) => is(name));
  return migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
}

async function happen(): Promise<string> {
  const id = eventId();
  await owner.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, 'mer_test_1', 'receipt.accepted', 'rcp_test_1', '{}')`,
    [id],
  );
  return id;
}

async function ids(): Promise<string[]> {
  return (await owner.query<{ id: string }>('SELECT id FROM events ORDER BY position')).rows.map(({ id }) => id);
}

const triggers = async (): Promise<unknown[]> =>
  (await owner.query(`SELECT FROM pg_trigger WHERE tgname LIKE '%sandbox_event%'`)).rows;

test('events of sandboxes are dated before their table gets its bound, and those that come until the end of the migrations', async () => {
  await migrateWhile((name) => name < FIRST);
  const before = await happen();
  await owner.query(`
    INSERT INTO webhook_endpoints (id, merchant_id, url, events) VALUES ('whk_1', 'mer_test_1', 'https://a.example', '{*}');
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
    SELECT 'dlv_1', merchant_id, 'whk_1', position, id, type, subject_id, 'https://a.example' FROM events`);
  await migrateWhile((name) => name <= BOUND);
  const during = await happen();
  await migrateWhile(() => true);
  const dated = [before, during].map((id) => id.replace('evt_test_', 'evt_'));
  expect(await ids()).toEqual(dated);
  const { rows } = await owner.query('SELECT event_id FROM webhook_deliveries');
  expect(rows).toEqual([{ event_id: dated[0] }]);
  expect(await triggers()).toEqual([]);
});

test('where events are partitions already, these migrations leave them to the keeper of the partitions', async () => {
  await migrateWhile((name) => !OURS.test(name));
  const id = await happen();
  await migrateWhile(() => true);
  expect(await ids()).toEqual([id]);
  expect(await triggers()).toEqual([]);
});

/** Sandboxes' events among those of others, as they are after years. */
async function happened(count: number): Promise<void> {
  await owner.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data)
     SELECT CASE n % 2 WHEN 0 THEN 'evt_01ka' ELSE 'evt_test_01ka' END || lpad(n::text, 22, '0'), 'mer_test_' || n % 3, 'receipt.accepted', 'rcp_test_' || n, '{}'
       FROM generate_series(1, $1::int4) AS n`,
    [count],
  );
}

const undated = async (): Promise<number> =>
  (await owner.query<{ n: number }>(`SELECT count(*)::int4 AS n FROM events WHERE id LIKE 'evt\\_test\\_%'`)).rows[0]
    ?.n ?? -1;

test('those that were there before are dated in pieces: readers of events wait for none of it', async () => {
  await migrateWhile((name) => name < FIRST);
  await happened(7_001);
  await migrateWhile((name) => name < DATED);
  const transactions = async (): Promise<number> =>
    (await owner.query<{ n: number }>('SELECT count(DISTINCT xmin::text)::int4 AS n FROM events')).rows[0]?.n ?? -1;
  expect([await undated(), await transactions()]).toEqual([3_501, 1]);
  await migrateWhile((name) => name <= DATED);
  expect([await undated(), await transactions()]).toEqual([0, 5]);
});

test('an event that a planner has read keeps its id until the deliveries of it are there', async () => {
  await migrateWhile((name) => name < FIRST);
  const id = await happen();
  await migrateWhile((name) => name < DATED);
  await owner.query(`
    INSERT INTO webhook_endpoints (id, merchant_id, url, events) VALUES ('whk_1', 'mer_test_1', 'https://a.example', '{*}');
    INSERT INTO webhook_cursors (merchant_id, position) VALUES ('mer_test_1', 0)`);
  await owner.query(`BEGIN; SELECT FROM webhook_cursors WHERE merchant_id = 'mer_test_1' FOR UPDATE`);
  expect(await ids()).toEqual([id]);
  const migrated = migrateWhile((name) => name <= DATED);
  await Promise.race([migrated, delay(1_500)]);
  await owner.query(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
     SELECT 'dlv_1', merchant_id, 'whk_1', position, $1, type, subject_id, 'https://a.example' FROM events`,
    [id],
  );
  await owner.query('COMMIT');
  await migrated;
  const { rows } = await owner.query('SELECT event_id FROM webhook_deliveries');
  expect(rows).toEqual([{ event_id: id.replace('evt_test_', 'evt_') }]);
  expect(await ids()).toEqual([id.replace('evt_test_', 'evt_')]);
});
