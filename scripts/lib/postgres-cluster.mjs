import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { codeOf, isMissing } from './files.mjs';
import { commandOf, waitUntil } from './processes.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('./service-account.mjs').ServiceAccount} ServiceAccount */
/** @typedef {import('./postgres-binaries.mjs').PostgresBinaries} PostgresBinaries */
/** @typedef {{ clusterDir: string, binaries: PostgresBinaries, account: ServiceAccount | null }} Cluster */

/** Messages are compared and shown in English, and nothing of our own environment (PGDATA, PGPORT …) reaches the server. */
const ENVIRONMENT = {
  LC_MESSAGES: 'C',
  PATH: process.env['PATH'] ?? '',
  ...(process.platform === 'win32' ? { SYSTEMROOT: process.env['SYSTEMROOT'] ?? '' } : {}),
};

/**
 * UTF-8 everywhere: without it initdb would take SQL_ASCII from an empty environment and Cyrillic search would find nothing.
 */
const LOCALE = process.platform === 'linux' ? 'C.UTF-8' : 'en_US.UTF-8';

/**
 * Makes the cluster if there is none. initdb works in a folder beside it, which is renamed when it is complete: a start
 * that was killed in between leaves rubbish, never half a cluster.
 * @param {Cluster} cluster
 * @param {string} password of the superuser `postgres`
 * @param {{ durable: boolean }} options
 */
export function createCluster({ clusterDir, binaries, account }, password, { durable }) {
  if (fs.existsSync(path.join(clusterDir, 'PG_VERSION'))) {
    assertVersion(clusterDir, binaries);
    return;
  }
  if (fs.existsSync(clusterDir) && fs.readdirSync(clusterDir).length > 0) {
    throw new UserError(`${clusterDir} is not a PostgreSQL data folder but holds files; name another DATA_DIR.`);
  }
  const half = `${clusterDir}.${randomBytes(4).toString('hex')}.new`;
  const passwordFile = `${half}.password`;
  fs.mkdirSync(half, { recursive: true, mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== null) for (const entry of [half, passwordFile]) fs.chownSync(entry, account.uid, account.gid);
  try {
    runInitdb(half, passwordFile, { binaries, account, durable });
    fs.rmSync(clusterDir, { recursive: true, force: true });
    fs.renameSync(half, clusterDir);
  } finally {
    fs.rmSync(passwordFile, { force: true });
    fs.rmSync(half, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @param {string} passwordFile
 * @param {{ binaries: PostgresBinaries, account: ServiceAccount | null, durable: boolean }} options
 */
function runInitdb(folder, passwordFile, { binaries, account, durable }) {
  const flags = [
    `--pgdata=${folder}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    `--locale=${LOCALE}`,
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
  const run = spawnSync(binaries.initdb, flags, { ...account, env: ENVIRONMENT, cwd: folder, encoding: 'utf8' });
  if (run.status === 0) return;
  throw new Error(`initdb failed: ${run.error?.message ?? ''}${run.stderr}`);
}

/**
 * @param {string} clusterDir
 * @param {PostgresBinaries} binaries
 */
function assertVersion(clusterDir, binaries) {
  const found = fs.readFileSync(path.join(clusterDir, 'PG_VERSION'), 'utf8').trim();
  if (found === String(binaries.major)) return;
  throw new UserError(
    `${clusterDir} was made by PostgreSQL ${found}, but this release runs PostgreSQL ${binaries.major}; ` +
      'carry the data over with pg_dump, or name another DATA_DIR.',
  );
}

/**
 * The server that runs on this cluster, whatever started it.
 * @param {string} clusterDir
 * @returns {{ pid: number, port: number } | null}
 */
export function findRunningServer(clusterDir) {
  const [pidText, folder, , portText] = readPidFile(clusterDir);
  const pid = Number(pidText);
  if (folder === undefined || !commandOf(pid).includes('postgres')) return null;
  return { pid, port: Number(portText) };
}

/** @param {string} clusterDir */
function readPidFile(clusterDir) {
  try {
    return fs.readFileSync(path.join(clusterDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/**
 * After kill -9 the file postmaster.pid names a dead process. PostgreSQL replaces it, unless the number meanwhile belongs
 * to a foreign process (common after a restart of a container): then it would refuse to start for ever.
 * @param {string} clusterDir
 */
function removeStalePidFile(clusterDir) {
  if (findRunningServer(clusterDir) === null) fs.rmSync(path.join(clusterDir, 'postmaster.pid'), { force: true });
}

/** @type {Set<import('node:child_process').ChildProcess>} started by this process and not ended */
const started = new Set();
let isEnding = false;

/**
 * From now on a signal ends this process as it would without, and with it the servers that it has started, which have groups of their own and would
 * outlive it. What they hold is thrown away: they are not asked to finish.
 */
export function endServersWithUs() {
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      if (isEnding) return;
      isEnding = true;
      const ended = [...started].flatMap(({ pid }) => (pid === undefined ? [] : [killServer(pid, 'SIGQUIT')]));
      void Promise.allSettled(ended).then(() => process.exit(128 + os.constants.signals[name]));
    });
  }
}

/**
 * Starts the server in a process group of its own, so that Ctrl-C in the terminal does not reach it before the programs
 * that still use it.
 * @param {Cluster} cluster
 * @param {{ port: number, log: number, settings: Record<string, string | number> }} options `log` is an open file
 */
export function spawnServer({ clusterDir, binaries, account }, { port, log, settings }) {
  if (isEnding) throw new UserError('The program ends: no server is started.');
  removeStalePidFile(clusterDir);
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(binaries.postgres, ['-D', clusterDir, '-p', String(port), ...flags], {
    ...account,
    env: ENVIRONMENT,
    cwd: clusterDir,
    stdio: ['ignore', log, log],
    detached: true,
  });
  child.unref();
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}

/**
 * Fast shutdown, and when that takes too long an immediate one (the next start then recovers from the log).
 * @param {number} pid of the postmaster
 * @param {number} patienceMs
 */
export async function stopServer(pid, patienceMs) {
  if (!signal(pid, 'SIGINT')) return;
  if (await waitUntil(() => commandOf(pid) === '', patienceMs)) return;
  signal(pid, 'SIGQUIT');
  if (await waitUntil(() => commandOf(pid) === '', 3_000)) return;
  await killServer(pid);
}

/**
 * Ends the postmaster, and returns when it has ended: until then it holds its port.
 * @param {number} pid of the postmaster; its backends notice and end themselves
 * @param {'SIGKILL' | 'SIGQUIT'} how SIGQUIT is what `pg_ctl stop -m immediate` sends: the postmaster waits five seconds for
 *   its backends, then it kills them
 */
export async function killServer(pid, how = 'SIGKILL') {
  signal(pid, how);
  if (await waitUntil(() => commandOf(pid) === '', 15_000)) return;
  signal(pid, 'SIGKILL');
  if (!(await waitUntil(() => commandOf(pid) === '', 15_000))) throw new Error(`PostgreSQL ${pid} does not end.`);
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} name
 * @returns {boolean} false when the process is gone
 */
function signal(pid, name) {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}
