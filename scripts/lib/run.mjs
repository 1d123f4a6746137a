import { spawn } from 'node:child_process';

import { ROOT } from './paths.mjs';
import { UserError } from './user-error.mjs';

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
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', dropStdout ? 'ignore' : 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
        output += chunk;
        if (show) process.stdout.write(chunk);
      });
    }
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code: code ?? (signal === null ? 1 : 128), output }));
  });
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
