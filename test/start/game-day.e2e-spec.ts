// Promise: a game day breaks one thing in the running demo, mends it whatever happens, and loses no sale.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { destroyEmbeddedPostgres } from '../../scripts/lib/embedded-postgres.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';
import { StartedSystem } from './started-system.js';

const PORTS = ['GATEWAY_PORT', 'RELAY_PORT', 'REGISTER_PORT', 'OFD_PORT', 'POSTGRES_PORT', 'PAYMENTS_SIM_PORT'];
const folder = mkdtempSync(join(tmpdir(), 'fiscal-game-day-'));
const dataDir = join(folder, 'data');
let system: StartedSystem;

beforeAll(async () => {
  const first = await freePorts(PORTS.length);
  system = new StartedSystem(dataDir, Object.fromEntries(PORTS.map((name, at) => [name, String(first + at)])));
  await system.says('Running.', 180_000);
});
afterAll(async () => {
  await system?.ends('SIGINT');
  await destroyEmbeddedPostgres(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

/** The state of a program's process, as Linux says it: T is stopped. */
function stateOf(program: string): string {
  const pids = JSON.parse(readFileSync(join(dataDir, 'logs', 'processes.json'), 'utf8')) as Record<string, number>;
  return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${String(pids[program])}/status`, 'utf8'))?.[1] ?? '';
}

function gameDay(...args: string[]) {
  const child = spawn(process.execPath, ['scripts/game-day.mjs', ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  return { child, ended: async () => ({ code: (await closed)[0], said }) };
}

test.each([
  ['silent-register', 'register'],
  ['no-relay', 'relay'],
  ['stalled-gateway', 'gateway'],
])('%s: it is broken, named, mended, and every sale comes to its end', async (fault, program) => {
  const { ended } = gameDay('--fault', fault, '--seconds', '4');
  await until(
    `the ${program} stands still`,
    () => stateOf(program),
    (state) => state === 'T',
  );
  const { code, said } = await ended();
  expect([code, said]).toEqual([0, expect.stringContaining(`(${fault})`)]);
  expect(stateOf(program)).not.toBe('T');
  const [, total = '', counts = ''] = /^Of (\d+) sales: (.*)\.$/m.exec(said) ?? [];
  expect(Number(total)).toBeGreaterThan(0);
  // One that was at the register when it fell silent may be a person's to decide.
  expect(counts).toMatch(/^(\d+ (registered|unknown)(, )?)+$/);
});

test('it is mended when the person goes away', async () => {
  const { child, ended } = gameDay('--fault', 'silent-register', '--seconds', '600');
  await until(
    'the register stands still',
    () => stateOf('register'),
    (state) => state === 'T',
  );
  child.kill('SIGINT');
  expect((await ended()).code).toBe(130);
  expect(stateOf('register')).not.toBe('T');
});

test('a fault that there is not, and a demo that does not run, are said in a sentence', async () => {
  expect(await gameDay('--fault', 'fire').ended()).toEqual({
    code: 1,
    said: expect.stringContaining('silent-register'),
  });
  const elsewhere = spawn(process.execPath, ['scripts/game-day.mjs'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: join(folder, 'empty') },
  });
  let said = '';
  elsewhere.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(elsewhere, 'close')) as [number | null];
  expect([code, said]).toEqual([1, expect.stringContaining('npm start')]);
});
