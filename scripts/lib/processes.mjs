import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

import { codeOf } from './files.mjs';

/**
 * The command line of a living process, empty when there is none. Process numbers are reused after a restart of the
 * machine, so a number in a file says nothing until the command behind it has been seen. A zombie (killed, and its
 * parent has not reaped it yet: usual in containers) counts as gone.
 * @param {number | undefined | null} pid
 */
export function commandOf(pid) {
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return '';
  if (process.platform === 'linux') return commandFromProc(pid);
  const ps = spawnSync('ps', ['-ww', '-o', 'stat=,command=', '-p', String(pid)], { encoding: 'utf8' });
  const line = ps.stdout?.trim() ?? '';
  return line.startsWith('Z') ? '' : line;
}

/**
 * @param {number} pid
 */
function commandFromProc(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '')) return '';
    throw error;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>} whether the loopback port has no listener
 */
export function isPortFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** @param {number} ms */
export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {() => boolean | Promise<boolean>} condition
 * @param {number} deadlineMs
 * @returns {Promise<boolean>} whether the condition came true in time
 */
export async function waitUntil(condition, deadlineMs) {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await sleep(25);
  }
  return true;
}
