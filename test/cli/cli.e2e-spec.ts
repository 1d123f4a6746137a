// Promise: what a developer does by hand works from the command line against a running gateway, and its exit code says what came of it.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FiscalGateway, VERSION, type FiscalEvent, type RegisteredReceipt } from '#sdk';
import type { Finding } from '../../apps/cli/src/doctor/finding.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { buildCli } from '../../scripts/lib/build-cli.mjs';
import { sql } from '../system/database.js';
import { FaultProxy } from '../sdk/fault-proxy.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { Fgw, linesOf } from './fgw.js';

const SCOPES = [
  ...['receipts:write', 'receipts:read', 'refunds:write', 'catalog:write', 'catalog:read'],
  ...['devices:admin', 'clients:admin'],
];
const execute = promisify(execFile);

let system: TestSystem;
let proxy: FaultProxy;
let url: string;
let fgw: Fgw;
let sale: string[];

beforeAll(async () => {
  const port = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  const env = { PUBLIC_URL: url, PUBLIC_HOSTS: `127.0.0.1:${port}` };
  system = await startSystem({ registers: 1, scopes: SCOPES, env });
  // The gateway under the address that it knows: signatures cover it.
  proxy = new FaultProxy(system.gatewayUrls, () => ({ kind: 'pass' }));
  await proxy.listen(port);
  fgw = new Fgw();
  const { clientId, clientSecret, goods, tills } = system.merchant;
  writeFileSync(
    join(fgw.folder, 'demo.json'),
    JSON.stringify({ gateway_url: url, client_id: clientId, client_secret: clientSecret }),
  );
  expect(await fgw.run(['login', '--from', 'demo.json'])).toMatchObject({ code: 0 });
  sale = ['receipts', 'create', '--item', goods[0]!, '--price', '112000', '--cashier', tills[0]!.cashierId];
});
afterAll(async () => {
  await fgw?.stop();
  await proxy?.close();
  await system?.stop();
});

/** For addresses that are not the profile's. */
const credentials = () => ({
  FGW_CLIENT_ID: system.merchant.clientId,
  FGW_CLIENT_SECRET: system.merchant.clientSecret,
});
const config = () => join(fgw.folder, '.config', 'fgw', 'config.json');

describe('login', () => {
  test('is kept where only its owner reads it, and logout forgets it', async () => {
    expect(statSync(config()).mode & 0o777).toBe(0o600);
    const { clientSecret } = system.merchant;
    const more = ['--profile', 'second', '--url', url, '--client-id', system.merchant.clientId];
    const { code, stdout } = await fgw.run(['login', ...more, '--secret-stdin'], { stdin: `${clientSecret}\n` });
    expect([code, stdout]).toEqual([0, expect.stringContaining('receipts:write')]);
    expect(stdout).not.toContain(clientSecret);
    expect(await fgw.run(['logout', '--profile', 'second'])).toMatchObject({ code: 0 });
    expect(await fgw.run(['receipts', 'list', '--profile', 'second'])).toMatchObject({ code: 4 });
    expect(readFileSync(config(), 'utf8')).not.toContain('second');
  });

  test('a wrong secret keeps nothing', async () => {
    const wrong = ['login', '--profile', 'wrong', '--from', 'demo.json'];
    const { code, stderr } = await fgw.run(wrong, { env: { FGW_CLIENT_SECRET: 'wrong' } });
    expect([code, stderr]).toEqual([4, expect.stringContaining('invalid_client')]);
    expect(readFileSync(config(), 'utf8')).not.toContain('"wrong"');
  });

  test('a job needs no file', async () => {
    const { clientId, clientSecret } = system.merchant;
    const env = { FGW_URL: url, FGW_CLIENT_ID: clientId, FGW_CLIENT_SECRET: clientSecret };
    expect(await fgw.run(['receipts', 'list'], { env: { ...env, FGW_CONFIG: '/nowhere' } })).toMatchObject({ code: 0 });
    expect(await fgw.run(['receipts', 'list'], { env: { FGW_CONFIG: '/nowhere' } })).toMatchObject({ code: 4 });
  });
});

describe('receipts', () => {
  test('a sale is registered, found again under its key, shown, listed and refunded', async () => {
    const first = await fgw.json<RegisteredReceipt>([...sale, '--qty', '2', '--key', 'cli-1']);
    expect(first).toMatchObject({ code: 0, values: [{ status: 'registered', total: 224_000 }] });
    const { id, fiscal } = first.values[0]!;
    expect(await fgw.json([...sale, '--qty', '2', '--key', 'cli-1'])).toMatchObject({ values: [{ id }] });
    const shown = await fgw.run(['receipts', 'get', id]);
    expect(shown.stdout).toContain('2 240.00');
    expect(shown.stdout).toContain(fiscal.fiscal_sign!);
    const listed = await fgw.run(['receipts', 'list', '--status', 'registered']);
    expect(listed.stdout.split('\n')[0]).toMatch(/^RECEIPT +CREATED +TYPE +STATUS +TOTAL/);
    expect(listed.stdout).toContain(id);
    const refund = await fgw.json(['receipts', 'refund', id, '--line', '1:1', '--key', 'cli-refund-1']);
    expect(refund).toMatchObject({ code: 0, values: [{ type: 'refund', total: 112_000, refund_of: id }] });
  });

  test('a file or standard input is a sale, too', async () => {
    const body = JSON.stringify({
      items: [{ name: system.merchant.goods[0], price: 112_000, qty: 1 }],
      payment: { method: 'card' },
      cashier_id: system.merchant.tills[0]!.cashierId,
    });
    writeFileSync(join(fgw.folder, 'sale.json'), body);
    expect(await fgw.run(['receipts', 'validate', '--file', 'sale.json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 120.00'),
    });
    const { code, stdout } = await fgw.run(['receipts', 'create', '--file', '-', '--external-id', 'S-1', '--json'], {
      stdin: body,
    });
    expect([code, linesOf(stdout)]).toEqual([0, [expect.objectContaining({ external_id: 'S-1' })]]);
  });

  test('a refusal names each fault and its place', async () => {
    const wrong = await fgw.run([
      'receipts',
      'create',
      '--item',
      'x',
      '--price',
      '0',
      '--cashier',
      'none',
      '--key',
      'k',
    ]);
    expect([wrong.code, wrong.stdout]).toEqual([3, '']);
    expect(wrong.stderr).toMatch(/\/items\/0\/price .*\n/);
    const { stderr } = await fgw.json(['receipts', 'get', 'rcp_unknown']);
    expect(JSON.parse(stderr)).toMatchObject({ error: 'ProblemError', code: 'not_found', status: 404 });
  });

  test('`unknown`, on its way, and no answer have exit codes of their own', async () => {
    await system.register.end();
    try {
      expect(await fgw.json([...sale, '--key', 'cli-late', '--wait', '1'])).toMatchObject({
        code: 8,
        values: [{ status: expect.stringMatching(/accepted|sending/) }],
      });
      expect(await fgw.run([...sale, '--key', 'cli-async', '--wait', '0'])).toMatchObject({ code: 0 });
      await fgw.run([...sale, '--key', 'cli-unknown', '--wait', '0']);
      // As a person finds it who was away: whether the document exists cannot be proven.
      const stop =
        "UPDATE receipts SET status = 'unknown' WHERE idempotency_key = 'cli-unknown' AND status = 'accepted'";
      await sql(system.database, stop);
      expect(await fgw.run([...sale, '--key', 'cli-unknown'])).toMatchObject({
        code: 7,
        stdout: expect.stringContaining('do not sell it again'),
      });
    } finally {
      await system.register.start();
    }
    expect(await fgw.json([...sale, '--key', 'cli-late', '--wait', '90'])).toMatchObject({ code: 0 });
    expect(await fgw.json([...sale, '--key', 'cli-async', '--wait', '90'])).toMatchObject({ code: 0 });
    const port = await freePorts(1);
    const away = ['receipts', 'list', '--url', `http://127.0.0.1:${port}`];
    const { code, stderr } = await fgw.run(away, { env: credentials() });
    expect([code, stderr]).toEqual([5, expect.stringContaining('no answer')]);
  });

  test('the command line is checked before anything is sent', async () => {
    for (const args of [
      ['receipts'],
      ['receipts', 'creat'],
      ['receipts', 'create'],
      ['receipts', 'create', '--item', 'x'],
      ['receipts', 'create', '--file', 'missing.json'],
      [...sale],
      [...sale, '--key', 'k', '--wait', 'long'],
      ['receipts', 'list', '--limit', '0'],
      ['receipts', 'refund', 'rcp_1', '--line', 'one', '--key', 'k'],
      ['completion', 'fish'],
      ['listen'],
    ]) {
      const { code, stdout, stderr } = await fgw.run(args);
      expect({ args, code, stdout, hasReason: stderr !== '' }).toEqual({ args, code: 2, stdout: '', hasReason: true });
    }
    expect(await fgw.run(['--version'])).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
    expect(await fgw.run(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('doctor') });
  });
});

describe('events', () => {
  test('tail shows what happens, and ends by Ctrl-C', async () => {
    const staying = fgw.start(['receipts', 'tail', '--json']);
    // It begins with the end of the feed, and nothing says when it is there: sales until one is shown.
    let sales = 0;
    await until(
      'a sale is shown',
      async () => {
        sales += 1;
        await fgw.run([...sale, '--key', `cli-tail-${sales}`]);
        return linesOf<FiscalEvent>(staying.stdout().replace(/[^\n]*$/, ''));
      },
      (lines) => lines.some(({ type }) => type === 'receipt.registered'),
    );
    expect(await staying.end('SIGINT')).toBe(130);
    expect(staying.stderr()).toBe('');
  });

  test('--once shows what there is, of the types that are wanted', async () => {
    const { code, values } = await fgw.json<FiscalEvent>(['events', 'tail', '--once', '--events', 'refund.*']);
    expect(code).toBe(0);
    expect(new Set(values.map(({ type }) => type.split('.')[0]))).toEqual(new Set(['refund']));
  });
});

describe('registers and goods', () => {
  test('registers are listed, asked, drained and resumed', async () => {
    const { deviceId } = system.merchant.tills[0]!;
    expect(await fgw.run(['devices', 'check', deviceId])).toMatchObject({ code: 0 });
    expect((await fgw.run(['devices', 'list'])).stdout).toMatch(new RegExp(`${deviceId} .*online`));
    expect(await fgw.json(['devices', 'drain', deviceId])).toMatchObject({
      code: 0,
      values: [{ draining_since: expect.any(String) }],
    });
    expect(await fgw.json(['devices', 'resume', deviceId])).toMatchObject({ values: [{ draining_since: null }] });
    expect(await fgw.run(['devices', 'get', 'dev_none'])).toMatchObject({ code: 3 });
  });

  test('a file of products is taken, and the rows that were not are written', async () => {
    const entry = JSON.parse(readFileSync('data/classifier-sample.jsonl', 'utf8').split('\n')[0]!) as {
      spic: string;
      packages: { code: string }[];
    };
    const rows = [
      'sku,name,spic,package_code,vat_percent',
      `s-1,Choy,${entry.spic},${entry.packages[0]!.code},12`,
      's-2,Qand,1,1,12',
    ];
    writeFileSync(join(fgw.folder, 'goods.csv'), `${rows.join('\n')}\n`);
    const { code, values } = await fgw.json(['import', 'products', 'goods.csv', '--rejected', 'rejected.csv']);
    expect({ code, values }).toMatchObject({
      code: 3,
      values: [{ state: 'done', progress: { rows: 2, created: 1, rejected: 1 } }],
    });
    expect(readFileSync(join(fgw.folder, 'rejected.csv'), 'utf8')).toContain('s-2');
    expect(await fgw.run(['import', 'products', 'goods.pdf'])).toMatchObject({ code: 2 });
  });
});

describe('doctor', () => {
  const findings = async (args: string[] = [], env: Record<string, string> = {}) => {
    const { code, stdout } = await fgw.run(['doctor', '--json', ...args], { env });
    return { code, found: Object.fromEntries(linesOf<Finding>(stdout).map((one) => [one.check, one])) };
  };

  test('is content with what is well', async () => {
    const { code, found } = await findings();
    expect(code).toBe(0);
    const states = Object.entries(found).map(([check, { state }]) => `${check} ${state}`);
    expect(states).toEqual([
      'profile ok',
      'network ok',
      'clock ok',
      'token ok',
      'access ok',
      'signature ok',
      'registers ok',
    ]);
  });

  test('says what to do about an address, a secret, and a file that others read', async () => {
    const away = await findings(['--url', `http://127.0.0.1:${await freePorts(1)}`], credentials());
    expect(away).toMatchObject({ code: 9, found: { network: { found: 'ECONNREFUSED', todo: expect.any(String) } } });
    expect(Object.keys(away.found)).not.toContain('token');
    const wrong = await findings([], { FGW_CLIENT_SECRET: 'wrong' });
    expect(wrong).toMatchObject({ code: 9, found: { token: { state: 'fault', found: 'refused: invalid_client' } } });
    expect(await findings(['--profile', 'none'])).toMatchObject({ code: 9, found: { profile: { state: 'fault' } } });
    const open = join(fgw.folder, 'open.json');
    writeFileSync(open, readFileSync(config()), { mode: 0o644 });
    expect(await findings([], { FGW_CONFIG: open })).toMatchObject({
      code: 0,
      found: { profile: { state: 'warning' } },
    });
  });

  test('sees a clock that is wrong', async () => {
    const port = await freePorts(1);
    // Seven minutes later than here, and no gateway.
    const server = createServer((_request, response) => {
      response.setHeader('date', new Date(Date.now() + 420_000).toUTCString());
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    try {
      const { code, found } = await findings(['--url', `http://127.0.0.1:${port}`], credentials());
      expect(code).toBe(9);
      expect(found['clock']).toMatchObject({ state: 'fault', found: expect.stringMatching(/^4(19|20|21) s behind/) });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('says that a signature is missing, and that it is there', async () => {
    const sdk = new FiscalGateway({
      baseUrl: url,
      credentials: { clientId: system.merchant.clientId, clientSecret: system.merchant.clientSecret },
    });
    const client = await sdk.clients.create({ name: 'signs', scopes: ['receipts:write'], ip_policy: 'any' });
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const key = await sdk.clients.addKey(client.id, { name: 'erp', public_key: pem });
    const env = { FGW_CLIENT_ID: client.id, FGW_CLIENT_SECRET: client.client_secret };
    const unsigned = await findings([], env);
    expect(unsigned).toMatchObject({ code: 9, found: { signature: { found: 'refused: signature_missing' } } });
    const file = join(fgw.folder, 'key.pem');
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const signed = await findings([], { ...env, FGW_KEY_ID: key.id, FGW_SIGNING_KEY_FILE: file });
    expect(signed).toMatchObject({ code: 0, found: { signature: { state: 'ok', found: 'accepted' } } });
  });

  test('names a register that does not answer', async () => {
    await system.register.end();
    try {
      const { code, found } = await findings();
      expect([code, found['registers']?.state]).toEqual([9, 'fault']);
      expect(found['registers']?.found).toContain(system.merchant.tills[0]!.deviceId);
    } finally {
      await system.register.start();
    }
    await until('it is well again', findings, ({ code }) => code === 0);
  });
});

describe('the terminal', () => {
  test('colours only in a terminal', async () => {
    const plain = await fgw.run(['doctor']);
    expect(plain.stdout).not.toContain('\u001b[');
    expect((await fgw.run(['doctor'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\u001b[32m');
    expect((await fgw.run(['doctor', '--no-color'], { env: { FORCE_COLOR: '1' } })).stdout).not.toContain('\u001b[');
    expect((await fgw.run(['doctor'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stdout).not.toContain('\u001b[');
  });

  test('bash completes commands, their options, and the shells', async () => {
    const bin = join(fgw.folder, 'fgw');
    const main = join(process.cwd(), 'dist', 'apps', 'cli', 'src', 'main.js');
    writeFileSync(bin, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, { mode: 0o755 });
    const complete = async (...words: string[]) => {
      const script = `source <(fgw completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fgw; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const env = { ...process.env, NODE_OPTIONS: '', PATH: `${fgw.folder}:${process.env['PATH']}` };
      const { stdout } = await execute('bash', ['-c', script, 'bash', 'fgw', ...words], { env });
      return stdout.split('\n').filter((line) => line !== '');
    };
    expect(await complete('rec')).toEqual(['receipts']);
    expect(await complete('receipts', 're')).toEqual(['refund']);
    expect(await complete('listen', '--f')).toEqual(['--forward-to', '--from-now', '--from-start']);
    expect(await complete('completion', '')).toEqual(['bash', 'zsh']);
    expect(await complete('operator', 'cl')).toEqual(['client', 'classifier']);
    expect(await complete('operator', 'client', 'rotate-secret', '--o')).toEqual(['--overlap-seconds']);
  });

  test('the script for zsh is one', async () => {
    const { stdout } = await fgw.run(['completion', 'zsh']);
    expect(stdout).toMatch(/^#compdef fgw\n/);
    const parsed = await execute('zsh', ['-n', '-c', stdout]).catch((error: NodeJS.ErrnoException) => error);
    // A machine without zsh cannot say.
    if (parsed instanceof Error) expect(parsed.code).toBe('ENOENT');
  });
});

test("the operator's commands are part of it, on the gateway's machine", async () => {
  const env = { DATABASE_URL: system.database.url, SECRETS_KEY: system.secretsKey, DATA_DIR: join(fgw.folder, 'data') };
  const { code, stdout } = await fgw.run(['operator', 'merchant', 'list'], { env });
  expect(code).toBe(0);
  expect(stdout).toContain(system.merchant.merchantId);
  const line = await fgw.run(['operator', 'merchant', 'list', '--json'], { env });
  expect(JSON.parse(line.stdout)).toEqual(JSON.parse(stdout));
  expect(line.stdout.trim()).not.toContain('\n');
  // What is wrong with the words is said before anything is started; what the rules refuse, by the operator's own program.
  const wrong = ['merchant destroy', 'merchant list --name x', 'client create --merchant', 'merchant set'];
  for (const words of wrong) {
    const { code: own, stderr } = await fgw.run(['operator', ...words.split(' ')]);
    expect([words, own, stderr]).toEqual([words, 2, expect.stringContaining('error: ')]);
  }
  const tin = ['operator', 'merchant', 'create', '--code', 'x', '--name', 'X', '--tin', '1', '--as', 'test'];
  expect(await fgw.run(tin, { env })).toMatchObject({ code: 2, stderr: expect.stringContaining('tin') });
  expect((await fgw.run(['operator', '--help'])).stdout).toContain('restore');
  expect((await fgw.run(['operator', 'client', 'set', '--help'])).stdout).toContain('--signing <policy>');
});

test('the package is one file that runs in a clean folder', async () => {
  const packed = join(fgw.folder, 'package');
  await buildCli(packed);
  const env = { ...process.env, NODE_OPTIONS: '', npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  const npm = (args: string[], cwd: string) => execute('npm', args, { cwd, env });
  const { stdout } = await npm(['pack', '--silent', '--pack-destination', fgw.folder], packed);
  const clean = join(fgw.folder, 'clean');
  const prefix = ['install', '--global', '--prefix', clean, '--no-audit', '--no-fund'];
  await npm([...prefix, join(fgw.folder, stdout.trim())], fgw.folder);
  const run = (...args: string[]) => execute(join(clean, 'bin', 'fgw'), args, { env: { ...env, HOME: fgw.folder } });
  expect((await run('--version')).stdout).toBe(`${VERSION}\n`);
  expect((await run('receipts', 'list', '--limit', '1')).stdout).toContain('rcp_');
});
