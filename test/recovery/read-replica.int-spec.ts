// Promise: what may be a little old is read from the replica, and never anything older than the setting says, whatever becomes of the replica.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListReads, ReplicaWatch, ReportReads } from '#database';
import { startOwnServer, type OwnServer } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import { writeReceipt } from '../../apps/gateway/src/receipts/search/testing/receipt-rows.js';
import { sql } from '../system/database.js';
import { TcpProxy } from '../system/tcp-proxy.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { startStandby, type Standby } from './standby.js';
import { takeBaseBackup } from './base-backup.js';

/** Several times what a question to both servers takes on a slow machine. */
const MAX_AGE_MS = 10_000;
/** Longer than a connection on which nothing comes is waited for. */
const ENOUGH_MS = 180_000;

let server: OwnServer;
let primary: { url: string; adminUrl: string };
let standby: Standby;
let replica: { adminUrl: string };
let line: TcpProxy;
let folder: string;
let fixture: OperatorFixture;

/** @param base a server, @param target whose database and role are meant */
function at(base: string, target: string): string {
  const url = new URL(target);
  url.port = new URL(base).port;
  return url.href;
}

beforeAll(async () => {
  server = await startOwnServer();
  primary = await server.migratedDatabase();
  folder = mkdtempSync(join(tmpdir(), 'fiscal-replica-'));
  chmodSync(folder, 0o711);
  const clusterDir = join(folder, 'data');
  await takeBaseBackup(server, clusterDir);
  standby = await startStandby({ clusterDir, primaryUrl: server.adminUrl, log: join(folder, 'log') });
  replica = { adminUrl: at(standby.adminUrl, primary.adminUrl) };
  const port = await freePorts(1);
  line = new TcpProxy(port, Number(new URL(standby.adminUrl).port));
  await line.listen();
  const through = new URL(at(standby.adminUrl, primary.url));
  through.port = String(port);
  const settings = { READ_DATABASE_URL: through.href, READ_MAX_AGE_MS: MAX_AGE_MS };
  fixture = await OperatorFixture.start(settings, () => Promise.resolve(primary.url));
});
afterAll(async () => {
  await fixture?.stop();
  await line?.close();
  await standby?.stop();
  await server?.remove();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const source = (): string => fixture.app.get(ListReads).source;
const isReadFrom = (wanted: 'replica' | 'primary'): Promise<string> =>
  until(`lists are read from the ${wanted}`, source, (now) => now === wanted, ENOUGH_MS);

interface Listed {
  status: number;
  ids: string[];
}

async function listed(): Promise<Listed> {
  const response = await fetch(`${fixture.base}/v1/receipts`, {
    headers: { authorization: `Bearer ${fixture.token}` },
  });
  const body = (await response.json()) as { data?: { id: string }[] };
  return { status: response.status, ids: (body.data ?? []).map(({ id }) => id) };
}

/** Every answer on the way must be a whole one. */
async function untilListed(id: string): Promise<void> {
  const { status } = await until(
    `${id} is in the list`,
    listed,
    ({ status: now, ids }) => now !== 200 || ids.includes(id),
    ENOUGH_MS,
  );
  expect(status).toBe(200);
}

const sell = (createdAt = new Date().toISOString()): Promise<string> =>
  writeReceipt(fixture.prisma, { merchantId: fixture.merchantId, createdAt });

async function isOnReplica(id: string): Promise<boolean> {
  return (await sql(replica, 'SELECT id FROM receipts WHERE id = $1', [id])).length === 1;
}

test('a list, an export and a report come from the replica while it keeps up', async () => {
  await isReadFrom('replica');
  const id = await sell('2026-03-01T10:00:00Z');
  await untilListed(id);
  const lists = fixture.app.get(ListReads).reads;
  const reports = fixture.app.get(ReportReads).reads;
  const period = 'from=2026-03-01&to=2026-03-01';
  const headers = { authorization: `Bearer ${fixture.token}` };
  await until(
    'each of them was read there',
    async () => {
      const before = { lists: lists.replica, reports: reports.replica };
      const file = await fetch(`${fixture.base}/v1/receipts/export`, { headers });
      expect((await file.text()).trimEnd().split('\n')).toHaveLength(1);
      // Filter and file.
      const exported = lists.replica - before.lists === 2;
      const report = await fetch(`${fixture.base}/v1/reports/turnover?by=day&${period}`, { headers });
      expect(await report.json()).toMatchObject({ data: [{ sales: { count: 1 } }] });
      return exported && reports.replica > before.reports;
    },
    Boolean,
    ENOUGH_MS,
  );
});

test('a replica that stops applying is left when it is too old, and read again when it has caught up', async () => {
  await isReadFrom('replica');
  await sql(replica, 'SELECT pg_wal_replay_pause()');
  const paused = "SELECT pg_get_wal_replay_pause_state() = 'paused' AS is_so";
  await until('it is paused', async () => (await sql<{ is_so: boolean }>(replica, paused))[0]?.is_so, Boolean);
  const id = await sell();
  await untilListed(id);
  expect(await isOnReplica(id)).toBe(false);
  expect(source()).toBe('primary');
  await sql(replica, 'SELECT pg_wal_replay_resume()');
  await isReadFrom('replica');
  await until('it has caught up', () => isOnReplica(id), Boolean);
});

test('a replica that no longer answers: every list is answered, by the primary', async () => {
  await isReadFrom('replica');
  line.freeze();
  const id = await sell();
  await untilListed(id);
  await isReadFrom('primary');
  line.thaw();
  await isReadFrom('replica');
});

test('a server that is no replica, or of another history, is not read', async () => {
  const watchOf = (replicaUrl: string): ReplicaWatch =>
    new ReplicaWatch(
      { primaryUrl: primary.url, replicaUrl, applicationName: 'test', maxAgeMs: 60_000 },
      createLogger('test', 'error', { write: () => undefined }),
    );
  const known = watchOf(at(standby.adminUrl, primary.url));
  const strangers = [
    primary.url,
    // The right server, another database.
    at(standby.adminUrl, primary.url).replace('/fiscal_template', '/postgres'),
    fixture.database.url,
  ].map(watchOf);
  await until(
    'the true one is known to be fresh',
    async () => {
      for (const watch of [known, ...strangers]) await watch.ask();
      return known.isFresh;
    },
    Boolean,
  );
  expect(strangers.map(({ isFresh }) => isFresh)).toEqual([false, false, false]);
  for (const watch of [known, ...strangers]) await watch.stop();
});

test('promoted to a database of its own, it is not read, however much it has', async () => {
  await isReadFrom('replica');
  await standby.loseLine();
  await standby.promote();
  const merchantId = newId('mer');
  await sql(replica, "INSERT INTO merchants (id, code, name, tin) VALUES ($1, $1, 'M', '300000000')", [merchantId]);
  const id = await sell();
  await untilListed(id);
  await isReadFrom('primary');
});

test('a replica that is gone: the primary answers', async () => {
  await standby.stop();
  const id = await sell();
  await untilListed(id);
  expect(source()).toBe('primary');
});
