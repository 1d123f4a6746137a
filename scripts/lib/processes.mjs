import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

import { isMissing } from './files.mjs';

/**
 * @param {number | undefined} pid
 * @returns {boolean} also true for a process of somebody else
 */
export function isAlive(pid) {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * The command line of a living process, empty when there is none. Process numbers are reused after a restart of the
 * machine, so a number in a file says nothing until the command behind it has been seen.
 * @param {number | undefined} pid
 */
export function commandOf(pid) {
  if (pid === undefined || !isAlive(pid)) return '';
  const ps = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  if (ps.status === 0) return ps.stdout.trim();
  return commandFromProc(pid);
}

/**
 * Slim container images have no `ps`.
 * @param {number} pid
 */
function commandFromProc(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>} whether nobody listens on the loopback port
 */
export function isPortFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** @returns {Promise<number>} a loopback port that was free a moment ago */
export function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1' }, () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => resolve(port));
    });
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
