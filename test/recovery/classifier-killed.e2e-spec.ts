// Promise: a command that is killed while it switches the classification register, or while it reads the next one, leaves the version that was in force; run again it comes to its end and reads nothing twice.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { ClassifierRig } from '../../apps/gateway/src/goods/classifier/testing/classifier-rig.js';
import { RegisterSite, type SiteRow } from '../../apps/gateway/src/goods/classifier/testing/register-site.js';
import { createTestDatabase, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const CLI = join(process.cwd(), 'dist', 'apps', 'gateway', 'src', 'programs', 'cli', 'main.js');
/** First key of the locks on merchants' trails: the last thing that going back waits for before its commit. */
const AUDIT_LOCK_SPACE = 0x4155;
const SECRETS_KEY = randomBytes(32).toString('base64');
const site = new RegisterSite();
let database: TestDatabase;
let admin: pg.Client;
let rig: ClassifierRig;

const row = (number: number, name = 'Товар'): SiteRow => ({
  ...{ spic: String(10_000_000_000_000_000n + BigInt(number)), ru: name, uz: name, marked: false, cash: true },
  packages: [{ code: '1', name: 'шт' }],
});

beforeAll(async () => {
  await site.start();
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query(`INSERT INTO merchants (id, code, name, tin) VALUES ('mer_a', 'a', 'A', '300000000')`);
  rig = ClassifierRig.on(database.url);
  for (const rows of [
    [row(1), row(2)],
    [row(1, 'Иное'), row(3)],
  ]) {
    site.rows = rows;
    expect(await rig.load('full', site.fullUrl)).toMatchObject({ kind: 'applied' });
  }
});

afterAll(async () => {
  await rig?.end();
  await admin?.end();
  await database?.drop();
  await site.stop();
});

function command(...args: string[]): { child: ChildProcess; said: () => string } {
  const env = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', DATABASE_URL: database.url, SECRETS_KEY };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => void (said += chunk.toString()));
  return { child, said: () => said };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  expect(await gone).toEqual([null, 'SIGKILL']);
}

/** A command that has ended by itself is not waited for. */
function alive<T>(child: ChildProcess, said: () => string, value: T): T {
  if (child.exitCode !== null) throw new Error(said());
  return value;
}

async function inForce(): Promise<string> {
  const { rows } = await admin.query<{ entries: unknown }>(
    `SELECT jsonb_agg(jsonb_build_array(spic, name->>'ru', active, version) ORDER BY spic) AS entries FROM classifier_entries`,
  );
  return JSON.stringify(rows[0]?.entries);
}

async function sessions(where: string): Promise<number> {
  const { rows } = await admin.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'cli' AND ${where}`,
  );
  return rows[0]?.n ?? 0;
}

/** Who died is not waited for any longer. */
async function halfAMinuteLater(): Promise<void> {
  await admin.query(`UPDATE classifier_imports SET seen_at = seen_at - interval '30 seconds'`);
}

test('killed between writing the version and its commit: the one that was in force stays, and is left the second time', async () => {
  const before = await inForce();
  const lock = `(${AUDIT_LOCK_SPACE}::int4, hashtext('mer_a'))`;
  await admin.query(`SELECT pg_advisory_lock${lock}`);
  const { child, said } = command('classifier', 'back', '--reason', 'wrong codes');
  const isWaiting = async (): Promise<number> => alive(child, said, await sessions(`wait_event_type = 'Lock'`));
  await until('it waits for the trail', isWaiting, (count) => count === 1);
  expect(await inForce()).toBe(before);
  await kill(child);
  await admin.query(`SELECT pg_advisory_unlock${lock}`);
  await until(
    'its session is gone',
    () => sessions('true'),
    (count) => count === 0,
  );
  expect(await inForce()).toBe(before);
  expect((await admin.query('SELECT FROM audit_records')).rowCount).toBe(0);
  // It may still be at work, for all that anybody knows.
  expect(await rig.back()).toEqual({ kind: 'busy' });
  await halfAMinuteLater();
  expect(await rig.back()).toMatchObject({ kind: 'applied', version: 3, restored: 1 });
  expect((await admin.query('SELECT FROM audit_records')).rowCount).toBe(1);
});

test('killed while it reads: nothing is in force of it, and what was read is not read again', async () => {
  const before = await inForce();
  site.rows = [row(1, 'Третье'), row(2), row(4)];
  site.troubles = [undefined, 'hang'] as unknown as typeof site.troubles;
  site.asked.length = 0;
  const { child, said } = command('classifier', 'load', 'full', '--source', site.fullUrl);
  await until(
    'it reads the second language',
    () => alive(child, said, site.asked.length),
    (asked) => asked === 2,
  );
  await until('its progress is shown', said, (text) => /\d+ % 3 rows, \d+\/s, 0 rejected/.test(text));
  await kill(child);
  expect(await inForce()).toBe(before);
  site.asked.length = 0;
  await halfAMinuteLater();
  expect(await rig.load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 4, added: 1, rows: 6 });
  expect(site.asked).toEqual(['category?lang=uz_latn']);
});
