import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';

type Row = Record<string, unknown>;

/** One that stays open until it is committed, or ends with its connection. */
interface Transaction {
  commit: () => Promise<void>;
  end: () => Promise<void>;
}

/** A database and a folder of migrations of its own, which also processes apply that are killed. */
export class ScratchMigrations {
  readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-migrations-'));
  readonly migrateDatabaseUrl: string;

  private constructor(
    private readonly adminUrl: string,
    readonly database: string,
  ) {
    const url = new URL(adminUrl);
    [url.username, url.pathname] = ['fiscal_owner', `/${database}`];
    this.migrateDatabaseUrl = url.href;
  }

  static async create(files: Readonly<Record<string, string>>): Promise<ScratchMigrations> {
    const scratch = new ScratchMigrations(
      process.env['TEST_DATABASE_ADMIN_URL'] ?? '',
      `scratch_${randomBytes(5).toString('hex')}`,
    );
    await scratch.askServer(`CREATE DATABASE ${scratch.database} OWNER fiscal_owner`);
    scratch.write(files);
    return scratch;
  }

  async remove(): Promise<void> {
    rmSync(this.folder, { recursive: true });
    await this.askServer(`DROP DATABASE ${this.database} WITH (FORCE)`);
  }

  /** @param files the text of each migration by its name */
  write(files: Readonly<Record<string, string>>): void {
    for (const [migration, text] of Object.entries(files)) {
      mkdirSync(join(this.folder, migration), { recursive: true });
      writeFileSync(join(this.folder, migration, 'migration.sql'), text);
    }
  }

  apply(only?: string): Promise<{ applied: string[] }> {
    const migrations = readMigrations(this.folder).filter((each) => only === undefined || each.name === only);
    return migrate({ migrateDatabaseUrl: this.migrateDatabaseUrl, databaseUrl: undefined, migrations });
  }

  ask(sql: string): Promise<Row[]> {
    return ask(this.migrateDatabaseUrl, sql);
  }

  askServer(sql: string): Promise<Row[]> {
    return ask(this.adminUrl, sql);
  }

  /** A transaction that has seen the table: an index that is built concurrently waits for its end. */
  reader(table: string): Promise<Transaction> {
    return this.transaction(`SELECT count(*) FROM ${table}`);
  }

  async transaction(sql: string): Promise<Transaction> {
    const client = new pg.Client({ connectionString: this.migrateDatabaseUrl });
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query(sql);
    const commit = async (): Promise<void> => {
      await client.query('COMMIT');
      await client.end();
    };
    return { commit, end: () => client.end() };
  }

  /** A process of its own that migrates. */
  startProcess(): { kill: () => Promise<void> } {
    const script = `
      import { migrate, readMigrations } from ${JSON.stringify(join(process.cwd(), 'scripts/lib/migrations.mjs'))};
      await migrate({ migrateDatabaseUrl: process.env.URL, databaseUrl: undefined, migrations: readMigrations(process.env.FOLDER) });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, NODE_OPTIONS: '', URL: this.migrateDatabaseUrl, FOLDER: this.folder },
      stdio: 'ignore',
    });
    const exit = new Promise((resolve) => child.once('exit', resolve));
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await exit;
    };
    return { kill };
  }

  /** The build that waits for a reader. */
  async buildWaits(): Promise<void> {
    await until(
      'the build waits for the reader',
      () => this.builds(),
      (rows) => rows.length === 1,
    );
  }

  /** A statement that waits for a lock of a table. */
  async waitsForLock(like: string): Promise<void> {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = '${this.database}' AND wait_event = 'relation' AND query LIKE '${like}'`;
    await until(
      `${like} waits for a lock`,
      () => this.askServer(waiting),
      (rows) => rows.length === 1,
    );
  }

  /** Ends the server process that builds, as a server that is stopped does. */
  async endBuild(): Promise<void> {
    const [{ pid } = {}] = await this.builds();
    await this.askServer(`SELECT pg_terminate_backend(${String(pid)})`);
    await until(
      'its server process has ended',
      () => this.builds(),
      (rows) => rows.length === 0,
    );
  }

  /** Builds that have all rows and wait for those who do not see them yet. */
  builds(): Promise<Row[]> {
    return this.askServer(
      `SELECT pid FROM pg_stat_progress_create_index WHERE datname = '${this.database}' AND phase = 'waiting for old snapshots'`,
    );
  }
}

async function ask(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
