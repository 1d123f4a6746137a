import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { EmbeddedServer } from './embedded-server.mjs';
import { readJson, writeSecretJson } from './files.mjs';
import { preparePostgresBinaries, SYSTEM_FOLDER } from './postgres-binaries.mjs';
import { createCluster, findRunningServer, killServer, stopServer } from './postgres-cluster.mjs';
import { APP_ROLE, DATABASE, ensureDatabase, ensureRoles, OWNER_ROLE } from './postgres-roles.mjs';
import { commandOf, isPortFree, waitUntil } from './processes.mjs';
import { canEnter, findServiceAccount } from './service-account.mjs';
import { UserError } from './user-error.mjs';

/**
 * What `postgres.json` in the data folder records (mode 0600): where the cluster lies, which passwords were drawn for
 * it, and who runs it now. The programs that are started alone find the server through it.
 * @typedef {{
 *   cluster_dir: string, port: number, server_pid: number | null, supervisor_pid: number | null,
 *   passwords: { postgres: string, owner: string, app: string },
 *   admin_url: string, migrate_database_url: string, database_url: string,
 * }} PostgresRecord
 */

/**
 * @typedef {{
 *   adminUrl: string, migrateDatabaseUrl: string, databaseUrl: string, port: number,
 *   owned: boolean, keep: () => void, stop: () => Promise<void>,
 * }} RunningPostgres `owned` is false when another of our programs started it and will stop it; `keep`: from now on it is started
 *   again when it ends by itself
 */

/**
 * Starts the embedded PostgreSQL of a data folder, or attaches to it when another of our programs runs it already.
 * @param {{ dataDir: string, port: number, durable?: boolean }} options `durable: false` only for throw-away data
 * @returns {Promise<RunningPostgres>}
 */
export async function startEmbeddedPostgres({ dataDir, port, durable = true }) {
  const account = findServiceAccount();
  const binaries = preparePostgresBinaries(account);
  const previous = readPostgresRecord(dataDir);
  const clusterDir = previous?.cluster_dir ?? chooseClusterDir(dataDir, account);
  const cluster = { clusterDir, binaries, account };
  const running = findRunningServer(clusterDir);
  if (previous !== undefined && running !== null) {
    if (isOurProgram(previous.supervisor_pid)) return attach(previous);
    // Its supervisor was killed: nothing would ever stop it, and nothing watches its log.
    await stopServer(running.pid, 10_000);
  }
  if (!(await isPortFree(port))) {
    throw new UserError(`Port ${port} is taken by another program; set POSTGRES_PORT to a free one.`);
  }
  const record = makeRecord(clusterDir, port, previous?.passwords ?? drawPasswords(durable));
  // The passwords are on disk before a cluster exists that knows them.
  writeSecretJson(recordFile(dataDir), record);
  createCluster(cluster, record.passwords.postgres, { durable });
  const server = new EmbeddedServer({
    ...{ cluster, port, adminUrl: record.admin_url, logFile: path.join(dataDir, 'logs', 'postgres.log') },
    // Test servers serve many whole systems at a time, each with pools of its own.
    settings: durable ? {} : { fsync: 'off', full_page_writes: 'off', shared_buffers: '64MB', max_connections: '1000' },
  });
  const pid = await server.start();
  await ensureRoles(record.admin_url, record.passwords);
  await ensureDatabase(record.admin_url, DATABASE);
  const note = (/** @type {number} */ now) =>
    writeSecretJson(recordFile(dataDir), { ...record, server_pid: now, supervisor_pid: process.pid });
  note(pid);
  return { ...urlsOf(record), owned: true, keep: () => server.keep(note), stop: () => server.stop(4_000) };
}

/**
 * @param {string} dataDir
 * @returns {PostgresRecord | undefined}
 */
export function readPostgresRecord(dataDir) {
  return /** @type {PostgresRecord | undefined} */ (readJson(recordFile(dataDir)));
}

/**
 * The running server of a data folder, without starting one.
 * @param {string} dataDir
 * @returns {RunningPostgres | null}
 */
export function attachToPostgres(dataDir) {
  const record = readPostgresRecord(dataDir);
  if (record === undefined || findRunningServer(record.cluster_dir) === null) return null;
  return attach(record);
}

/**
 * Takes away a throw-away server with everything it left on disk.
 * @param {string} dataDir
 */
export async function destroyEmbeddedPostgres(dataDir) {
  const record = readPostgresRecord(dataDir);
  if (record !== undefined) {
    const running = findRunningServer(record.cluster_dir);
    if (running !== null) await stopServer(running.pid, 4_000);
    fs.rmSync(record.cluster_dir, { recursive: true, force: true });
    if (record.cluster_dir.startsWith(SYSTEM_FOLDER)) fs.rmdirSync(path.dirname(record.cluster_dir));
  }
  fs.rmSync(dataDir, { recursive: true, force: true });
}

/**
 * Ends the server the way a failing machine does. When it returns the port is free: a backend that was just forked holds the
 * listening socket for a moment longer than its postmaster lives.
 * @param {string} dataDir
 * @param {'SIGKILL' | 'SIGQUIT'} [how] SIGQUIT is what `pg_ctl stop -m immediate` sends
 */
export async function killEmbeddedPostgres(dataDir, how) {
  const record = readPostgresRecord(dataDir);
  const running = record === undefined ? null : findRunningServer(record.cluster_dir);
  if (record === undefined || running === null) return;
  await killServer(running.pid, how);
  if (!(await waitUntil(() => isPortFree(record.port), 30_000))) {
    throw new Error(`Port ${record.port} is still held after its PostgreSQL was killed.`);
  }
}

/** @param {string} dataDir */
function recordFile(dataDir) {
  return path.join(dataDir, 'postgres.json');
}

/** @param {number | null} pid */
function isOurProgram(pid) {
  return pid !== null && pid !== process.pid && commandOf(pid).includes('node');
}

/**
 * Inside the data folder, unless root's service account cannot walk there: then below /var/lib, under a name of its own
 * that the record names.
 * @param {string} dataDir
 * @param {import('./service-account.mjs').ServiceAccount | null} account
 */
function chooseClusterDir(dataDir, account) {
  if (account === null || canEnter(dataDir, account)) return path.join(dataDir, 'postgres');
  const folder = path.join(SYSTEM_FOLDER, 'data', randomBytes(6).toString('hex'));
  fs.mkdirSync(folder, { recursive: true, mode: 0o755 });
  return path.join(folder, 'postgres');
}

/**
 * @param {boolean} durable throw-away servers have one password, so that one URL says everything
 */
function drawPasswords(durable) {
  const first = randomBytes(24).toString('base64url');
  const draw = () => (durable ? randomBytes(24).toString('base64url') : first);
  return { postgres: draw(), owner: draw(), app: draw() };
}

/**
 * @param {string} clusterDir
 * @param {number} port
 * @param {PostgresRecord['passwords']} passwords
 * @returns {PostgresRecord}
 */
function makeRecord(clusterDir, port, passwords) {
  const url = (/** @type {string} */ role, /** @type {string} */ password, /** @type {string} */ database) =>
    `postgresql://${role}:${password}@127.0.0.1:${port}/${database}`;
  return {
    cluster_dir: clusterDir,
    port,
    server_pid: null,
    supervisor_pid: null,
    passwords,
    admin_url: url('postgres', passwords.postgres, 'postgres'),
    migrate_database_url: url(OWNER_ROLE, passwords.owner, DATABASE),
    database_url: url(APP_ROLE, passwords.app, DATABASE),
  };
}

/** @param {PostgresRecord} record */
function urlsOf(record) {
  return {
    adminUrl: record.admin_url,
    migrateDatabaseUrl: record.migrate_database_url,
    databaseUrl: record.database_url,
    port: record.port,
  };
}

/**
 * @param {PostgresRecord} record
 * @returns {RunningPostgres}
 */
function attach(record) {
  return { ...urlsOf(record), owned: false, keep: () => undefined, stop: async () => {} };
}
