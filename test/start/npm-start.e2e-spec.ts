// Promise: one command makes a working system out of a folder, survives kill -9, and says in one sentence what is wrong.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { totpAt } from '../../apps/gateway/src/access/people/credentials/totp.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { destroyEmbeddedPostgres } from '../../scripts/lib/embedded-postgres.mjs';
import { processesOf, StartedSystem } from './started-system.js';

const folder = mkdtempSync(join(tmpdir(), 'fiscal-start-'));
const dataDir = join(folder, 'data');
let ports: Record<string, string> = {};
let system: StartedSystem;
/** Of each start that printed one. */
const links: string[] = [];

interface Answer {
  status: number;
  body: Record<string, unknown> & { totp?: { secret: string } };
}

beforeAll(async () => {
  const first = await freePorts(5);
  const names = ['GATEWAY_PORT', 'RELAY_PORT', 'REGISTER_PORT', 'OFD_PORT', 'POSTGRES_PORT'];
  ports = Object.fromEntries(names.map((name, index) => [name, String(first + index)]));
});

afterAll(async () => {
  await system.ends('SIGINT');
  for (const pid of livingProcesses()) process.kill(pid, 'SIGKILL');
  await destroyEmbeddedPostgres(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

function runPrintedCommands(): { status: number; body: Record<string, unknown> } {
  const { stdout } = spawnSync('bash', ['-c', system.printedCommands], { encoding: 'utf8' });
  const [head = '', body = ''] = stdout.slice(stdout.indexOf('HTTP/')).split('\r\n\r\n');
  return { status: Number(/HTTP\/1.1 (\d+)/.exec(head)?.[1]), body: JSON.parse(body) as Record<string, unknown> };
}

function printedLink(): string {
  return /http:\/\/\S+\/invitation#fgw_in_\w+/.exec(system.said)?.[0] ?? 'about:blank';
}

function livingProcesses(): number[] {
  return processesOf(dataDir, readdirSync('/proc').map(Number).filter(Number.isInteger));
}

function livingCommands(): string[] {
  return livingProcesses().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
}

async function until200(url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while ((await fetch(url)).status !== 200) {
    if (Date.now() > deadline) throw new Error(`${url} never answered 200`);
    await delay(100);
  }
}

interface DemoFile extends Record<string, unknown> {
  gateway_url: string;
  payments_sim_url: string;
  cashier_id: string;
  product_name: string;
  payme: { url: string; key: string; account_field: string };
}

async function bearer(): Promise<Record<string, string>> {
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<string, string>;
  const credentials = Buffer.from(`${demo['client_id']}:${demo['client_secret']}`).toString('base64');
  const granted = await fetch(demo['token_url'] ?? '', {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  });
  const { access_token: token } = (await granted.json()) as { access_token: string };
  return { authorization: `Bearer ${token}` };
}

async function askForReceipt(id: unknown): Promise<{ status: number; body: unknown }> {
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as DemoFile;
  const answer = await fetch(`${demo.gateway_url}/v1/receipts/${String(id)}`, { headers: await bearer() });
  return { status: answer.status, body: await answer.json() };
}

/** Straight to the demo's register, past the gateway, which sends no such document. */
async function sellUnpaid(demo: Record<string, string>): Promise<unknown> {
  const item = {
    name: 'Non',
    spic: '01905001001000001',
    units: 796,
    price: 800_000,
    amount: 1_000,
    vatPercent: 0,
    vat: 0,
  };
  const answer = await fetch(`${String(demo['register_url'])}/receipts`, {
    method: 'POST',
    headers: { 'x-api-key': String(demo['register_api_key']), 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'sale', items: [item], received: { cash: 0, card: 0 } }),
  });
  return answer.json();
}

/** As a developer does who has nothing but demo.json: an order for Payme, and Payme's own first question about it. */
async function askAsPayme(): Promise<unknown> {
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as DemoFile;
  const order = {
    items: [{ name: demo.product_name, price: 112_000, qty: 1 }],
    payment: { method: 'online', provider: 'payme' },
    cashier_id: demo.cashier_id,
  };
  const headers = { ...(await bearer()), 'content-type': 'application/json' };
  const made = await fetch(`${demo.gateway_url}/v1/payments`, { method: 'POST', headers, body: JSON.stringify(order) });
  const { amount, account } = (await made.json()) as { amount: number; account: string };
  const params = { amount, account: { [demo.payme.account_field]: account } };
  const authorization = `Basic ${Buffer.from(`Paycom:${demo.payme.key}`).toString('base64')}`;
  const body = JSON.stringify({ id: 1, method: 'CheckPerformTransaction', params });
  return (await fetch(demo.payme.url, { method: 'POST', headers: { authorization }, body })).json();
}

test('the printed commands make a receipt, which survives kill -9 of everything', async () => {
  system = new StartedSystem(dataDir, ports);
  await system.says('2. Make a receipt:', 180_000);
  await system.says('/invitation#');
  links.push(printedLink());
  const first = runPrintedCommands();
  expect([first.status, first.body['status']]).toEqual([201, 'registered']);
  expect(first.body['fiscal']).toMatchObject({ fiscal_sign: expect.stringMatching(/^\d{12}$/) });

  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<string, string>;
  expect(Object.keys(demo)).toEqual(
    expect.arrayContaining(
      'gateway_url token_url client_id client_secret device_id cashier_id product_name sample_item register_url register_api_key ofd_url'.split(
        ' ',
      ),
    ),
  );

  expect(await sellUnpaid(demo)).toMatchObject({ error: { code: 'F-005', details: { reason: 'payment_mismatch' } } });
  expect(await askAsPayme()).toMatchObject({ id: 1, result: { allow: true } });
  const simulated = await fetch(`${String(demo['payments_sim_url'])}/payments`);
  expect(await simulated.json()).toMatchObject({ data: expect.any(Array) });

  for (const pid of livingProcesses()) process.kill(pid, 'SIGKILL');
  await system.ends();
  const beganMs = performance.now();
  system = new StartedSystem(dataDir, ports);
  await system.says('2. Make a receipt:');
  expect(performance.now() - beganMs).toBeLessThan(120_000);
  expect(await askForReceipt(first.body['id'])).toMatchObject({ status: 200, body: { fiscal: first.body['fiscal'] } });
  expect(runPrintedCommands().status).toBe(201);
});

test('the link that it prints makes the first administrator, once; the one of the start before opens nothing', async () => {
  await system.says('/invitation#');
  links.push(printedLink());
  const [before, link] = links.map((one) => new URL(one));
  let cookie = '';
  const ask = async (url: URL | undefined, path: string, more: object = {}): Promise<Answer> => {
    const { origin = '', port = '', hash = '' } = url ?? {};
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, 'fgw-console': '1', cookie },
      body: JSON.stringify({ token: hash.slice(1), ...more }),
    });
    cookie =
      answer.headers
        .getSetCookie()
        .find((line) => line.startsWith('fgw_login='))
        ?.split(';')[0] ?? cookie;
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  };
  expect((await ask(before, '/auth/invitation')).status).toBe(404);
  const shown = await ask(link, '/auth/invitation');
  expect(shown).toMatchObject({ status: 200, body: { roles: ['owner', 'platform_administrator'] } });
  const accept = (): Promise<Answer> => {
    const code = totpAt(shown.body.totp?.secret ?? '', Date.now() / 1_000);
    return ask(link, '/auth/invitation/accept', { name: 'First', password: 'correct horse battery', code });
  };
  expect(await accept()).toMatchObject({ status: 200, body: { platform_roles: ['platform_administrator'] } });
  expect((await accept()).status).toBe(404);
});

test('when only the supervisor is killed, no process is left behind and the next start works', async () => {
  const before = livingProcesses();
  for (const each of ['gateway', 'device-relay', 'cash-register', 'ofd-simulator', 'postgres']) {
    expect(livingCommands()).toContainEqual(expect.stringContaining(each));
  }
  process.kill(system.pid, 'SIGKILL');
  await system.ends();
  system = new StartedSystem(dataDir, ports);
  await system.says('2. Make a receipt:');
  expect(livingProcesses().filter((pid) => before.includes(pid))).toEqual([]);
  // There is a user now.
  expect(system.said).not.toContain('/invitation#');
  expect(runPrintedCommands().status).toBe(201);
});

test('a program that dies is started again, and the console says so', async () => {
  const relay = livingProcesses().find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('device-relay'));
  process.kill(relay ?? 0, 'SIGKILL');
  await system.says('The device relay ended (SIGKILL); it is started again in 0.5 s.');
  await system.says('The device relay is started again');
  expect(runPrintedCommands().status).toBe(201);
});

test('a program alone attaches to the database of the folder', async () => {
  const port = String(await freePorts(1));
  const second = new StartedSystem(dataDir, { ...ports, GATEWAY_PORT: port }, ['scripts/start-one.mjs', 'gateway']);
  await second.says('gateway is ready');
  await until200(`http://127.0.0.1:${port}/readyz`);
  expect(await second.ends('SIGINT')).toBe(0);
});

test('a second start in the same place is refused in one sentence', async () => {
  const second = new StartedSystem(dataDir, ports);
  expect(await second.ends()).toBe(1);
  expect(second.said.trim()).toMatch(/^✖ Port \d+, meant for the OFD simulator, is taken by another program .*$/);
});

test('Ctrl-C stops everything, and soon', async () => {
  const beganMs = performance.now();
  expect(await system.ends('SIGINT')).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(30_000);
  expect(livingCommands()).toEqual([]);
});

test('in the background npm’s own process is the one to end, and everything ends with it', async () => {
  const behind = new StartedSystem(dataDir, ports, ['start'], 'npm');
  await behind.says('Running.');
  expect(livingCommands()).not.toEqual([]);
  await behind.ends('SIGTERM');
  expect(behind.said).toContain('Stopped.');
  expect(livingCommands()).toEqual([]);
});

test('so it is with the process of each program alone', async () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const alone = Object.keys(scripts).filter((name) => name.startsWith('start:'));
  expect(alone.filter((name) => !scripts[name]?.startsWith('exec '))).toEqual([]);
  for (const [name, ready] of Object.entries({ 'start:db': 'Ctrl-C stops it.', 'start:ofd': '"msg":"ready"' })) {
    const behind = new StartedSystem(dataDir, ports, ['run', name], 'npm');
    await behind.says(ready);
    await behind.ends('SIGTERM');
    expect([name, livingCommands()]).toEqual([name, []]);
  }
});

test('a database that ends by itself is started again', async () => {
  const alone = new StartedSystem(dataDir, ports, ['scripts/start-one.mjs', 'db']);
  await alone.says('Ctrl-C stops it.');
  const serverPid = (): number =>
    (JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { server_pid: number }).server_pid;
  const first = serverPid();
  process.kill(first, 'SIGKILL');
  await alone.says('! PostgreSQL ended (SIGKILL); it is started again in 0.5 s.');
  await alone.says('! PostgreSQL is started again (number 1).');
  expect(serverPid()).not.toBe(first);
  expect(await alone.ends('SIGINT')).toBe(0);
  expect(livingCommands()).toEqual([]);
});

test('a busy database port is one sentence, and nothing is left running', async () => {
  const busy = createServer();
  await new Promise<void>((resolve) => busy.listen(Number(ports['POSTGRES_PORT']), '127.0.0.1', resolve));
  const refused = new StartedSystem(dataDir, ports);
  expect(await refused.ends()).toBe(1);
  expect(refused.said).toMatch(/✖ Port \d+ is taken by another program; set POSTGRES_PORT to a free one\.\n$/);
  await new Promise((resolve) => busy.close(resolve));
  expect(livingCommands()).toEqual([]);
});

test("a folder with other people's files is left alone", async () => {
  const foreign = join(folder, 'foreign');
  mkdirSync(foreign);
  writeFileSync(join(foreign, 'thesis.txt'), 'mine');
  const refused = new StartedSystem(foreign, ports);
  expect(await refused.ends()).toBe(1);
  expect(refused.said.trim()).toBe(
    `✖ DATA_DIR ${foreign} holds files that are not ours (thesis.txt); name an empty or a new folder instead.`,
  );
  expect(readdirSync(foreign)).toEqual(['thesis.txt']);
});

test('a program alone without a database exits with one sentence', async () => {
  const alone = new StartedSystem(join(folder, 'empty'), ports, ['scripts/start-one.mjs', 'gateway']);
  expect(await alone.ends()).toBe(1);
  expect(alone.said.trim()).toBe(
    '✖ No database: set DATABASE_URL, or start the embedded PostgreSQL first with npm run start:db',
  );
});
