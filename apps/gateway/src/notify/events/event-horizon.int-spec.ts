// Promise: no transaction holds up the event log for longer than half a minute unless it has written events itself, and none is missed.
import pg from 'pg';
import { PrismaService } from '#database';
import { startOwnServer, type OwnServer } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { EventHorizon } from './event-horizon.js';
import { EventReader } from './event-reader.js';

// A server of its own: a transaction in flight holds up the readers of every database on the server.
let server: OwnServer;
let url: string;
let ownerUrl: string;
let prisma: PrismaService;
let horizon: EventHorizon;
let reader: EventReader;

beforeAll(async () => {
  server = await startOwnServer();
  ({ url, ownerUrl } = await server.migratedDatabase());
  prisma = new PrismaService({ url, poolSize: 4, applicationName: 'horizon', lockTimeoutMs: 400 });
  horizon = new EventHorizon(prisma, createLogger('test', 'silent'));
  horizon.onApplicationBootstrap();
  reader = new EventReader(prisma, horizon);
});
afterAll(async () => {
  await horizon?.onModuleDestroy();
  await prisma?.$disconnect();
  await server?.remove();
});

async function session(databaseUrl = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function write(client: pg.Client, merchantId: string): Promise<string> {
  const id = newId('evt');
  await client.query(
    "INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, $2, 'receipt.accepted', $1, '{}')",
    [id, merchantId],
  );
  return id;
}

const idsOf = async (merchantId: string, after = 0n): Promise<string[]> =>
  (await reader.readAfter(merchantId, after, 100)).map(({ id }) => id);

test('transactions of strangers are passed once they are too old to write events; one that has written some is waited for', async () => {
  const [stranger, writer, quick] = [await session(), await session(), await session()];
  const elsewhere = await session(server.adminUrl);
  // As a migration that checks a constraint beside the writers of a large table.
  const migration = await session(ownerUrl);
  for (const client of [stranger, elsewhere, migration]) {
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
  }
  await migration.query('LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE');
  const first = await write(quick, 'mer_a');
  expect(await idsOf('mer_a')).toEqual([]);
  await untilTrue(async () => (await idsOf('mer_a')).length > 0, 'the strangers are passed');
  expect(horizon.heldUpMs).toBe(0);
  expect(horizon.oldestTransactionMs).toBeGreaterThan(20_000);

  await writer.query('BEGIN');
  const early = await write(writer, 'mer_a');
  const later = await write(quick, 'mer_a');
  await untilTrue(() => horizon.heldUpMs > 5_000, 'the writer is older than any that is passed', 120_000);
  expect(await idsOf('mer_a')).toEqual([first]);
  // A long transaction that began with an event goes on writing them.
  const late = await write(writer, 'mer_a');
  await writer.query('COMMIT');
  await untilTrue(async () => (await idsOf('mer_a')).length === 4, 'all of them are read');
  expect(await idsOf('mer_a')).toEqual([first, early, late, later]);

  await expect(write(stranger, 'mer_a')).rejects.toMatchObject({ code: '25P04' });
  await Promise.all([stranger, writer, quick, elsewhere, migration].map((client) => client.end()));
});

test('a transaction that does nothing is ended by the server after seconds: its session belongs to a program', async () => {
  const stalled = prisma.$transaction(
    async (tx) => {
      await tx.$executeRaw`
        INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ('evt_stalled', 'mer_b', 'receipt.accepted', 'x', '{}')`;
      // As a process that is stopped: it says nothing until the log is read again.
      await untilTrue(async () => (await idsOf('mer_b')).length > 0, 'the log goes on');
    },
    { timeout: 90_000 },
  );
  const quick = await session();
  await untilTrue(async () => {
    const rows = await quick.query("SELECT FROM pg_stat_activity WHERE state = 'idle in transaction'");
    return rows.rows.length > 0;
  }, 'the transaction is open');
  const written = await write(quick, 'mer_b');
  await expect(stalled).rejects.toThrow();
  expect(await idsOf('mer_b')).toEqual([written]);
  await quick.end();
});
