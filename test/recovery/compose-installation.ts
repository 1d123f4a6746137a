import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { createCluster, killServer, spawnServer, stopServer } from '../../scripts/lib/postgres-cluster.mjs';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { interpolate, readComposeFile } from '../deployment/compose-file.js';
import { sql } from '../system/database.js';
import { findPackaged } from './packaged-postgres.js';

const packaged = findPackaged();
// For a developer without PostgreSQL's own tools; CI has them, or fails.
export const mayRun = packaged !== null || process.env['CI'] === 'true';
const SCRIPTS = join(import.meta.dirname, '..', '..', 'docker', 'backup');
const PASSWORD = 'recovery';
export const account = findServiceAccount();

/** A server as the compose file starts it, its folder of backups, and the scripts as that file calls them. */
export class Installation {
  readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-backups-'));
  readonly backups = join(this.folder, 'backups');
  clusterDir = join(this.folder, 'data');
  port = 0;
  private pid = 0;
  private losses = 0;
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

  sql<T extends object>(query: string): Promise<T[]> {
    return sql<T>({ adminUrl: `postgresql://postgres:${PASSWORD}@127.0.0.1:${String(this.port)}/postgres` }, query);
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
    return spawnSync('sh', [join(SCRIPTS, name), ...args], { ...this.surroundings(env), encoding: 'utf8' });
  }

  /** The same while the test goes on: what it answers, and what it has said on standard error. */
  async begin(name: string, args: string[], env: Record<string, string> = {}): Promise<[number | null, string]> {
    const child = spawn('sh', [join(SCRIPTS, name), ...args], {
      ...this.surroundings(env),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = text(child.stderr);
    const [status] = (await once(child, 'close')) as [number | null];
    return [status, await said];
  }

  /** Stops the server as a crash does, puts its data folder aside and makes an empty one, of the server's account. */
  async lose(): Promise<void> {
    await this.kill();
    this.losses += 1;
    renameSync(this.clusterDir, `${this.clusterDir}.lost-${String(this.losses)}`);
    this.makeFolder(this.clusterDir);
  }

  makeFolder(folder: string): void {
    mkdirSync(folder, { mode: 0o700 });
    if (account) chownSync(folder, account.uid, account.gid);
  }

  /** Started, and no longer in recovery: only then it may be written to. */
  async recover(): Promise<void> {
    await this.start();
    await until(
      'it has recovered',
      () => this.sql<{ is_so: boolean }>('SELECT pg_is_in_recovery() AS is_so'),
      ([row]) => row?.is_so === false,
    );
  }

  /** By the server's clock. */
  async clock(): Promise<string> {
    const [row] = await this.sql<{ moment: string }>(
      "SELECT to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US+00') AS moment",
    );
    return row?.moment ?? '';
  }

  /** Base backups are named by whole seconds. */
  nextSecond(): Promise<unknown> {
    return this.sql('SELECT pg_sleep(1.1)');
  }

  async numbers(): Promise<number[]> {
    const rows = await this.sql<{ number: number }>('SELECT number FROM sales ORDER BY number');
    return rows.map(({ number }) => number);
  }

  private surroundings(env: Record<string, string>): { cwd: string; env: Record<string, string> } {
    return {
      ...account,
      cwd: this.backups,
      env: {
        PATH: `${this.bin}:${process.env['PATH'] ?? ''}`,
        ...{ BACKUP_DIR: this.backups, PGDATA: this.clusterDir, PGHOST: '127.0.0.1', PGPORT: String(this.port) },
        ...{ PGUSER: 'postgres', PGPASSWORD: PASSWORD, BACKUP_KEEP: '2' },
        ...env,
      },
    };
  }

  private cluster(): Parameters<typeof spawnServer>[0] {
    const [initdb, postgres] = [join(this.bin, 'initdb'), join(this.bin, 'postgres')];
    const major = packaged?.major ?? 0;
    const binaries = { folder: this.bin, version: String(major), major, initdb, postgres };
    return { clusterDir: this.clusterDir, binaries, account };
  }
}

export const ended = (run: SpawnSyncReturns<string>): [number | null, string] => [run.status, run.stderr];
