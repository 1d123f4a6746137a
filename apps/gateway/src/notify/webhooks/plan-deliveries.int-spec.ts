// Promise: every merchant's events become deliveries in their turn, whatever backlog or fault others have.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { PrismaService } from '#database';
import {
  createTestDatabase,
  earlierTransactionsEnded,
  planOf,
  recorded,
  sampleDocument,
  superuserOf,
  testClient,
  type TestDatabase,
} from '#database/testing';
import { createLogger, newId } from '#runtime';
import { parseKeyring } from '#secrets';
import { AddressBook } from '../messages/address-book.js';
import { PlanMessages } from '../messages/plan-messages.js';
import { EventHorizon } from '../events/event-horizon.js';
import { endpointsOf, PlanDeliveries } from './plan-deliveries.js';

let database: TestDatabase;
let prisma: PrismaService;
let owner: pg.Client;
const LOG = createLogger('test', 'silent');
let book: AddressBook;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 4);
  book = new AddressBook(prisma, { SECRETS_KEY: parseKeyring(randomBytes(32).toString('base64')) });
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
beforeEach(() =>
  owner.query(
    'DELETE FROM webhook_deliveries; DELETE FROM webhook_endpoints; DELETE FROM webhook_cursors; DELETE FROM events; DELETE FROM merchants',
  ),
);
afterAll(async () => {
  await owner?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

const planner = (): PlanDeliveries =>
  new PlanDeliveries(prisma, new EventHorizon(prisma, LOG), new PlanMessages(book), LOG);

/** @returns their ids, sorted */
async function merchants(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('mer')).sort();
  await prisma.merchant.createMany({ data: ids.map((id) => ({ id, code: id, name: 'M', tin: '300000000' })) });
  return ids;
}

async function publish(merchantIds: readonly string[], events: number): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    SELECT 'evt_' || m.id || nextval('lane_place_seq'), m.id, 'device.online', 'dev_' || n, '{}'
      FROM unnest(${[...merchantIds]}::text[]) AS m(id), generate_series(1, ${events}::int) AS n`;
  await earlierTransactionsEnded(owner);
}

async function withDeliveries(merchantIds: readonly string[]): Promise<string[]> {
  const rows = await prisma.webhookDelivery.groupBy({
    by: ['merchantId'],
    where: { merchantId: { in: [...merchantIds] } },
  });
  return rows.map(({ merchantId }) => merchantId).sort();
}

async function endpointFor(merchantIds: readonly string[]): Promise<void> {
  const data = merchantIds.map((merchantId) => ({
    ...{ id: newId('whk'), merchantId, url: 'https://example.uz/', events: ['*'], createdAt: new Date(0) },
  }));
  await prisma.webhookEndpoint.createMany({ data });
}

test('120 merchants with more than a round can make: each has its turn within three', async () => {
  const ids = await merchants(120);
  await publish(ids, 200);
  await endpointFor(ids);
  const plan = planner();
  for (let round = 0; round < 3; round += 1) expect(await plan.execute()).toBe(true);
  expect(await withDeliveries(ids)).toEqual(ids);
});

test('a merchant with a long backlog leaves the round to the others, and is done in the end', async () => {
  const ids = await merchants(3);
  const [long = '', ...short] = ids;
  await publish([long], 5_000);
  await publish(short, 1);
  await endpointFor(ids);
  const plan = planner();
  await plan.execute();
  expect(await withDeliveries(ids)).toEqual(ids);
  expect(await prisma.webhookDelivery.count({ where: { merchantId: long } })).toBeLessThan(2_000);
  while (await plan.execute());
  expect(await prisma.webhookDelivery.count({ where: { merchantId: long } })).toBe(5_000);
  const rows = await prisma.webhookDelivery.findMany({ where: { merchantId: long }, orderBy: { sequence: 'asc' } });
  expect(rows.map(({ eventPosition }) => eventPosition)).toEqual(
    rows.map(({ eventPosition }) => eventPosition).sort((a, b) => (a < b ? -1 : 1)),
  );
  expect(new Set(rows.map(({ eventId }) => eventId)).size).toBe(5_000);
});

test('receipts are read by their keys, however many there are', async () => {
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
     SELECT 'rcp_' || n, 'mer_1', 'cli_1', 'receipts', '', 'sale', 'rejected', $1, 1, 0 FROM generate_series(1, 100000) AS n`,
    [sampleDocument()],
  );
  const read = async (): Promise<unknown> => {
    await owner.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await owner.query(`SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'receipts_first'`);
    return rows[0];
  };
  const ids = await merchants(20);
  await publish(ids, 1_000);
  await endpointFor(ids);
  await owner.query('ANALYZE receipts');
  await owner.query('ANALYZE events');
  const before = await read();
  // Sessions say what they have read when they are at rest, or end.
  const ended = testClient(database.url, 1);
  await new PlanDeliveries(ended, new EventHorizon(ended, LOG), new PlanMessages(book), LOG).execute();
  await ended.$disconnect();
  await delay(100);
  expect(await withDeliveries(ids)).toEqual(ids);
  expect(await read()).toEqual(before);
  await owner.query('DELETE FROM receipts');
});

test('one whose deliveries cannot be made does not keep the others waiting', async () => {
  const ids = await merchants(5);
  await publish(ids, 3);
  await endpointFor(ids);
  await owner.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON webhook_deliveries FOR EACH ROW WHEN (NEW.merchant_id = '${ids[1]}') EXECUTE FUNCTION refuse()`);
  try {
    await planner().execute();
    expect(await withDeliveries(ids)).toEqual(ids.filter((id) => id !== ids[1]));
  } finally {
    await owner.query('DROP FUNCTION refuse CASCADE');
  }
  while (await planner().execute());
  expect(await withDeliveries(ids)).toEqual(ids);
});

test('several gateways at the same time make each delivery once', async () => {
  const ids = await merchants(60);
  await publish(ids, 50);
  await endpointFor(ids);
  const planners = [planner(), planner(), planner()];
  for (let round = 0; round < 6; round += 1) await Promise.all(planners.map((plan) => plan.execute()));
  expect(await prisma.webhookDelivery.count()).toBe(60 * 50);
  const rows = await prisma.webhookDelivery.groupBy({ by: ['endpointId', 'eventId'] });
  expect(rows).toHaveLength(60 * 50);
});

test('receivers of a batch are read without those of callbacks, and without those that were deleted: ever new origins of one merchant slow no other', async () => {
  const client = await superuserOf(database);
  try {
    await client.query(
      `INSERT INTO webhook_endpoints (id, merchant_id, kind, url, events, deleted_at)
       SELECT 'whk_' || n, CASE WHEN n % 100 = 0 THEN 'mer_' || n ELSE 'mer_1' END,
              (CASE WHEN n % 50 = 0 THEN 'endpoint' ELSE 'callback' END)::webhook_kind, 'https://h' || n || '.example', '{*}',
              CASE WHEN n % 100 = 50 THEN now() END
         FROM generate_series(1, 20000) AS n`,
    );
    await client.query('ANALYZE webhook_endpoints');
    const statement = recorded((database) => endpointsOf(database, ['mer_1', 'mer_100', 'mer_200']));
    await client.query('SET ROLE fiscal_app');
    const { largest, wholeTables } = await planOf(client, statement);
    expect({ largest, wholeTables }).toEqual({ largest: 2, wholeTables: [] });
  } finally {
    await client.end();
  }
});
