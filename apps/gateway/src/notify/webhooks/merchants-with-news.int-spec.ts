// Promise: whose events are to be planned is found at once where they are new, and in a few seconds whatever happened; the others are not asked about.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Prisma, type PrismaService } from '#database';
import { createTestDatabase, earlierTransactionsEnded, type TestDatabase, testClient } from '#database/testing';
import { createLogger, firstIdAt, newId } from '#runtime';
import { EventHorizon } from '../events/event-horizon.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { lastNotPlanned, MerchantsWithNews, SETTLED_MS } from './merchants-with-news.js';

const LOG = createLogger('test', 'silent');
const NEVER = Number.POSITIVE_INFINITY;
const DAY_MS = 86_400_000;
let database: TestDatabase;
let prisma: PrismaService;
let owner: pg.Client;
let ids: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 4);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
beforeEach(async () => {
  await owner.query('DELETE FROM webhook_cursors; DELETE FROM events; DELETE FROM merchants');
  ids = Array.from({ length: 130 }, () => newId('mer')).sort();
  await prisma.merchant.createMany({ data: ids.map((id) => ({ id, code: id, name: 'M', tin: '300000000' })) });
});
afterAll(async () => {
  await owner?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

const news = (sweepEveryMs = NEVER): MerchantsWithNews =>
  new MerchantsWithNews(prisma, new EventHorizon(prisma, LOG), { sweepMs: sweepEveryMs, sweepAllMs: NEVER });

async function happens(merchantIds: readonly string[], client: pg.Client = owner): Promise<void> {
  await client.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data)
     SELECT 'evt_' || id || nextval('lane_place_seq'), id, 'device.online', 'dev_1', '{}' FROM unnest($1::text[]) AS id`,
    [merchantIds],
  );
}

async function published(merchantIds: readonly string[]): Promise<void> {
  await happens(merchantIds);
  await earlierTransactionsEnded(owner);
}

/** All that have a turn now, each as planned to its end unless it is said otherwise. */
async function turns(found: MerchantsWithNews, leaving: readonly string[] = []): Promise<string[]> {
  const had: string[] = [];
  for (let isMore = true; isMore;) {
    const turn = await found.next();
    had.push(...turn.merchants);
    const planned = turn.merchants.filter((id) => !leaving.includes(id));
    await owner.query(
      `INSERT INTO webhook_cursors (merchant_id, position)
       SELECT m.id, (SELECT coalesce(max(e.position), 0) FROM events e WHERE e.merchant_id = m.id) FROM unnest($1::text[]) AS m(id)
       ON CONFLICT (merchant_id) DO UPDATE SET position = excluded.position`,
      [planned],
    );
    isMore = turn.isMore;
  }
  return had;
}

test('the first time all are asked about, later those with new events alone', async () => {
  await published(ids);
  const found = news();
  expect(await turns(found)).toEqual(ids);
  expect(await turns(found)).toEqual([]);
  const some = [ids[120] ?? '', ids[3] ?? ''];
  await published(some);
  expect(await turns(found)).toEqual([...some].sort());
  expect(await turns(found)).toEqual([]);
});

test('what was planned in part comes again in the next pass, without a sweep', async () => {
  const found = news();
  await turns(found);
  await published(ids.slice(0, 60));
  const left = ids.slice(5, 8);
  expect(await turns(found, left)).toEqual(ids.slice(0, 60));
  // Also long after the end of the log has settled.
  for (let round = 0; round < 3; round += 1) {
    await delay(SETTLED_MS + 100);
    expect(await turns(found, left)).toEqual(left);
  }
  expect(await turns(found)).toEqual(left);
  expect(await turns(found)).toEqual([]);
});

/** An event of the second merchant is written and, after `during`, committed. */
async function committedAfter(during: () => Promise<void>): Promise<void> {
  const writer = new pg.Client({ connectionString: database.url });
  await writer.connect();
  try {
    await writer.query('BEGIN');
    await happens([ids[1] ?? ''], writer);
    await during();
    await writer.query('COMMIT');
  } finally {
    await writer.end();
  }
  await earlierTransactionsEnded(owner);
}

/** All that have had a turn until this one has. */
async function turnsUntil(found: MerchantsWithNews, id: string | undefined): Promise<string[]> {
  const had: string[] = [];
  await until(
    'it has its turn',
    async () => {
      had.push(...(await turns(found)));
      return had;
    },
    (soFar) => soFar.includes(id ?? ''),
  );
  return had;
}

test('an event behind a transaction under way has its turn when that has ended, without a sweep', async () => {
  const found = news();
  await turns(found);
  await committedAfter(async () => {
    await happens([ids[0] ?? '']);
    expect(await turns(found)).toEqual([]);
  });
  expect(await turns(found)).toEqual(ids.slice(0, 2));
});

test('an event that is committed long after a thousand others is found by the next sweep', async () => {
  const found = news(300);
  await turns(found);
  await committedAfter(async () => {
    for (let round = 0; round < 10; round += 1) await happens(ids.slice(2));
    for (let round = 0; round < 3; round += 1) {
      await turns(found);
      await delay(SETTLED_MS + 100);
    }
  });
  expect(await turnsUntil(found, ids[1])).toContain(ids[1]);
  expect(await turns(found)).toEqual([]);
});

test('in a database that was put back, with fewer events, nothing is missed', async () => {
  await owner.query(`SELECT setval('events_position_seq', 1000000)`);
  await published(ids.slice(0, 10));
  const found = news(300);
  await turns(found);
  await owner.query('DELETE FROM events; DELETE FROM webhook_cursors; ALTER SEQUENCE events_position_seq RESTART');
  await published([ids[7] ?? '']);
  expect(await turnsUntil(found, ids[7])).toEqual([ids[7]]);
});

test('at rest only the end of the log is asked for', async () => {
  const found = news();
  await published([ids[4] ?? '']);
  await turns(found);
  await delay(SETTLED_MS + 100);
  // Who had news is asked about once more.
  await turns(found);
  const asked = prisma.$queryRaw.bind(prisma);
  const statements: string[] = [];
  const counting = {
    $queryRaw: (texts: TemplateStringsArray, ...values: unknown[]) => {
      statements.push(Prisma.sql(texts, ...values).text);
      return asked(texts, ...values);
    },
    ask: (question: Prisma.Sql) => {
      statements.push(question.text);
      return prisma.ask(question);
    },
  } as unknown as PrismaService;
  Object.assign(found, { prisma: counting });
  expect(await found.next()).toEqual({ merchants: [], isMore: false });
  expect(statements).toEqual([expect.stringMatching(/^SELECT max\(position\)/)]);
});

test('as a rule only partitions are read to which an event of these days belongs', async () => {
  const bound = firstIdAt('evt', new Date(Date.now() - 60 * DAY_MS));
  const { rows } = await owner.query<{ name: string }>(`SELECT name FROM partitions_of('events')`);
  for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
  await owner.query(
    `SELECT create_partition('events', 'events_old', $1), create_partition('events', 'events_new', $2)`,
    [`FROM (MINVALUE) TO ('${bound}')`, `FROM ('${bound}') TO (MAXVALUE)`],
  );
  const [old = '', recent = ''] = ids;
  await owner.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, $2, 'device.online', 'dev_1', '{}')`,
    [`${firstIdAt('evt', new Date(Date.now() - 61 * DAY_MS))}${'0'.repeat(16)}`, old],
  );
  await happens([recent]);
  const asked = async (isOfAll: boolean): Promise<string[]> => {
    const [page] = await prisma.$queryRaw<{ may_have_news: string[] }[]>(lastNotPlanned({ after: '', isOfAll }));
    return page?.may_have_news.sort() ?? [];
  };
  expect(await asked(false)).toEqual([recent]);
  expect(await asked(true)).toEqual([old, recent]);
});

test('a sweep that fails, however late, keeps none with new events from its turn, and the one of all waits for longer', async () => {
  const found = new MerchantsWithNews(prisma, new EventHorizon(prisma, LOG), { sweepMs: 200, sweepAllMs: 60_000 });
  const asked = prisma.$queryRaw.bind(prisma);
  let failures = 0;
  const failing = {
    $queryRaw: async (texts: TemplateStringsArray | Prisma.Sql, ...values: unknown[]) => {
      const statement = 'text' in texts ? texts : Prisma.sql(texts, ...values);
      if (!statement.text.includes('may_have_news') || statement.text.includes('partitions_of'))
        return asked(statement);
      failures += 1;
      await delay(400);
      throw new Error('canceling statement due to statement timeout');
    },
    ask: prisma.ask.bind(prisma),
  } as unknown as PrismaService;
  Object.assign(found, { prisma: failing });
  await expect(found.next()).rejects.toThrow(/statement timeout/);
  await published(ids.slice(0, 3));
  expect(await turns(found)).toEqual(ids.slice(0, 3));
  await delay(400);
  expect(await turns(found)).toEqual([]);
  expect(failures).toBe(1);
});

test('more merchants than one statement asks about are all asked about', async () => {
  const more = Array.from({ length: 1_100 }, () => newId('mer')).sort();
  await prisma.merchant.createMany({ data: more.map((id) => ({ id, code: id, name: 'M', tin: '300000000' })) });
  await happens(more);
  // So many that what is read again of the end of the log has none of theirs.
  for (let round = 0; round < 9; round += 1) await happens(ids);
  await published(ids);
  expect((await turns(news())).sort()).toEqual([...ids, ...more]);
});
