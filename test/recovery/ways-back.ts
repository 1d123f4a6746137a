import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOwnServer, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { copyTree, takeBaseBackup, writeAs } from './base-backup.js';
import { startPackaged } from './packaged-postgres.js';
import { ReplicatedServer } from './replicated-server.js';

/** A database that can be put back to where it was when `keepPoint` was called. */
export interface WayBack {
  database: TestDatabase;
  keepPoint(): Promise<void>;
  /** No program is connected meanwhile. */
  goBack(): Promise<void>;
  stop(): Promise<void>;
}

const TEMPLATE = 'fiscal_template';

/** `pg_dump` in the night, `pg_restore` into an empty database of the same name. docs/backup.md has the same commands. */
export async function byDump(packaged: { bin: string; major: number }): Promise<WayBack> {
  const server = await startPackaged(packaged);
  const name = 'fiscal_recovery';
  const url = (role: string, database: string): string => {
    const made = new URL(server.adminUrl);
    made.username = role;
    made.pathname = `/${database}`;
    return made.href;
  };
  await sql(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} OWNER fiscal_owner`);
  const file = join(mkdtempSync(join(tmpdir(), 'fiscal-dump-')), 'yesterday.dump');
  return {
    database: {
      url: url('fiscal_app', name),
      ownerUrl: url('fiscal_owner', name),
      adminUrl: url('postgres', name),
      drop: () => Promise.resolve(),
    },
    keepPoint: () =>
      Promise.resolve(server.tool('pg_dump', ['--format=custom', '--file', file, url('postgres', name)])),
    goBack: async () => {
      await sql(server, `DROP DATABASE ${name} WITH (FORCE)`);
      await sql(server, `CREATE DATABASE ${name} OWNER fiscal_owner`);
      server.tool('pg_restore', ['--exit-on-error', '--dbname', url('postgres', name), file]);
    },
    stop: async () => {
      await server.stop();
      rmSync(join(file, '..'), { recursive: true });
    },
  };
}

/** A base backup and the archived log; back to a moment between two transactions. */
export async function byTimeTravel(): Promise<WayBack> {
  const server = await startOwnServer();
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-archive-'));
  const archive = join(folder, 'log');
  mkdirSync(archive);
  // The server may run as another account than we.
  chmodSync(folder, 0o777);
  chmodSync(archive, 0o777);
  const database = await server.migratedDatabase();
  await sql(server, "ALTER SYSTEM SET archive_mode = 'on'");
  // Under its name only when it is whole: a server that is killed in between leaves no half of the log behind.
  await sql(
    server,
    `ALTER SYSTEM SET archive_command = 'cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f'`,
  );
  await server.kill('SIGQUIT');
  await server.restart();
  const base = join(folder, 'base');
  await takeBaseBackup(server, base);
  let moment = '';
  return {
    database,
    keepPoint: async () => {
      const [row] = await sql<{ moment: string }>(database, 'SELECT clock_timestamp()::text AS moment');
      moment = row?.moment ?? '';
    },
    goBack: async () => {
      const [last] = await sql<{ segment: string }>(server, 'SELECT pg_walfile_name(pg_switch_wal()) AS segment');
      await until('the log is archived', () => readdirSync(archive).includes(last?.segment ?? ''), Boolean);
      await server.kill('SIGQUIT');
      renameSync(server.clusterDir, join(folder, 'lost'));
      copyTree(base, server.clusterDir);
      appendFileSync(
        join(server.clusterDir, 'postgresql.auto.conf'),
        [
          `restore_command = 'cp ${archive}/%f "%p"'`,
          `recovery_target_time = '${moment}'`,
          "recovery_target_action = 'promote'",
          // No server reads before it is decided where the history ends.
          "hot_standby = 'off'",
          '',
        ].join('\n'),
      );
      writeAs(server.clusterDir, 'recovery.signal', '');
      await server.restart();
    },
    stop: async () => {
      await server.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An asynchronous standby that has lost its line to the primary when `keepPoint` was called. */
export function byPromotion(): Promise<WayBack> {
  return promotable({ isSynchronous: false });
}

/** A synchronous standby: nothing that was committed is lost. `keepPoint` has no meaning. */
export function byFailover(): Promise<WayBack> {
  return promotable({ isSynchronous: true });
}

async function promotable({ isSynchronous }: { isSynchronous: boolean }): Promise<WayBack> {
  const server = await ReplicatedServer.start({ isSynchronous });
  await server.attachStandby();
  return {
    database: server.database,
    keepPoint: () => server.loseLine(),
    goBack: async () => {
      await server.killPrimary();
      await server.promote();
    },
    stop: () => server.stop(),
  };
}
