import fs from 'node:fs';
import pg from 'pg';

import { codeOf, lastLines, openLog } from './files.mjs';
import { spawnServer, stopServer } from './postgres-cluster.mjs';
import { sleep, waitUntil } from './processes.mjs';
import { RestartPauses } from './restart-pauses.mjs';
import { UserError } from './user-error.mjs';

/**
 * @typedef {{
 *   cluster: import('./postgres-cluster.mjs').Cluster, logFile: string, port: number, adminUrl: string,
 *   settings: Record<string, string>,
 * }} ServerOptions
 */

/** After a crash with much in its log a server recovers for minutes, and answers no one. */
const RECOVERS_WITHIN_MS = 600_000;
const STOP_PATIENCE_MS = 30_000;

/** The server process of an embedded cluster. */
export class EmbeddedServer {
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null;
  #stopping = false;
  #pauses = new RestartPauses();

  /** @param {ServerOptions} options */
  constructor(options) {
    this.options = options;
  }

  /** @returns {Promise<number>} its process number, when it answers */
  async start() {
    const { cluster, logFile, port, adminUrl, settings } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      const log = openLog(logFile);
      const child = spawnServer(cluster, { port, log, settings });
      this.#child = child;
      fs.closeSync(log);
      if (child.pid !== undefined && (await answers(child, adminUrl))) return child.pid;
      // One that still runs would keep the next one out of its folder, and be ended by no one.
      if (child.pid !== undefined && isRunning(child)) await stopServer(child.pid, STOP_PATIENCE_MS);
      // Backends of a killed server hold its shared memory for a moment longer.
      const tail = lastLines(logFile, 6);
      if (this.#stopping || attempt >= 20 || !tail.includes('shared memory block')) {
        throw new UserError(`The embedded PostgreSQL did not start. The end of ${logFile}:\n${tail}`);
      }
      await sleep(500);
    }
  }

  /**
   * From now on a server that ends by itself (its disk is full, it was killed) is started again, with a growing pause: the programs that
   * use it wait for it, and no one else starts it.
   * @param {(pid: number) => void} note gets the number of each new process
   */
  keep(note) {
    const begin = performance.now();
    this.#child?.once('exit', (code, signal) => {
      if (this.#stopping) return;
      void this.#startAgain(signal ?? `code ${code}`, note, this.#pauses.next(performance.now() - begin));
    });
  }

  /** @param {number} patienceMs */
  async stop(patienceMs) {
    this.#stopping = true;
    const child = this.#child;
    // The number of one that has ended may be another process's by now.
    if (child?.pid === undefined || !isRunning(child)) return;
    await stopServer(child.pid, patienceMs);
  }

  /**
   * @param {string} how it ended
   * @param {(pid: number) => void} note
   * @param {number} delayMs
   * @returns {Promise<void>}
   */
  async #startAgain(how, note, delayMs) {
    console.error(
      `! PostgreSQL ended (${how}); it is started again in ${delayMs / 1000} s. Its log: ${this.options.logFile}`,
    );
    if (await waitUntil(() => this.#stopping, delayMs)) return;
    try {
      note(await this.start());
    } catch (error) {
      if (this.#stopping) return;
      if (!(error instanceof UserError)) throw error;
      return this.#startAgain('it does not start', note, this.#pauses.next(0));
    }
    console.error(`! PostgreSQL is started again (number ${this.#pauses.ends}).`);
    this.keep(note);
  }
}

/** @param {import('node:child_process').ChildProcess} child */
function isRunning({ exitCode, signalCode }) {
  return exitCode === null && signalCode === null;
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} url
 * @returns {Promise<boolean>} false when the server gave up, or recovers for longer than it may
 */
async function answers(child, url) {
  const end = performance.now() + RECOVERS_WITHIN_MS;
  let ended = false;
  child.once('error', () => (ended = true));
  child.once('exit', () => (ended = true));
  while (!ended && performance.now() < end) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    const connected = await client.connect().then(
      () => true,
      (error) => !isStarting(error),
    );
    await client.end().catch(() => undefined);
    if (connected && !ended) return true;
    await sleep(30);
  }
  return false;
}

/** @param {unknown} error */
function isStarting(error) {
  const code = codeOf(error);
  const cannotConnectNow = '57P03';
  if (code === undefined || code === cannotConnectNow || code.startsWith('E')) return true;
  throw error;
}
