// Promise: when a month of events has left, every reader goes on as if it had not: none gets an event twice, none misses one unnoticed.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, earlierTransactionsEnded, type TestDatabase, testClient } from '#database/testing';
import { createLogger, firstIdAt, newId } from '#runtime';
import { parseKeyring } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import type { AuditTrail } from '../../audit/audit-trail.js';
import type { Caller } from '../../audit/caller.js';
import { AddressBook } from '../messages/address-book.js';
import { PlanMessages } from '../messages/plan-messages.js';
import { DeliveryRepository } from '../webhooks/delivery.repository.js';
import { PlanDeliveries } from '../webhooks/plan-deliveries.js';
import { keepEventsChosen, ReplayEvents } from '../webhooks/replay-events.js';
import { WebhookHistory } from '../webhooks/webhook-history.js';
import { cursorOf, readEventCursor } from './event-cursor.js';
import { EventHorizon } from './event-horizon.js';
import { EventReader } from './event-reader.js';
import { ListEvents } from './list-events.js';

const DAY_MS = 86_400_000;
const LOG = createLogger('test', 'silent');
let database: TestDatabase;
let prisma: PrismaService;
let owner: pg.Client;
let list: ListEvents;
let plan: PlanDeliveries;
let made = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 4);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const horizon = new EventHorizon(prisma, LOG);
  list = new ListEvents(new EventReader(prisma, horizon));
  const book = new AddressBook(prisma, { SECRETS_KEY: parseKeyring(randomBytes(32).toString('base64')) });
  plan = new PlanDeliveries(prisma, horizon, new PlanMessages(book), LOG);
});
afterAll(async () => {
  await owner?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

/** As if the database had been converted long ago: what is older than a hundred days is a partition of its own. */
async function withOldMonth(): Promise<void> {
  const bound = firstIdAt('evt', new Date(Date.now() - 100 * DAY_MS));
  const { rows } = await owner.query<{ upper: string }>(
    `SELECT upper_id AS upper FROM partitions_of('events') WHERE name = 'events_first'`,
  );
  await owner.query(`ALTER TABLE events DETACH PARTITION parts.events_first`);
  await owner.query(`SELECT create_partition('events', 'events_old', $1)`, [`FROM (MINVALUE) TO ('${bound}')`]);
  await owner.query(
    `ALTER TABLE events ATTACH PARTITION parts.events_first FOR VALUES FROM ('${bound}') TO ('${rows[0]?.upper}')`,
  );
}

async function merchant(): Promise<{ id: string; endpoint: string }> {
  const [id, endpoint] = [newId('mer'), newId('whk')];
  await prisma.merchant.create({ data: { id, code: id, name: 'M', tin: '300000000' } });
  const url = 'https://example.uz/';
  await prisma.webhookEndpoint.create({
    data: { id: endpoint, merchantId: id, url, events: ['*'], createdAt: new Date(0) },
  });
  return { id, endpoint };
}

/** @returns ids of events, oldest first */
async function happen(merchantId: string, count: number, daysAgo = 0): Promise<string[]> {
  const at = new Date(Date.now() - daysAgo * DAY_MS);
  const from = (made += count) - count;
  const rows = await prisma.$queryRaw<{ id: string }[]>`
    INSERT INTO events (id, merchant_id, type, subject_id, data, created_at)
    SELECT ${firstIdAt('evt', at)} || lpad(n::text, 16, '0'), ${merchantId}, 'device.online', 'dev_' || n, '{}', ${at}
      FROM generate_series(${from + 1}::int4, ${from + count}::int4) AS n RETURNING id`;
  await earlierTransactionsEnded(owner);
  return rows.map(({ id }) => id);
}

async function planned(): Promise<void> {
  while (await plan.execute());
}

async function delivered(endpointId: string): Promise<string[]> {
  const rows = await prisma.webhookDelivery.findMany({ where: { endpointId }, orderBy: { sequence: 'asc' } });
  return rows.map(({ eventId }) => eventId);
}

async function send(endpointId: string): Promise<void> {
  await prisma.webhookDelivery.updateMany({
    where: { endpointId },
    data: { state: 'delivered', finishedAt: new Date() },
  });
}

async function page(merchantId: string, cursor?: string): Promise<{ ids: string[]; cursor: string }> {
  const { data, next_cursor: next } = await list.page(merchantId, { limit: '2', ...(cursor && { cursor }) });
  return { ids: data.map(({ id }) => id), cursor: next ?? '' };
}

test('cursors of clients, of the planner and deliveries that wait go on where they were', async () => {
  await withOldMonth();
  const [idle, busy, waiting] = [await merchant(), await merchant(), await merchant()];
  const old = {
    idle: await happen(idle.id, 3, 150),
    busy: await happen(busy.id, 3, 150),
    waiting: await happen(waiting.id, 3, 150),
  };
  const newer = await happen(busy.id, 1);
  const fresh = await happen(waiting.id, 1);
  await planned();
  await send(idle.endpoint);
  await send(busy.endpoint);
  const atIdleEnd = await page(idle.id, (await page(idle.id)).cursor);
  expect(atIdleEnd.ids).toEqual(old.idle.slice(2));
  const inTheMiddle = await page(busy.id);
  expect(inTheMiddle.ids).toEqual(old.busy.slice(0, 2));
  const [oldEnd] = await prisma.event.findMany({ where: { id: old.busy[2] ?? '' } });
  const atOldEnd = { cursor: cursorOf({ position: oldEnd?.position ?? 0n, id: oldEnd?.id ?? '' }) };

  const { rows } = await owner.query<{ step: string }>('SELECT release_event_partitions(90) AS step');
  expect(rows).toEqual([{ step: 'released' }]);
  const here = await prisma.event.findMany({ where: { id: { in: Object.values(old).flat() } } });
  // The last of each, at which a reader may stand, and those that wait to be sent.
  expect(here.map(({ id }) => id).sort()).toEqual([...old.idle.slice(2), ...old.busy.slice(2), ...old.waiting].sort());

  // Who has read to the end does not notice, however long nothing has happened.
  expect(await page(idle.id, atIdleEnd.cursor)).toEqual({ ids: [], cursor: atIdleEnd.cursor });
  await planned();
  expect(await delivered(idle.endpoint)).toEqual(old.idle);
  expect(await delivered(busy.endpoint)).toEqual([...old.busy, ...newer]);
  const [awake] = [await happen(idle.id, 1)];
  expect((await page(idle.id, atIdleEnd.cursor)).ids).toEqual(awake);
  await planned();
  expect(await delivered(idle.endpoint)).toEqual([...old.idle, ...awake]);

  // Who has missed nothing that is old goes on; who stands at one that waits, misses none behind it.
  expect((await page(busy.id, atOldEnd.cursor)).ids).toEqual(newer);
  expect((await page(waiting.id, (await page(waiting.id)).cursor)).ids).toEqual([old.waiting[2], ...fresh]);

  // Who was further behind is informed of it, and finds what is there.
  await expect(page(busy.id, inTheMiddle.cursor)).rejects.toMatchObject({ errors: [{ pointer: '/cursor' }] });
  expect((await page(busy.id)).ids).toEqual([...old.busy.slice(2), ...newer]);

  const at = await prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: waiting.endpoint } });
  const due = await new DeliveryRepository(prisma).due(at, 10);
  expect(due.map(({ id }) => id)).toEqual(expect.arrayContaining(old.waiting));

  const [gone] = await prisma.webhookDelivery.findMany({
    where: { endpointId: busy.endpoint, eventId: old.busy[0] ?? '' },
  });
  await expect(new WebhookHistory(prisma).delivery(busy.id, busy.endpoint, gone?.id ?? '')).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('has left the database') as unknown,
  });
});

test('who follows one subject that rests goes on from the end of the whole feed', async () => {
  const { id } = await merchant();
  const [subject = ''] = await happen(id, 1);
  const { subjectId } = await prisma.event.findFirstOrThrow({ where: { id: subject } });
  const first = await list.page(id, { subject_id: subjectId, limit: '5' });
  expect(first.data.map((event) => event.id)).toEqual([subject]);
  const others = await happen(id, 3);
  const second = await list.page(id, { subject_id: subjectId, limit: '5', cursor: first.next_cursor ?? '' });
  expect(second).toMatchObject({ data: [], has_more: false });
  expect(readEventCursor(second.next_cursor ?? '')?.id).toBe(others.at(-1));
  // It happens to the subject again.
  const again = newId('evt');
  await prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES (${again}, ${id}, 'device.offline', ${subjectId}, '{}')`;
  await earlierTransactionsEnded(owner);
  const third = await list.page(id, { subject_id: subjectId, limit: '5', cursor: second.next_cursor ?? '' });
  expect(third.data.map((event) => event.id)).toEqual([again]);
});

describe('deliveries of old events', () => {
  test('are not made while a month leaves: the caller asks again', async () => {
    await owner.query('BEGIN; SELECT pg_advisory_xact_lock(16722, 4)');
    try {
      await expect(prisma.$transaction((tx) => keepEventsChosen(tx))).rejects.toMatchObject({
        code: 'service_unavailable',
      });
    } finally {
      await owner.query('ROLLBACK');
    }
    await prisma.$transaction((tx) => keepEventsChosen(tx));
  });

  test('of a span of which something has left are refused as a whole', async () => {
    const replay = new ReplayEvents(prisma, new AuditedChange(prisma, {} as unknown as AuditTrail));
    const from = new Date(Date.now() - 120 * DAY_MS).toISOString();
    const caller = { merchantId: 'mer_1' } as unknown as Caller;
    await expect(replay.replay(caller, 'whk_1', { from, to: new Date().toISOString() })).rejects.toMatchObject({
      errors: [{ pointer: '/from', detail: expect.stringContaining('have left') as unknown }],
    });
  });
});
