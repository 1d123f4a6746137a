import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { followChildLog } from './child-log.mjs';
import { lastLines, writeSecretJson } from './files.mjs';
import { ROOT } from './paths.mjs';
import { sleep, waitUntil } from './processes.mjs';
import { PROGRAM_FLAGS } from './program-flags.mjs';
import { RestartPauses } from './restart-pauses.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('./programs.mjs').Program} Program */
/**
 * @typedef {{
 *   program: Program, env: NodeJS.ProcessEnv, logFile: string,
 *   child: import('node:child_process').ChildProcess | null, pauses: RestartPauses, wasReady: boolean,
 * }} Supervised
 */

/** In the folder of the logs: the process number of each program, for tools that work on a running system. */
export const PROCESSES_FILE = 'processes.json';
const PRELOAD = pathToFileURL(path.join(import.meta.dirname, 'die-with-parent.mjs')).href;

/** Runs programs, restarts one that dies, with a growing pause, and stops them all together. */
export class Supervisor {
  /** @type {Supervised[]} */
  #all = [];
  #stopping = false;

  /** @param {string} logDir */
  constructor(logDir) {
    this.logDir = logDir;
  }

  /**
   * Starts a program and waits until it works.
   * @param {Program} program
   * @param {NodeJS.ProcessEnv} env
   * @param {string} baseUrl where it will answer
   */
  async start(program, env, baseUrl) {
    const logFile = path.join(this.logDir, `${program.name}.log`);
    /** @type {Supervised} */
    const entry = { program, env, logFile, child: null, pauses: new RestartPauses(), wasReady: false };
    this.#all.push(entry);
    this.#spawn(entry);
    const isReady = () => entry.child === null || answersAt(baseUrl, program.probe);
    const inTime = await waitUntil(isReady, 60_000);
    if (this.#stopping) return;
    if (!inTime || entry.child === null) {
      throw new UserError(`The ${program.title} did not start. The end of ${logFile}:\n${lastLines(logFile, 8)}`);
    }
    entry.wasReady = true;
  }

  /**
   * @param {number} patienceMs after which programs that do not end by themselves are killed
   */
  async stop(patienceMs) {
    this.#stopping = true;
    const children = this.#all.flatMap(({ child }) => (child === null ? [] : [child]));
    for (const child of children) child.kill('SIGTERM');
    const allGone = () => this.#all.every(({ child }) => child === null);
    if (await waitUntil(allGone, patienceMs)) return;
    for (const { child } of this.#all) child?.kill('SIGKILL');
    await waitUntil(allGone, 1_000);
  }

  /** @param {Supervised} entry */
  #spawn(entry) {
    const { program, env, logFile } = entry;
    const log = followChildLog(program.name, logFile);
    const begin = performance.now();
    // A process group of its own: Ctrl-C in the terminal reaches the supervisor alone, which ends the programs in order.
    const child = spawn(process.execPath, [...PROGRAM_FLAGS, '--import', PRELOAD, program.main], {
      cwd: ROOT,
      env,
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      detached: true,
    });
    entry.child = child;
    this.#noteProcesses();
    child.once('close', (code, signal) => {
      log.close();
      entry.child = null;
      if (this.#stopping || !entry.wasReady) return;
      void this.#restart(entry, signal ?? `code ${code}`, entry.pauses.next(performance.now() - begin));
    });
  }

  #noteProcesses() {
    const pids = this.#all.map(({ program, child }) => [program.name, child?.pid ?? null]);
    writeSecretJson(path.join(this.logDir, PROCESSES_FILE), Object.fromEntries(pids));
  }

  /**
   * @param {Supervised} entry
   * @param {string} how it ended
   * @param {number} delayMs
   */
  async #restart(entry, how, delayMs) {
    console.error(`! The ${entry.program.title} ended (${how}); it is started again in ${delayMs / 1000} s.`);
    await sleep(delayMs);
    if (this.#stopping) return;
    this.#spawn(entry);
    console.error(`! The ${entry.program.title} is started again (number ${entry.pauses.ends}).`);
  }
}

/**
 * @param {string} baseUrl
 * @param {string | null} probe
 */
async function answersAt(baseUrl, probe) {
  try {
    const response = await fetch(`${baseUrl}${probe ?? '/'}`, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return probe === null || response.ok;
  } catch {
    // Not listening yet, or too busy to answer: asked again until the deadline.
    return false;
  }
}
