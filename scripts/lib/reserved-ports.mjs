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

/** Rows from this length on are taken from the other end: a few single ports in between, and there would be no long row left. */
const LONG = 50;
/** Places of short rows, the first ones that are free. */
const SHORT_ROWS = 4_000;

/**
 * `count` ports in a row that no other program listens on and no other test is given before this process ends, so that a
 * server finds its port again after it was down. A claim is written before the others are read again: of two processes that draw
 * the same port at the same time at least one sees the other and draws again.
 * @param {number} count
 * @returns {Promise<{ first: number, release: () => void }>}
 */
export async function reservePorts(count) {
  fs.mkdirSync(FOLDER, { recursive: true });
  const owner = `${process.pid}-${randomBytes(4).toString('hex')}`;
  /** @type {Set<number>} */
  const inUse = new Set();
  for (let tries = 0; tries < TRIES; tries += 1) {
    const first = draw(count, new Set([...inUse, ...claimedByOthers(owner)]));
    if (first === null) break;
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const files = ports.map((port) => path.join(FOLDER, `${port}-${owner}`));
    const release = () => files.forEach((file) => fs.rmSync(file, { force: true }));
    for (const file of files) fs.writeFileSync(file, '');
    const claimed = claimedByOthers(owner);
    const free = await Promise.all(ports.map(isPortFree));
    ports.filter((_, index) => !free[index]).forEach((port) => inUse.add(port));
    if (ports.every((port, index) => free[index] && !claimed.has(port))) return { first, release };
    release();
  }
  throw new Error(`Found no ${count} free ports in a row from ${FIRST} to ${FIRST + PORTS - 1}.`);
}

/**
 * One of the places where so many are free in a row: for a short row of the first, for a long one of the last.
 * @param {number} count
 * @param {ReadonlySet<number>} taken
 * @returns {number | null}
 */
function draw(count, taken) {
  const starts = [];
  let free = 0;
  for (let port = FIRST; port < FIRST + PORTS; port += 1) {
    free = taken.has(port) ? 0 : free + 1;
    if (free >= count) starts.push(port - count + 1);
  }
  // Two processes that want a long row at the same time need not meet again and again.
  const among = count < LONG ? starts.slice(0, SHORT_ROWS) : starts.slice(-1 - LONG);
  return among[Math.floor(Math.random() * among.length)] ?? null;
}

/**
 * @param {string} owner
 * @returns {Set<number>}
 */
function claimedByOthers(owner) {
  /** @type {Map<string, boolean>} */
  const alive = new Map();
  /** @type {Set<number>} */
  const claimed = new Set();
  for (const name of fs.readdirSync(FOLDER)) {
    const [port = '', pid = '', random = ''] = name.split('-');
    if (`${pid}-${random}` === owner) continue;
    if (!alive.has(pid)) alive.set(pid, commandOf(Number(pid)).includes('node'));
    if (alive.get(pid)) claimed.add(Number(port));
    else fs.rmSync(path.join(FOLDER, name), { force: true });
  }
  return claimed;
}
