// Promise: the code in the README of the SDK runs as it stands, with the package as it is published, and its types hold.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FiscalGateway } from '#sdk';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { buildSdk } from '../../scripts/lib/build-sdk.mjs';
import { sql } from '../system/database.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { FaultProxy } from './fault-proxy.js';

const ROOT = process.cwd();
const README = readFileSync(join(ROOT, 'libs', 'sdk', 'README.md'), 'utf8');
const SCOPES = [
  ...['receipts:write', 'receipts:read', 'refunds:write', 'catalog:write', 'catalog:read'],
  ...['devices:admin', 'clients:admin', 'webhooks:admin'],
];
const execute = promisify(execFile);
const blocks = [...README.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);

let system: TestSystem;
let proxy: FaultProxy;
let url: string;
let folder: string;

beforeAll(async () => {
  const port = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  system = await startSystem({ scopes: SCOPES, env: { PUBLIC_URL: url, PUBLIC_HOSTS: `127.0.0.1:${port}` } });
  proxy = new FaultProxy(system.gatewayUrls, () => ({ kind: 'pass' }));
  await proxy.listen(port);
  folder = mkdtempSync(join(tmpdir(), 'fiscal-readme-'));
  const scope = join(folder, 'node_modules', '@fiscal-gateway');
  mkdirSync(scope, { recursive: true });
  await buildSdk(join(scope, 'sdk'));
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
});
afterAll(async () => {
  await proxy?.close();
  await system?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** What the page takes for granted: names that its reader has. */
const PRELUDE = `
import { signWebhook } from '@fiscal-gateway/sdk';
const { clientId, clientSecret, keyId, pem, deviceId } = JSON.parse(process.env['FACTS']!) as Record<string, string>;
const wrongSale = { items: [{ name: 'Non', price: -1, qty: 1 }], payment: { method: 'cash' as const }, cashier_id: 'cashier-1' };
const print = (url: string | null) => console.log('printed', url);
const show = (pointer: string, detail: string) => console.log('shown', pointer, detail);
const enough = new AbortController();
const { signal } = enough;
const cursor: string | null = null;
const worked: string[] = [];
const work = async (events: readonly { type: string }[]) => { worked.push(...events.map(({ type }) => type)); };
// A page ends before what a transaction that is open may still write: the next one has it.
const keep = async (kept: string | null) => {
  if (!worked.includes('receipt.registered')) return;
  console.log('worked', worked.slice(0, 2).join(' '));
  console.log('kept', kept !== null);
  enough.abort(new Error('enough'));
};
const secret = 'whsec_' + btoa('a'.repeat(32));
const secretBefore = 'whsec_' + btoa('b'.repeat(32));
const rawBody = JSON.stringify({ id: 'evt_1', type: 'receipt.registered', timestamp: '', merchant_id: '', data: {} });
const request = { headers: await signWebhook(rawBody, secretBefore, { id: 'evt_1' }) };
`;

/** The blocks in their order; following the feed ends with the signal, as the page says. */
function programOf(): string {
  const code = blocks
    .map((block) =>
      block.includes('followPages') ? `try {\n${block}} catch (error) { if (!signal.aborted) throw error; }\n` : block,
    )
    .join('\n')
    .replace('https://fiscal.example.uz', url)
    // No name of the outside world resolves here.
    .replace('https://shop.example.uz/hook', 'http://127.0.0.1:9/hook');
  const imports = [...code.matchAll(/^import .*$/gm)].map(([line]) => line);
  return `${imports.join('\n')}\n${PRELUDE}\n${code.replace(/^import .*$/gm, '')}\nconsole.log('verified', event.type);\n`;
}

/** As it stands in the page: Non is a product, cashier-1 a cashier. */
async function facts(): Promise<Record<string, string>> {
  const { clientId, clientSecret, merchantId, tills } = system.merchant;
  await sql(
    system.database,
    `INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
     SELECT merchant_id, 'non', 'Non', 'non', spic, package_code, units, vat_percent FROM products WHERE merchant_id = $1 LIMIT 1`,
    [merchantId],
  );
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const fgw = new FiscalGateway({ baseUrl: url, credentials: { clientId, clientSecret } });
  const key = await fgw.clients.addKey(clientId, {
    name: 'erp',
    public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { clientId, clientSecret, keyId: key.id, pem, deviceId: tills[0]!.deviceId };
}

test('every block runs, and its types hold', async () => {
  expect(blocks.length).toBeGreaterThanOrEqual(7);
  writeFileSync(join(folder, 'readme.ts'), programOf());
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--types', 'node', '--outDir', 'out'];
  const checked = await execute(process.execPath, [tsc, ...options, 'readme.ts'], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  expect(checked.stdout).toBe('');
  const env = { ...process.env, NODE_OPTIONS: '', FACTS: JSON.stringify(await facts()) };
  const { stdout } = await execute(process.execPath, [join('out', 'readme.js')], {
    cwd: folder,
    env,
    timeout: 120_000,
  });
  expect(stdout).toMatch(/^printed https?:\/\//m);
  expect(stdout).toContain('shown /items/0/price');
  expect(stdout).toMatch(/^rcp_\w+ 900000$/m);
  expect(stdout).toContain('worked receipt.accepted receipt.registered\nkept true');
  expect(stdout).toContain('verified receipt.registered');
});
