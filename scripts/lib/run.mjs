import { spawn } from 'node:child_process';
import os from 'node:os';

import { ROOT } from './paths.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** What does not end when it is asked to is killed after so long. */
const END_MS = 15_000;

/** @type {Set<ChildProcess>} */
const running = new Set();
/** Each command has a group of its own, with all that it starts in turn. */
let endWithUs = false;
/** @type {NodeJS.Signals | null} */
let ending = null;

/**
 * From now on a signal ends the commands of `run`, with all that these have started, and refuses further ones. This process then goes to its own end,
 * as after any failure, so that what it holds is given back; its code says by which signal. A second signal, of whichever kind, ends it at once. What
 * has not heard it by then, or after so long, is killed: a terminal's Ctrl-C does not reach groups of their own.
 */
export function endCommandsWithUs() {
  endWithUs = process.platform !== 'win32';
  /** @type {ChildProcess[]} also those that have ended since: what they have started may not */
  let asked = [];
  const kill = () => {
    for (const child of asked) end(child, 'SIGKILL');
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (ending !== null) process.exit();
      ending = signal;
      asked = [...running];
      for (const child of asked) end(child, 'SIGTERM');
      setTimeout(kill, END_MS).unref();
    });
  }
  process.once('exit', () => {
    if (ending === null) return;
    kill();
    process.exitCode = 128 + os.constants.signals[ending];
  });
}

/**
 * @param {ChildProcess} child
 * @param {'SIGTERM' | 'SIGKILL'} signal
 */
function end(child, signal) {
  if (!endWithUs || child.pid === undefined) return child.kill(signal);
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    // It has ended by itself.
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Runs a command to its end and keeps what it printed.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, show?: boolean, dropStdout?: boolean }} [options] `show`: also print it
 *   as it comes; `dropStdout`: keep only what goes to stderr
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(command, args, { env = process.env, cwd = ROOT, show = false, dropStdout = false } = {}) {
  return new Promise((resolve, reject) => {
    if (ending !== null) return reject(endedBy(ending));
    const stdio = /** @type {const} */ (['ignore', dropStdout ? 'ignore' : 'pipe', 'pipe']);
    const child = spawn(command, args, { cwd, env, stdio: [...stdio], detached: endWithUs });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
        output += chunk;
        if (show) process.stdout.write(chunk);
      });
    }
    child.once('error', (error) => {
      running.delete(child);
      reject(error);
    });
    child.once('close', (code, signal) => {
      running.delete(child);
      // It broke off, and says nothing to what it had started.
      if (endWithUs && code !== 0) end(child, 'SIGKILL');
      if (ending === null) resolve({ code: code ?? (signal === null ? 1 : 128), output });
      else reject(endedBy(ending));
    });
  });
}

/** @param {NodeJS.Signals} signal */
function endedBy(signal) {
  return new UserError(`${signal} has come: this was not carried out.`);
}

/**
 * @param {string} what names the work in the error
 * @param {string[]} args of node
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 */
export async function runNode(what, args, options) {
  const { code, output } = await run(process.execPath, args, options);
  if (code !== 0) throw new UserError(`${what} failed:\n${output.trimEnd()}`);
  return output;
}
