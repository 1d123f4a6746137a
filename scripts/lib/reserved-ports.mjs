import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { commandOf, isPortFree } from './processes.mjs';

/** Below the ports that the system gives to outgoing connections (32768 and up on Linux). */
const FIRST = 20_000;
const PORTS = 12_000;
const TRIES = 100;

/** One file a claim, `PORT-PID-RANDOM`: all runs of tests on this machine read it, whatever copy of the sources they run. */
const FOLDER = path.join(os.tmpdir(), `fiscal-test-ports-${process.getuid?.() ?? 'all'}`);

/**
 * `count` ports in a row that no other program listens on and no other test is given before this process ends, so that a
 * server finds its port again after it was down. A claim is written before the others are read: of two processes that draw
 * the same port at the same time at least one sees the other and draws again.
 * @param {number} count
 * @returns {Promise<{ first: number, release: () => void }>}
 */
export async function reservePorts(count) {
  fs.mkdirSync(FOLDER, { recursive: true });
  const owner = `${process.pid}-${randomBytes(4).toString('hex')}`;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const first = FIRST + Math.floor(Math.random() * (PORTS - count + 1));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const files = ports.map((port) => path.join(FOLDER, `${port}-${owner}`));
    const release = () => files.forEach((file) => fs.rmSync(file, { force: true }));
    for (const file of files) fs.writeFileSync(file, '');
    if (!isClaimedByAnother(ports, owner) && (await Promise.all(ports.map(isPortFree))).every(Boolean)) {
      return { first, release };
    }
    release();
  }
  throw new Error(`Found no ${count} free ports in a row from ${FIRST} to ${FIRST + PORTS - 1}.`);
}

/**
 * @param {readonly number[]} ports
 * @param {string} owner
 */
function isClaimedByAnother(ports, owner) {
  const wanted = new Set(ports);
  /** @type {Map<string, boolean>} */
  const alive = new Map();
  let found = false;
  for (const name of fs.readdirSync(FOLDER)) {
    const [port = '', pid = '', random = ''] = name.split('-');
    if (`${pid}-${random}` === owner) continue;
    if (!alive.has(pid)) alive.set(pid, commandOf(Number(pid)).includes('node'));
    if (alive.get(pid)) found ||= wanted.has(Number(port));
    else fs.rmSync(path.join(FOLDER, name), { force: true });
  }
  return found;
}
