// Promise: two tests on one machine are never given the same port, also while the server of one of them is down; and long rows are left when many have
// single ones.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePorts } from './free-ports.js';

const MODULE = new URL('../../../../scripts/lib/reserved-ports.mjs', import.meta.url).href;
const PROCESSES = 4;
const DRAWS = 400;
const LONG_ROWS = 10;
const DRAW = `
  import { reservePorts } from ${JSON.stringify(MODULE)};
  const drawn = [];
  for (let each = 0; each < ${DRAWS}; each += 1) drawn.push((await reservePorts(1)).first);
  console.log(JSON.stringify(drawn));
  setInterval(() => {}, 60_000);`;

const children: ChildProcess[] = [];
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

async function drawInProcess(): Promise<number[]> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', DRAW], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return JSON.parse(line) as number[];
}

test('processes that draw at the same time get different ports, and later draws avoid them', async () => {
  const drawn = (await Promise.all(Array.from({ length: PROCESSES }, drawInProcess))).flat();
  expect(drawn).toHaveLength(PROCESSES * DRAWS);
  expect(new Set(drawn).size).toBe(drawn.length);
  const first = await freePorts(3);
  expect(drawn.filter((port) => port >= first && port < first + 3)).toEqual([]);
  const rows = await Promise.all(Array.from({ length: LONG_ROWS }, () => freePorts(500)));
  const taken = rows.flatMap((start) => Array.from({ length: 500 }, (_, index) => start + index));
  expect(new Set([...drawn, ...taken]).size).toBe(drawn.length + taken.length);
});
