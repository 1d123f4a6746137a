// Promise: the backups of docker-compose.yml can be gone back to, to the moment, also after the server or a backup was killed in the middle.
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { createCluster, killServer, spawnServer, stopServer } from '../../scripts/lib/postgres-cluster.mjs';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { interpolate, readComposeFile } from '../deployment/compose-file.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { findPackaged } from './packaged-postgres.js';

const packaged = findPackaged();
// For a developer without PostgreSQL's own tools; CI has them, or fails.
const mayRun = packaged !== null || process.env['CI'] === 'true';
const SCRIPTS = join(import.meta.dirname, '..', '..', 'docker', 'backup');
const PASSWORD = 'recovery';
const account = findServiceAccount();

/** A server as the compose file starts it, its folder of backups, and the scripts as that file calls them. */
class Installation {
  readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-backups-'));
  readonly backups = join(this.folder, 'backups');
  clusterDir = join(this.folder, 'data');
  private port = 0;
  private pid = 0;
  private readonly bin = packaged?.bin ?? '';

  async start(): Promise<void> {
    this.port = await freePorts(1);
    const settings: Record<string, string> = {};
    const command = readComposeFile().services['postgres']?.command ?? [];
    for (const [index, word] of command.entries()) {
      if (word !== '-c') continue;
      const [name = '', ...value] = interpolate(command[index + 1] ?? '', { WAL_ARCHIVE: 'on' }).split('=');
      settings[name] = value.join('=');
    }
    expect(settings).toMatchObject({ archive_mode: 'on', archive_timeout: '60' });
    settings['archive_command'] = `BACKUP_DIR=${this.backups} ${settings['archive_command'] ?? ''}`.replace(
      '/opt/fiscal-backup',
      SCRIPTS,
    );
    const log = openSync(join(this.folder, 'log'), 'a');
    const child = spawnServer(this.cluster(), { port: this.port, log, settings: { ...settings, fsync: 'off' } });
    this.pid = child.pid ?? 0;
    const answers = (): Promise<boolean> =>
      this.sql('SELECT 1').then(
        () => true,
        () => false,
      );
    await until('PostgreSQL answers', answers, Boolean);
  }

  create(): void {
    chmodSync(this.folder, 0o755);
    mkdirSync(this.backups);
    if (account) chownSync(this.backups, account.uid, account.gid);
    createCluster(this.cluster(), PASSWORD, { durable: false });
  }

  kill(): Promise<unknown> {
    return killServer(this.pid);
  }

  async remove(): Promise<void> {
    await stopServer(this.pid, 10_000);
    rmSync(this.folder, { recursive: true, force: true });
  }

  sql<T extends object>(text: string): Promise<T[]> {
    return sql<T>({ adminUrl: `postgresql://postgres:${PASSWORD}@127.0.0.1:${String(this.port)}/postgres` }, text);
  }

  /** Everything up to now is in the archive. */
  async archived(): Promise<void> {
    const [last] = await this.sql<{ segment: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS segment');
    const name = `${last?.segment ?? ''}.gz`;
    await until(
      'the log is archived',
      () => Promise.resolve(this.log()),
      (names) => names.includes(name),
    );
  }

  log(): string[] {
    return readdirSync(join(this.backups, 'wal')).filter((name) => !name.endsWith('.part'));
  }

  bases(): string[] {
    return readdirSync(join(this.backups, 'base')).filter((name) => name.endsWith('Z'));
  }

  script(name: string, args: string[], env: Record<string, string> = {}): SpawnSyncReturns<string> {
    return spawnSync('sh', [join(SCRIPTS, name), ...args], {
      ...account,
      cwd: this.backups,
      encoding: 'utf8',
      env: {
        PATH: `${this.bin}:${process.env['PATH'] ?? ''}`,
        ...{ BACKUP_DIR: this.backups, PGDATA: this.clusterDir, PGHOST: '127.0.0.1', PGPORT: String(this.port) },
        ...{ PGUSER: 'postgres', PGPASSWORD: PASSWORD, BACKUP_KEEP: '2' },
        ...env,
      },
    });
  }

  private cluster(): Parameters<typeof spawnServer>[0] {
    const [initdb, postgres] = [join(this.bin, 'initdb'), join(this.bin, 'postgres')];
    const major = packaged?.major ?? 0;
    const binaries = { folder: this.bin, version: String(major), major, initdb, postgres };
    return { clusterDir: this.clusterDir, binaries, account };
  }
}

let one: Installation;
beforeAll(async () => {
  if (!mayRun) return;
  one = new Installation();
  one.create();
  await one.start();
  await one.sql('CREATE TABLE sales (number int PRIMARY KEY)');
});
afterAll(() => one?.remove());

const heldTest = mayRun ? test : test.skip;
const ended = (run: SpawnSyncReturns<string>): [number | null, string] => [run.status, run.stderr];
const numbers = async (): Promise<number[]> =>
  (await one.sql<{ number: number }>('SELECT number FROM sales ORDER BY number')).map(({ number }) => number);
const now = async (): Promise<string> => {
  const [row] = await one.sql<{ moment: string }>(
    "SELECT to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US+00') AS moment",
  );
  return row?.moment ?? '';
};
/** Base backups are named by whole seconds. */
const nextSecond = (): Promise<unknown> => one.sql('SELECT pg_sleep(1.1)');

heldTest('goes back to a moment between two sales, after the server was killed', async () => {
  expect(ended(one.script('back-up.sh', ['check']))).toEqual([1, 'back-up: there is none\n']);
  const before = await now();
  await nextSecond();
  await one.sql('INSERT INTO sales VALUES (1)');
  expect(ended(one.script('back-up.sh', ['once']))).toMatchObject([0, expect.anything()]);
  expect(ended(one.script('back-up.sh', ['check']))).toEqual([0, '']);
  await nextSecond();
  await one.sql('INSERT INTO sales VALUES (2)');
  const moment = await now();
  await one.sql('INSERT INTO sales VALUES (3)');
  await one.archived();
  await one.sql('INSERT INTO sales VALUES (4)');
  await one.kill();

  const first = ended(one.script('restore.sh', [moment]));
  expect(first).toEqual([1, `restore: ${one.clusterDir} is not empty; put it aside first\n`]);
  const lost = `${one.clusterDir}.lost`;
  cpSync(one.clusterDir, lost, { recursive: true });
  rmSync(one.clusterDir, { recursive: true });
  mkdirSync(one.clusterDir, { mode: 0o700 });
  if (account) chownSync(one.clusterDir, account.uid, account.gid);
  expect(ended(one.script('restore.sh', [before]))).toEqual([
    1,
    expect.stringContaining('no base backup had ended by then'),
  ]);
  expect(ended(one.script('restore.sh', ['yesterday?']))).toEqual([1, expect.stringContaining('is no time')]);
  expect(readdirSync(one.clusterDir)).toEqual([]);
  expect(ended(one.script('restore.sh', [moment]))).toEqual([0, '']);
  await one.start();
  await until(
    'it has recovered',
    () => one.sql<{ is_so: boolean }>('SELECT pg_is_in_recovery() AS is_so'),
    ([row]) => row?.is_so === false,
  );
  expect(await numbers()).toEqual([1, 2]);
  await one.sql('INSERT INTO sales VALUES (5)');
});

heldTest('keeps as many as it was asked for, and the log that the oldest of them needs', async () => {
  const all = one.log();
  for (let nth = 0; nth < 3; nth += 1) {
    await nextSecond();
    await one.archived();
    expect(ended(one.script('back-up.sh', ['once']))[0]).toBe(0);
  }
  expect(one.bases()).toHaveLength(2);
  expect(one.log().filter((name) => all.includes(name) && /^[0-9A-F]{24}\.gz$/.test(name))).toEqual([]);
  await one.sql('INSERT INTO sales VALUES (6)');
  await one.archived();
  await one.kill();
  // Without a time: all that the archive has, whatever an earlier way back stopped at.
  const elsewhere = join(one.folder, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  if (account) chownSync(elsewhere, account.uid, account.gid);
  one.clusterDir = elsewhere;
  expect(ended(one.script('restore.sh', []))).toEqual([0, '']);
  await one.start();
  expect(await numbers()).toEqual([1, 2, 5, 6]);
});

heldTest('a backup that was killed half-way is none, takes no other one away, and goes with the next', async () => {
  const bases = one.bases();
  const half = join(one.backups, 'base', '20260101T000000Z.part');
  mkdirSync(half);
  writeFileSync(join(half, 'base.tar.gz'), 'half');
  if (account) chownSync(half, account.uid, account.gid);
  expect(ended(one.script('back-up.sh', ['once'], { PGPORT: '1' }))[0]).not.toBe(0);
  expect(one.bases()).toEqual(bases);
  await nextSecond();
  expect(ended(one.script('back-up.sh', ['once']))).toMatchObject([0, expect.anything()]);
  expect(existsSync(half)).toBe(false);
});

heldTest('a segment of the log is archived once, whole, and never over another one', () => {
  const segment = join(one.backups, 'segment');
  const archive = (): [number | null, string] =>
    ended(one.script('archive-wal.sh', [segment, '0000000F0000000000000001']));
  writeFileSync(segment, 'what happened');
  chmodSync(segment, 0o644);
  // Left by a server that died while it copied.
  writeFileSync(join(one.backups, 'wal', '0000000F0000000000000001.gz.part'), 'wha', { mode: 0o666 });
  chmodSync(join(one.backups, 'wal', '0000000F0000000000000001.gz.part'), 0o666);
  expect(archive()).toEqual([0, '']);
  expect(archive()).toEqual([0, '']);
  writeFileSync(segment, 'what another server says happened');
  expect(archive()).toEqual([1, 'archive-wal: 0000000F0000000000000001 is archived already, with another content\n']);
});

heldTest('a damaged backup is not started', () => {
  const [newest = ''] = one.bases().slice(-1);
  const manifest = join(one.backups, 'base', newest, 'backup_manifest');
  writeFileSync(manifest, '{}');
  const aside = join(one.folder, 'aside');
  mkdirSync(aside, { mode: 0o700 });
  if (account) chownSync(aside, account.uid, account.gid);
  const [status, said] = ended(one.script('restore.sh', [], { PGDATA: aside }));
  expect([status, said]).toEqual([1, expect.stringContaining('is damaged')]);
  expect(existsSync(join(aside, 'recovery.signal'))).toBe(false);
});
