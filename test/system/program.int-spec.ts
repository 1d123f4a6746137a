// Promise: waiting for a program costs little: it is asked again when it has said something, and now and then while it is silent.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { Program } from './program.js';

/** Listens from its start on, is ready after two seconds, and counts how often it was asked before. */
const PROGRAM = `
const { createServer } = require('node:http');
let asked = 0;
let isReady = false;
createServer((request, response) => {
  if (request.url === '/asked') return response.end(String(asked));
  if (!isReady) asked += 1;
  response.writeHead(isReady ? 200 : 503).end();
}).listen(Number(process.env.PORT), '127.0.0.1', () => setTimeout(() => {
  isReady = true;
  if (process.env.WORDS) console.log(process.env.WORDS);
}, 2_000));
`;

const root = mkdtempSync(join(tmpdir(), 'program-'));
let program: Program | undefined;

beforeAll(() => {
  const folder = join(root, 'dist', 'apps', 'slow');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.js'), PROGRAM);
});

afterEach(() => program?.end('SIGKILL'));

afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each([{ words: 'ready' }, { words: '' }])('a program that says "$words"', async ({ words }) => {
  const port = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  program = new Program('slow', 'slow/main.js', { PORT: String(port), WORDS: words }, `${url}/readyz`, root);
  await program.start();
  const asked = Number(await (await fetch(`${url}/asked`)).text());
  expect(asked).toBeLessThanOrEqual(6);
});

test('one that ends while it starts is said at once, with its last words', async () => {
  const entry = join(root, 'dist', 'apps', 'slow', 'ends.js');
  writeFileSync(entry, `console.error('no settings'); process.exitCode = 1;`);
  program = new Program('ends', 'slow/ends.js', {}, `http://127.0.0.1:${await freePorts(1)}/readyz`, root);
  await expect(program.start()).rejects.toThrow(/^ends ended while starting:\nno settings/);
});
