// Promise: an installation with sandboxes, whose events a release before named behind all months, gets its events in partitions, and sandboxes sell meanwhile.
import pg from 'pg';
import { createEmptyDatabase } from '#database/testing';
import { newIdOf } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

const FIRST = '20261126060000_events_position_id';
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
