import { appendFileSync, chownSync, closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { preparePostgresBinaries } from '../../scripts/lib/postgres-binaries.mjs';
import { spawnServer, stopServer } from '../../scripts/lib/postgres-cluster.mjs';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { sql } from '../system/database.js';
import { TcpProxy } from '../system/tcp-proxy.js';
import { until } from '../../libs/runtime/src/testing/until.js';

export interface Standby {
  /** As superuser. */
  readonly adminUrl: string;
  /** It has everything up to now, and nothing of what comes after. */
  loseLine(): Promise<void>;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export interface StandbyOptions {
  /** A base backup of the primary. */
  clusterDir: string;
  /** As superuser. */
  primaryUrl: string;
  log: string;
  /** No commit of the primary is answered before this standby has it: it has no line that can be cut. */
  isSynchronous?: boolean;
}

/** A streaming standby; an asynchronous one over a line that can be cut. */
export async function startStandby({
  clusterDir,
  primaryUrl,
  log,
  isSynchronous = false,
}: StandbyOptions): Promise<Standby> {
  const primary = new URL(primaryUrl);
  const port = await freePorts(1);
  // A line runs in this process, which may be busy: commits do not wait for it.
  const linePort = isSynchronous ? Number(primary.port) : await freePorts(1);
  const line = isSynchronous ? null : new TcpProxy(linePort, Number(primary.port));
  await line?.listen();
  const account = `user=${primary.username} password=${decodeURIComponent(primary.password)}`;
  appendFileSync(
    join(clusterDir, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${linePort} ${account} application_name=standby'\n`,
  );
  const signal = join(clusterDir, 'standby.signal');
  writeFileSync(signal, '');
  const { uid, gid } = statSync(clusterDir);
  chownSync(signal, uid, gid);
  const service = findServiceAccount();
  const cluster = { clusterDir, binaries: preparePostgresBinaries(service), account: service };
  const file = openSync(log, 'a');
  // A standby does not start with room for fewer connections than its primary has.
  const [{ max_connections: maxConnections } = { max_connections: '200' }] = await sql<{ max_connections: string }>(
    { adminUrl: primaryUrl },
    'SHOW max_connections',
  );
  const settings = { fsync: 'off', max_connections: maxConnections };
  const child = spawnServer(cluster, { port, log: file, settings });
  closeSync(file);
  const own = new URL(primaryUrl);
  own.port = String(port);
  const server = { adminUrl: own.href };
  const isOn = (statement: string): Promise<boolean> =>
    sql<{ is_so: boolean }>(server, statement).then(
      ([row]) => row?.is_so === true,
      () => false,
    );
  await until('the standby answers', () => isOn('SELECT pg_is_in_recovery() AS is_so'), Boolean);
  if (isSynchronous) await waitForIt(primaryUrl);
  return {
    adminUrl: own.href,
    loseLine: async () => {
      const [row] = await sql<{ lsn: string }>({ adminUrl: primaryUrl }, 'SELECT pg_current_wal_lsn()::text AS lsn');
      const hasAll = `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn ?? ''}'::pg_lsn AS is_so`;
      await until('the standby has everything', () => isOn(hasAll), Boolean);
      await line?.close();
    },
    promote: async () => {
      await sql(server, 'SELECT pg_promote()');
      await until('the standby is the primary', () => isOn('SELECT NOT pg_is_in_recovery() AS is_so'), Boolean);
    },
    stop: async () => {
      await line?.close();
      if (child.pid !== undefined) await stopServer(child.pid, 10_000);
    },
  };
}

/** From here on commits of the primary wait for the standby. */
async function waitForIt(primaryUrl: string): Promise<void> {
  const primary = { adminUrl: primaryUrl };
  await sql(primary, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await sql(primary, 'SELECT pg_reload_conf()');
  await until(
    'the standby is synchronous',
    () => sql<{ sync_state: string }>(primary, 'SELECT sync_state FROM pg_stat_replication'),
    (rows) => rows.some(({ sync_state }) => sync_state === 'sync'),
  );
}
