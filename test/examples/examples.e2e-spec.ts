// Promise: each example sells once through every fault of the network, accepts no forged webhook, and shows what was refused.
import { createHmac, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { VERSION } from '#sdk';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { buildSdk } from '../../scripts/lib/build-sdk.mjs';
import { describeInBrowser } from '../screen/browser.js';
import { startBrowser } from '../screen/start-browser.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ExampleRig, type Finished } from './example-rig.js';
import { isInstalled, LANGUAGES, newFolder, type Language } from './languages.js';

const ROOT = process.cwd();
/** Minified. */
const SIZE_LIMIT = 25_000;
const CLEAN_USE = 'clean';

let rig: ExampleRig;
/** The package as `npm publish` would send it. */
let tarball: string;
let packed: string;
/** They wait more than they compute: all begin at once, and each test awaits its own. */
const begun = new Map<string, Promise<unknown>>();

beforeAll(async () => {
  rig = await ExampleRig.start();
  packed = await newFolder(rig.folder, 'package');
  await buildSdk(packed);
  const out = await npm(['pack', '--silent', '--pack-destination', rig.folder], packed);
  tarball = join(rig.folder, out.trim());
  begin(CLEAN_USE, useFromCleanFolder());
  for (const language of LANGUAGES.filter(isInstalled)) begin(language.name, sellTwice(language));
});
afterAll(() => rig?.stop());

/** What rejects meanwhile is the failure of the test that awaits it. */
function begin(name: string, work: Promise<unknown>): void {
  work.catch(() => undefined);
  begun.set(name, work);
}

/** Without the network: the package has no dependencies. */
async function npm(args: string[], cwd: string): Promise<string> {
  const env = { npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  const { code, stdout, stderr } = await rig.run({ file: 'npm', args, cwd, env }, {});
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

interface Selling {
  folder: string;
  number: string;
  first: Finished;
  /** As after a crash of the ERP: the same number once more. */
  again: Finished;
}

async function sellTwice(language: Language): Promise<Selling> {
  const folder = await newFolder(rig.folder, language.name);
  await language.prepare(folder);
  if (language.hasSdk) await npm(['install', '--no-audit', '--no-fund', tarball], folder);
  const env = await rig.environmentFor(language);
  const number = `${language.name}-1`;
  const first = await rig.run(language.sell(folder, number), env);
  const again = await rig.run(language.sell(folder, number), env);
  return { folder, number, first, again };
}

const countOf = async (key: string): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    rig.system.database,
    'SELECT count(*)::int AS count FROM receipts WHERE idempotency_key = $1',
    [key],
  );
  return row?.count ?? -1;
};

const LINES =
  /^sale (rcp_\w+) registered: \d+ https?:\/\/\S+\nrefund (rcp_\w+) registered\nrefused: 422 (\S+)\n(?: {2}.*\/items\/0\/price.*\n)/m;

describe.each(LANGUAGES)('$name', (language) => {
  const heldTest = isInstalled(language) ? test : test.skip;

  heldTest(
    'sells once through a lost answer, a 503, half an answer and what proxies say, waits, refunds, and shows what was refused',
    async () => {
      const { number, first, again } = (await begun.get(language.name)) as Selling;
      expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(LINES) });
      expect(again.stdout).toBe(first.stdout);
      const keys = ['sale', 'refund', 'wrong'].map((kind) => `${kind}-${number}`);
      expect(await Promise.all(keys.map(countOf))).toEqual([1, 1, 0]);
      const attempts = rig.attemptsOf(`sale-${number}`);
      expect(attempts.map(({ fate }) => fate)).toEqual([
        ...['drop_answer', 'refuse', 'cut_answer', 'refuse', 'refuse'],
        ...['pass', 'pass'],
      ]);
      const nonces = attempts.map(({ headers }) => /nonce="([^"]+)"/.exec(String(headers['signature-input']))?.[1]);
      if (!language.sendsTwice) expect(new Set(nonces).size).toBe(attempts.length);
    },
  );

  // The SDK names the refusal, and its README says what it means after a lost answer.
  const deniedTest = isInstalled(language) && !language.hasSdk ? test : test.skip;

  deniedTest('does not take a refusal of itself for one of a sale whose answer was lost', async () => {
    const { folder } = (await begun.get(language.name)) as Selling;
    const env = await rig.environmentFor(language);
    const number = `denied-${language.name}-1`;
    expect(await rig.run(language.sell(folder, number), env)).toMatchObject({ code: 2, stdout: '' });
    expect(await rig.run(language.sell(folder, number), env)).toMatchObject({ code: 0 });
    expect(await countOf(`sale-${number}`)).toBe(1);
  });

  const receiver = language.webhook;
  const webhookTest = receiver !== null && isInstalled(language) ? test : test.skip;
  if (receiver === null) return;

  webhookTest('receives a webhook, and refuses a forged and an old one', async () => {
    const port = await freePorts(1);
    const url = `http://127.0.0.1:${port}/`;
    const { id, secret } = await rig.sdk.webhooks.create({ url, events: ['webhook.disabled'] });
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const env = { PORT: String(port), WEBHOOK_SECRETS: `${other}  ${secret} ` };
    const { folder } = (await begun.get(language.name)) as Selling;
    const { output } = rig.begin(receiver(folder, port), env);
    const send = (signedBy: string, at: Date) => post(url, signedBy, at);
    await until(
      `${language.name} listens`,
      () => send(other, new Date()).catch(() => null),
      (status) => status === 204,
    );
    await rig.sdk.webhooks.test(id);
    await until('the test event has arrived', output, (text) => text.includes('event webhook.test evt_'));
    // Were a space more among the secrets an empty one, this would be signed with it.
    expect(await signedWithNothing(url)).toBe(400);
    expect(await send(`whsec_${randomBytes(32).toString('base64')}`, new Date())).toBe(400);
    expect(await send(secret, new Date(Date.now() - 400_000))).toBe(400);
    // Forged ones need no secret: they are refused, and the receiver goes on.
    for (const timestamp of hostileTimestamps())
      expect([timestamp, await forge(url, timestamp)]).toEqual([timestamp, 400]);
    expect(await send(secret, new Date())).toBe(204);
    await rig.sdk.webhooks.remove(id);
  });
});

/** What is no time, or overflows where it is taken from one. */
function hostileTimestamps(): string[] {
  const farBack = [-1n, 0n, 1n, 2n].map((more) => String(BigInt(Math.floor(Date.now() / 1000)) + more - 2n ** 63n));
  return ['', 'x', '-1', '\u00b2', '1e9', '9'.repeat(400), '9'.repeat(5_000), ...farBack, 'BODY[$(touch executed)]'];
}

/** With an empty key, as anyone can. @returns the status */
async function signedWithNothing(url: string): Promise<number> {
  const [id, body] = ['evt_1', JSON.stringify({ id: 'evt_1', type: 'receipt.rejected', data: {} })];
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', '').update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

async function forge(url: string, timestamp: string): Promise<number> {
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${'\u00e9'.repeat(44)}`,
  };
  return (await fetch(url, { method: 'POST', headers, body: '{}' })).status;
}

/** As the gateway sends it, signed by the reference implementation. @returns the status */
async function post(url: string, secret: string, at: Date): Promise<number> {
  const id = `evt_${randomBytes(8).toString('hex')}`;
  const body = JSON.stringify({
    id,
    type: 'receipt.registered',
    timestamp: at.toISOString(),
    merchant_id: 'm',
    data: {},
  });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

describe('curl', () => {
  test('a shell verifies a webhook that something else received', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const body = JSON.stringify({ id: 'evt_1', type: 'receipt.registered', data: {} });
    const cwd = await newFolder(rig.folder, 'curl');
    const verify = (signedBy: string, at: Date, seconds = String(Math.floor(at.getTime() / 1000))) => {
      const signature = new Webhook(signedBy).sign('evt_1', at, body);
      // Where `sh` is bash, it executes what stands within an index of an arithmetic expression.
      const script = `printf %s "$BODY" | bash --posix "$SCRIPT" evt_1 "$SECONDS_GIVEN" "v1,bm90IG91cnM= ${signature}"`;
      const env = { BODY: body, SECONDS_GIVEN: seconds, SCRIPT: join(ROOT, 'examples', 'curl', 'verify-webhook.sh') };
      return rig.run({ file: 'sh', args: ['-c', script], cwd }, { ...env, WEBHOOK_SECRETS: `whsec_AAAA ${secret}` });
    };
    expect(await verify(secret, new Date())).toMatchObject({ code: 0, stdout: 'event receipt.registered evt_1\n' });
    expect(await verify('whsec_AAAB', new Date())).toMatchObject({ code: 1 });
    expect(await verify(secret, new Date(Date.now() - 400_000))).toMatchObject({ code: 1 });
    for (const timestamp of hostileTimestamps()) {
      expect(await verify(secret, new Date(), timestamp)).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^refused: /),
      });
    }
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe('the package', () => {
  test('is small, has no dependencies, and says its version', () => {
    const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest['dependencies']).toBeUndefined();
    expect(manifest['version']).toBe(VERSION);
    for (const kind of ['esm', 'cjs']) expect(statSync(join(packed, kind, 'index.js')).size).toBeLessThan(SIZE_LIMIT);
    expect(readdirSync(packed).sort()).toEqual(['LICENSE', 'README.md', 'cjs', 'esm', 'package.json']);
  });

  test('is used from a clean folder, as ES module and as CommonJS, with its types', async () => {
    const { types, esm, cjs } = (await begun.get(CLEAN_USE)) as CleanUse;
    expect(types).toMatchObject({ code: 0, stdout: '' });
    expect(esm).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\w+\n$/) });
    expect(cjs).toMatchObject({ code: 0, stdout: esm.stdout });
  });
});

interface CleanUse {
  types: Finished;
  esm: Finished;
  cjs: Finished;
}

async function useFromCleanFolder(): Promise<CleanUse> {
  const folder = await newFolder(rig.folder, 'clean');
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await npm(['install', '--no-audit', '--no-fund', tarball], folder);
  const { clientId, clientSecret, goods, tills } = rig.system.merchant;
  const use = `
    const fgw = new FiscalGateway({ baseUrl: '${rig.url}', credentials: { clientId: '${clientId}', clientSecret: '${clientSecret}' } });
    const items = [{ name: ${JSON.stringify(goods[0])}, price: 112000, qty: 1 }];
    const sale = { items, payment: { method: 'cash' as const }, cashier_id: '${tills[0]!.cashierId}' };
    fgw.receipts.create(sale, { idempotencyKey: 'KEY' }).then(async ({ id }) => {
      const receipt = await fgw.receipts.waitUntilFinal(id);
      if (receipt.status === 'registered') console.log(receipt.fiscal.terminal_id);
    });`;
  const plain = use.replace(' as const', '');
  const ways = {
    'esm.mts': `import { FiscalGateway } from '@fiscal-gateway/sdk';${use}`,
    'cjs.cts': `import fiscal = require('@fiscal-gateway/sdk');const { FiscalGateway } = fiscal;${use}`,
    'esm.mjs': `import { FiscalGateway } from '@fiscal-gateway/sdk';${plain.replace('KEY', 'clean-esm')}`,
    'cjs.cjs': `const { FiscalGateway } = require('@fiscal-gateway/sdk');${plain.replace('KEY', 'clean-cjs')}`,
  };
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom'], types: [], strict: true, noEmit: true },
    ...{ exactOptionalPropertyTypes: true, skipLibCheck: false },
  };
  const config = { compilerOptions, files: ['esm.mts', 'cjs.cts'] };
  const files = { ...ways, 'tsconfig.json': JSON.stringify(config) };
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  const run = (...args: string[]) => rig.run({ file: process.execPath, args, cwd: folder }, {});
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const [types, esm, cjs] = await Promise.all([run(tsc, '-p', '.'), run('esm.mjs'), run('cjs.cjs')]);
  return { types, esm, cjs };
}

describeInBrowser('a browser', () => {
  test('reads the public receipt, and is refused with a secret', async () => {
    const { tills, goods } = rig.system.merchant;
    const items = [{ name: goods[0]!, price: 112_000, qty: 1 }];
    const sale = { items, payment: { method: 'cash' as const }, cashier_id: tills[0]!.cashierId };
    const receipt = await rig.sdk.receipts.create(sale, { idempotencyKey: 'browser-1' });
    const code = readFileSync(join(packed, 'esm', 'index.js')).toString('base64');
    const browser = await startBrowser();
    try {
      const context = await browser.newContext({ bypassCSP: true });
      const page = await context.newPage();
      // The gateway sends no CORS headers: only a page of its own origin may ask.
      await page.goto(`${rig.url}/healthz`);
      const result = await page.evaluate(
        `import('data:text/javascript;base64,${code}').then(async ({ FiscalGateway }) => {
          const fgw = new FiscalGateway({ baseUrl: location.origin });
          const text = await (await fgw.publicReceipt('${receipt.receipt_url}', { lang: 'ru' })).text();
          let refusal = '';
          try { new FiscalGateway({ baseUrl: location.origin, credentials: { clientId: 'a', clientSecret: 'b' } }); }
          catch (error) { refusal = error.name; }
          return { text, refusal };
        })`,
      );
      expect(result).toMatchObject({ text: expect.stringContaining(goods[0]!), refusal: 'UsageError' });
    } finally {
      await browser.close();
    }
  });
});

interface NewmanReport {
  run: {
    failures: { error: { message: string }; source: { name: string } }[];
    executions: { item: { name: string }; response?: { code: number } }[];
  };
}

describe('docs/postman.json', () => {
  // The last one: it also sends what takes registers and clients away.
  test('its tour succeeds, and every request of it is answered as described', async () => {
    await Promise.allSettled(begun.values());
    const { clientId, clientSecret, goods, tills } = rig.system.merchant;
    const report = join(rig.folder, 'newman.json');
    const variables = {
      ...{ base_url: rig.url, client_id: clientId, client_secret: clientSecret },
      ...{ cashier_id: tills[0]!.cashierId, product_name: goods[0]!, webhook_url: 'http://127.0.0.1:9/hook' },
    };
    const given = Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`]);
    const newman = join(ROOT, 'node_modules', 'newman', 'bin', 'newman.js');
    const args = [newman, 'run', join(ROOT, 'docs', 'postman.json'), '-r', 'json', '--reporter-json-export', report];
    await rig.run(
      { file: process.execPath, args: [...args, '--timeout-request', '60000', ...given], cwd: rig.folder },
      {},
    );
    const { run } = JSON.parse(readFileSync(report, 'utf8')) as NewmanReport;
    const codeOf = new Map(run.executions.map(({ item, response }) => [item.name, response?.code]));
    const failures = run.failures.map(
      ({ source, error }) => `${source.name} (${codeOf.get(source.name)}): ${error.message}`,
    );
    expect(failures).toEqual([]);
    const answers = run.executions.map(({ response }) => Math.floor((response?.code ?? 0) / 100));
    // Most of them do something: half of the requests and more are not merely refused.
    expect(answers.filter((hundreds) => hundreds === 2).length).toBeGreaterThan(answers.length / 2);
    expect(run.executions.filter(({ response }) => response === undefined)).toEqual([]);
  });
});
