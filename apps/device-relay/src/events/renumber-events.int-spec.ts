// Promise: after a restore no lane waits for the events' numbers, and readers of the log still see each event once, in order.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createLogger } from '#runtime';
import { createTestDatabase, earlierTransactionsEnded, type TestDatabase, testClient } from '#database/testing';
import { holdAfterRestore } from '../copies/hold-after-restore.js';
import { RenumberEvents } from './renumber-events.js';

const COPIED = 1_000;
const logger = createLogger('test', 'silent');
let database: TestDatabase;
let prisma: PrismaService;
let session: pg.Client;

beforeEach(async () => {
  database = await createTestDatabase();
  prisma = testClient(database.url, 4);
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
  // As a dump brings them: numbers of a cluster that has seen far more transactions, some of them the other way round.
  await session.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data, transaction_id)
     SELECT 'evt_' || n, 'mer_1', 'device.online', 'dev_1', '{}', (900000000000 - n / 10 * 10 + n % 7)::text::xid8
       FROM generate_series(1, ${COPIED}) AS n`,
  );
  await session.query("INSERT INTO database_identity (identity) VALUES ('1/1/1')");
});
afterEach(async () => {
  await session.end();
  await prisma.$disconnect();
  await database.drop();
});

async function publish(id: string): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES (${id}, 'mer_1', 'device.online', 'dev_1', '{}')`;
}

/** As readers of events do: behind an event, in order, before what is in flight. */
async function readAfter(position: bigint, limit = 100): Promise<{ id: string; position: bigint }[]> {
  return prisma.$queryRaw`
    SELECT id, position FROM events e
     WHERE merchant_id = 'mer_1'
       AND (e.transaction_id, e.position)
           > (coalesce((SELECT b.transaction_id FROM events b WHERE b.position = ${position}::bigint), '0'::xid8), ${position}::bigint)
       AND e.transaction_id < events_readable_below(pg_snapshot_xmin(pg_current_snapshot()))
     ORDER BY e.transaction_id, e.position LIMIT ${limit}`;
}

async function pending(): Promise<number> {
  const { rows } = await session.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM events WHERE transaction_id > '800000000000'",
  );
  return rows[0]?.n ?? Number.NaN;
}

test('taking lanes touches no event; readers wait until all have their number, then see each once, the copied ones first', async () => {
  await holdAfterRestore(session, logger);
  expect(await pending()).toBe(COPIED);
  await publish('evt_new');
  expect(await readAfter(0n)).toEqual([]);
  const renumber = new RenumberEvents(prisma, logger, 150);
  let batches = 1;
  while (await renumber.run()) {
    batches += 1;
    expect(await readAfter(0n)).toEqual([]);
  }
  expect(batches).toBe(7);
  await publish('evt_newer');
  await earlierTransactionsEnded(session);
  const seen: string[] = [];
  for (let after = 0n; ;) {
    const page = await readAfter(after);
    if (page.length === 0) break;
    seen.push(...page.map(({ id }) => id));
    after = page.at(-1)?.position ?? after;
  }
  expect(seen).toEqual([...Array.from({ length: COPIED }, (_, index) => `evt_${index + 1}`), 'evt_new', 'evt_newer']);
});

test('a relay that dies in between: another goes on where it was; two at the same time share nothing', async () => {
  await holdAfterRestore(session, logger);
  expect(await new RenumberEvents(prisma, logger, 300).run()).toBe(true);
  expect(await pending()).toBe(COPIED - 300);
  const [one, other] = [new RenumberEvents(prisma, logger, 100), new RenumberEvents(prisma, logger, 100)];
  while ((await Promise.all([one.run(), other.run()])).some(Boolean));
  expect(await pending()).toBe(0);
  expect(await prisma.$queryRaw`SELECT next FROM event_renumberings`).toEqual([]);
});

test('positions whose events have left for an archive take no time: of years of them only some months are there', async () => {
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(
    `UPDATE events SET position = position + CASE WHEN position > 10 THEN 40000000000 ELSE 7000000000 END`,
  );
  await owner.end();
  await holdAfterRestore(session, logger);
  const renumber = new RenumberEvents(prisma, logger, 500);
  let batches = 1;
  while (batches < 10 && (await renumber.run())) batches += 1;
  expect(batches).toBeLessThan(6);
  expect(await pending()).toBe(0);
  expect(await prisma.$queryRaw`SELECT next FROM event_renumberings`).toEqual([]);
});

test('lanes are taken while numbers are given', async () => {
  await holdAfterRestore(session, logger);
  const writing = new pg.Client({ connectionString: database.url });
  await writing.connect();
  await writing.query('BEGIN');
  await writing.query('SELECT FROM event_renumberings FOR UPDATE');
  await writing.query('UPDATE events SET transaction_id = pg_current_xact_id() WHERE position < 100');
  await holdAfterRestore(session, logger);
  await writing.query('ROLLBACK');
  await writing.end();
});

test('another timeline of the same cluster (a promoted standby, a point in time) numbers on: there is nothing to do', async () => {
  const { rows } = await session.query<{ identity: string }>(
    `SELECT (SELECT system_identifier FROM pg_control_system())::text || '/00000000/' || 'receipts'::regclass::oid AS identity`,
  );
  await session.query('UPDATE database_identity SET identity = $1', [rows[0]?.identity]);
  await holdAfterRestore(session, logger);
  expect(await prisma.$queryRaw`SELECT next FROM event_renumberings`).toEqual([]);
});

test('put back once more before it was done: it begins anew', async () => {
  await holdAfterRestore(session, logger);
  await new RenumberEvents(prisma, logger, 300).run();
  await session.query("UPDATE database_identity SET identity = '2/2/2'");
  await publish('evt_between');
  await holdAfterRestore(session, logger);
  const renumber = new RenumberEvents(prisma, logger);
  while (await renumber.run());
  await earlierTransactionsEnded(session);
  expect((await readAfter(0n, 2_000)).map(({ id }) => id)).toHaveLength(COPIED + 1);
});
