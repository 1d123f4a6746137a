// Breaks if the register or the OFD simulator start on settings that cannot work, or do not say in a sentence why.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { Program } from '../system/program.js';

const DIST = join(import.meta.dirname, '..', '..', 'dist', 'apps');
const REGISTER = 'cash-register/src/main.js';
/** Programs of a test that failed must not outlive it. */
const started: Program[] = [];
afterEach(async () => {
  for (const program of started.splice(0)) await program.end();
});

function program(name: string, env: Record<string, string>, readyUrl: string): Program {
  const made = new Program(name, REGISTER, env, readyUrl);
  started.push(made);
  return made;
}

interface Ending {
  readonly code: number | null;
  readonly errors: string;
}

/** Runs a program to its end. */
async function run(entry: string, env: Record<string, string>): Promise<Ending> {
  const child = spawn(process.execPath, [join(DIST, entry)], { env: { PATH: process.env['PATH'] ?? '', ...env } });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdout.resume();
  const hard = setTimeout(() => child.kill('SIGKILL'), 120_000);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(hard);
  return { code, errors };
}

async function listen(): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

describe('starting', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'register-start-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('a busy port is one sentence and exit code 1', async () => {
    const { server, port } = await listen();
    const endings = [
      await run(REGISTER, { DATA_DIR: folder, REGISTER_PORT: String(port) }),
      await run('ofd-simulator/src/main.js', { OFD_PORT: String(port) }),
    ];
    for (const { code, errors } of endings) {
      expect(code).toBe(1);
      expect(errors).toBe(`Cannot start: 127.0.0.1:${port} is in use by another program; choose another port.\n`);
    }
    server.close();
  });

  test('every bad setting is named at once', async () => {
    const bad = { VAT_RULE: 'gross', FM_MIN_INTERVAL_MS: '-1', OFD_URLS: 'ftp://x', REGISTER_API_KEY: 'short' };
    const { code, errors } = await run(REGISTER, { DATA_DIR: folder, ...bad });
    expect(code).toBe(1);
    for (const name of Object.keys(bad)) expect(errors).toContain(name);
    expect(errors).not.toContain('short');
    expect(errors.trim().split('\n')).toHaveLength(1);
  });

  test.each([
    ['EMULATOR_REGISTERS without EMULATOR', { EMULATOR_REGISTERS: '2' }, 'EMULATOR_REGISTERS needs EMULATOR=1'],
    ['a classification file that is not there', { CLASSIFIER_FILE: '/nowhere/x.jsonl' }, '/nowhere/x.jsonl'],
  ])('%s is refused', async (_what, env, words) => {
    const { code, errors } = await run(REGISTER, { DATA_DIR: folder, REGISTER_PORT: '0', ...env });
    expect([code, errors.includes(words)]).toEqual([1, true]);
  });

  test('a bad line of the classification file is named', async () => {
    const file = join(folder, 'classifier.jsonl');
    const sample = readFileSync(join(import.meta.dirname, '..', '..', 'data', 'classifier-sample.jsonl'), 'utf8');
    writeFileSync(file, `${sample.split('\n')[0] ?? ''}\n{"spic":"1"}\n`);
    const { code, errors } = await run(REGISTER, { DATA_DIR: folder, REGISTER_PORT: '0', CLASSIFIER_FILE: file });
    expect([code, errors]).toEqual([1, `Line 2 of ${file} is not a classifier entry.\n`]);
  });

  test('two registers never share a data folder; after a graceful stop the next one may have it', async () => {
    const port = await freePorts(1);
    const env = { DATA_DIR: folder, REGISTER_PORT: String(port), REGISTER_TERMINAL_ID: 'ZZ000000000042' };
    const register = program('register', env, `http://127.0.0.1:${port}/status`);
    await register.start();
    const second = await run(REGISTER, { ...env, REGISTER_PORT: '0' });
    expect(second).toEqual({ code: 1, errors: `The data folder ${folder} is in use by another running register.\n` });
    await register.end('SIGTERM');
    expect(register.lastWords).toContain('"stopped"');
    const foreign = await run(REGISTER, { ...env, REGISTER_PORT: '0', REGISTER_TERMINAL_ID: 'ZZ000000000043' });
    expect(foreign.errors).toBe(
      `The data folder ${folder} belongs to terminal ZZ000000000042, not to ZZ000000000043.\n`,
    );
    await register.start();
    await register.end('SIGINT');
  });

  test('a generated access token stays the same and is readable by its owner alone', async () => {
    const port = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const register = program('register', { DATA_DIR: folder, REGISTER_PORT: String(port) }, `${url}/status`);
    const keys: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      await register.start();
      const file = join(folder, 'api-key.txt');
      keys.push(readFileSync(file, 'utf8').trim());
      expect(statSync(file).mode & 0o077).toBe(0);
      const { status } = await fetch(`${url}/fm/info`, { headers: { 'x-api-key': keys[start] ?? '' } });
      expect(status).toBe(200);
      await register.end();
    }
    expect(keys[0]).toBe(keys[1]);
    expect(register.lastWords).not.toContain(keys[0]);
  });
});

test('an emulator serves many registers on consecutive ports from one process, each with its own journal', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'register-many-'));
  const port = await freePorts(5);
  const env = { EMULATOR: '1', EMULATOR_REGISTERS: '5', REGISTER_PORT: String(port), DATA_DIR: folder };
  const key = { REGISTER_API_KEY: 'many-0123456789abcdef' };
  const register = program('emulator', { ...env, ...key }, `http://127.0.0.1:${port + 4}/status`);
  await register.start();
  const infos = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const url = `http://127.0.0.1:${port + index}`;
      const headers = { 'x-api-key': key.REGISTER_API_KEY };
      const info = (await (await fetch(`${url}/fm/info`, { headers })).json()) as { terminalId: string };
      const status = (await (await fetch(`${url}/status`)).json()) as { journalId: string; port: number };
      expect(status.port).toBe(port + index);
      return `${info.terminalId} ${status.journalId}`;
    }),
  );
  expect(new Set(infos).size).toBe(5);
  // Faults of one register, then of all of them.
  const rulesOf = (index: number, rules?: object): Promise<string> =>
    fetch(`http://127.0.0.1:${port + index}/emulator/faults`, {
      headers: { 'x-api-key': key.REGISTER_API_KEY, 'content-type': 'application/json' },
      ...(rules && { method: 'POST', body: JSON.stringify(rules) }),
    }).then((response) => response.text());
  await rulesOf(1, { rules: [{ fault: 'memory_full' }] });
  expect((await rulesOf(4)).includes('memory_full')).toBe(false);
  await rulesOf(1, { rules: [{ fault: 'ofd_down' }], registers: 'all' });
  for (const index of [0, 1, 4]) expect(await rulesOf(index)).toMatch(/"rules":\[\{"fault":"ofd_down"/);
  expect(register.lastWords).toContain('Never issue real receipts');
  await register.end();
  rmSync(folder, { recursive: true });
});
