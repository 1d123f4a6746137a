// Promise: a secret goes to the gateway that it was given for, and not by http to another machine.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from './exit-codes.js';
import { run } from './run.js';
import { thisProcess, type World } from './session.js';
import { readEnvironment } from './settings.js';
import { heardStreams } from './testing/heard-streams.js';

const SECRET = 'secret-of-the-profile';
const OWN = { client_id: 'cli_own', client_secret: SECRET, key_id: 'key_own', key_secret: 'key-of-the-profile' };
const OTHER = { FGW_CLIENT_ID: 'cli_other', FGW_CLIENT_SECRET: 'secret-of-the-other' };

let folder: string;
let server: Server;
let port: number;
/** Header and body of each request that arrived. */
let arrived: string[] = [];

beforeAll(async () => {
  // It gives a token to every client, and has no receipts.
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      arrived.push(`${request.url} ${JSON.stringify(request.headers)} ${body}`);
      const token = { access_token: 'token', token_type: 'Bearer', expires_in: 3600, scope: 'receipts:read' };
      const answer = request.url === '/oauth/token' ? token : { data: [], has_more: false, next_cursor: null };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  arrived = [];
  folder = mkdtempSync(join(tmpdir(), 'fiscal-fgw-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const here = () => `http://127.0.0.1:${port}`;
/** The same server under an address that is not loopback. */
const notLoopback = () => `http://0.0.0.0:${port}`;
const config = () => join(folder, 'config.json');
const keep = (url: string) => writeFileSync(config(), JSON.stringify({ profiles: { default: { url, ...OWN } } }));

async function fgw(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stderr: string; stdout: string }> {
  const { streams, said } = heardStreams();
  const world: World = {
    ...thisProcess(new AbortController().signal),
    environment: readEnvironment({ FGW_CONFIG: config(), ...env }),
    streams,
    isTerminal: false,
  };
  return { code: await run(args, world), ...said };
}

const LIST = ['receipts', 'list'];

describe('another origin than that of the profile', () => {
  test.each([
    ['--url', (url: string) => fgw([...LIST, '--url', url])],
    ['FGW_URL', (url: string) => fgw(LIST, { FGW_URL: url })],
    ['a client without its secret', (url: string) => fgw(LIST, { FGW_URL: url, FGW_CLIENT_ID: 'cli_other' })],
    ['a secret without its client', (url: string) => fgw(LIST, { FGW_URL: url, FGW_CLIENT_SECRET: 'other' })],
    ['doctor', (url: string) => fgw(['doctor', '--url', url])],
  ])('2 and no request: %s', async (_what, call) => {
    keep('https://fiscal.example.uz');
    const { code, stderr } = await call(here());
    expect([code, arrived]).toEqual([EXIT.usage, []]);
    expect(stderr).toContain('is not the gateway of these credentials (https://fiscal.example.uz)');
    expect(stderr).not.toContain(SECRET);
  });

  test('with a client and a secret of its own it is called, without anything of the profile', async () => {
    keep('https://fiscal.example.uz');
    expect(await fgw([...LIST, '--url', here()], OTHER)).toMatchObject({ code: EXIT.done });
    expect(arrived.length).toBeGreaterThan(0);
    expect(arrived.join('\n')).not.toMatch(/own|signature|profile/);
  });

  test('the same origin written otherwise is the same', async () => {
    keep(here());
    expect(await fgw([...LIST, '--url', `${here()}/`])).toMatchObject({ code: EXIT.done });
  });

  test('2 and no request: `login --from` with the address of another gateway', async () => {
    const file = join(folder, 'demo.json');
    writeFileSync(file, JSON.stringify({ gateway_url: 'https://fiscal.example.uz', ...OWN }));
    const login = ['login', '--from', file, '--url', here()];
    expect(await fgw(login)).toMatchObject({ code: EXIT.usage });
    expect(arrived).toEqual([]);
    expect(await fgw(login, OTHER)).toMatchObject({ code: EXIT.done });
    expect(arrived.join('\n')).not.toContain(SECRET);
  });
});

describe('http to another machine', () => {
  test.each([
    ['a read', LIST],
    ['a sale', ['receipts', 'create', '--item', 'x', '--price', '1', '--cashier', 'c', '--key', 'k']],
    ['the feed', ['events', 'tail', '--once']],
    ['listen', ['listen', '--forward-to', 'http://localhost:1']],
  ])('2 and no request: %s', async (_what, args) => {
    keep(notLoopback());
    const { code, stderr } = await fgw(args);
    expect([code, stderr, arrived]).toEqual([EXIT.usage, expect.stringContaining('--insecure'), []]);
  });

  test('a login keeps nothing', async () => {
    const login = ['login', '--url', notLoopback()];
    expect(await fgw(login, OTHER)).toMatchObject({ code: EXIT.usage });
    expect(arrived).toEqual([]);
    expect(() => readFileSync(config())).toThrow('ENOENT');
  });

  test('doctor finds it and sends nothing', async () => {
    keep(notLoopback());
    const { code, stdout } = await fgw(['doctor', '--json']);
    expect([code, stdout]).toEqual([EXIT.unhealthy, expect.stringContaining('"check":"network","state":"fault"')]);
    expect(arrived).toEqual([]);
  });

  test('--insecure allows it', async () => {
    expect(await fgw(['login', '--url', notLoopback(), '--insecure'], OTHER)).toMatchObject({ code: EXIT.done });
    expect(await fgw(['--insecure', ...LIST])).toMatchObject({ code: EXIT.done });
    expect(await fgw(LIST)).toMatchObject({ code: EXIT.usage });
  });
});
