// Promise: what is wrong with a command line is refused with exit code 2, under --json as JSON too, and Ctrl-C ends every command.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../libs/runtime/src/testing/until.js';
import { EXIT } from './exit-codes.js';
import { run } from './run.js';
import { thisProcess } from './session.js';
import { readEnvironment } from './settings.js';
import { heardStreams } from './testing/heard-streams.js';

const OWN = { url: 'http://127.0.0.1:9', client_id: 'cli_own', client_secret: 'secret' };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fiscal-fgw-'));
  writeFileSync(config(), JSON.stringify({ profiles: { default: OWN } }));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = () => join(folder, 'config.json');

async function fgw(...args: string[]): Promise<{ code: number; stderr: string; stdout: string }> {
  const { streams, said } = heardStreams();
  const world = thisProcess(new AbortController().signal);
  const code = await run(args, { ...world, environment: readEnvironment({ FGW_CONFIG: config() }), streams });
  return { code, ...said };
}

const WRONG: [string, ...string[]][] = [
  ['an option that there is not', 'receipts', 'list', '--nosuch'],
  ['a command that there is not', 'nosuch'],
  ['an argument too few', 'receipts', 'get'],
  ['no command', 'receipts'],
  ['a value that is none', 'receipts', 'list', '--limit', 'x'],
  ['a receiver that no webhook reaches', 'listen', '--forward-to', 'ftp://receiver.example'],
];

test.each(WRONG)('%s', async (_name, ...args) => {
  const forPeople = await fgw(...args);
  expect(forPeople).toMatchObject({ code: EXIT.usage, stdout: '', stderr: expect.stringMatching(/\S/) });
  const forPrograms = await fgw(...args, '--json');
  expect(forPrograms).toMatchObject({ code: EXIT.usage, stdout: '' });
  expect(JSON.parse(forPrograms.stderr)).toEqual({ error: 'CommandError', message: expect.stringMatching(/\S/) });
});

test('a profile has the name that it was given, and no other', async () => {
  expect(await fgw('logout', '--profile', 'constructor')).toMatchObject({
    code: EXIT.done,
    stderr: 'There is no profile constructor.\n',
  });
  expect(JSON.parse(readFileSync(config(), 'utf8'))).toEqual({ profiles: { default: OWN } });
});

test('Ctrl-C ends a command that still reads its input, also where it arrives twice', async () => {
  const again = `process.once('SIGINT', () => setTimeout(() => process.kill(process.pid, 'SIGINT'), 100));`;
  const reads = `setInterval(() => process.stdin.listenerCount('readable') > 0 && console.log('reads'), 20).unref();`;
  const main = `${again} ${reads} import(${JSON.stringify(join(import.meta.dirname, 'main.ts'))})`;
  const args = ['fgw', 'receipts', 'create', '--file', '-', '--key', 'sale-1'];
  const env = { ...process.env, FGW_CONFIG: config() };
  const child = spawn(process.execPath, [...process.execArgv, '-e', main, '--', ...args], { env });
  const gone = once(child, 'close');
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => (said[name] += chunk.toString()));
  await until(
    'it reads',
    () => Promise.resolve(said.stdout),
    (text) => text.includes('reads'),
  );
  child.kill('SIGINT');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const [code] = (await gone) as [number | null];
  clearTimeout(timer);
  expect({ code, stderr: said.stderr }).toEqual({ code: EXIT.interrupted, stderr: '' });
});
