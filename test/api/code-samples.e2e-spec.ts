// Promise: the examples that /docs shows are programs of their languages, fit the types of the SDK, and the first of them sells.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildSdk } from '../../scripts/lib/build-sdk.mjs';
import { sql } from '../system/database.js';
import { startSystem, type TestSystem } from '../system/system.js';

type Language = 'curl' | 'node' | 'python' | 'php';

const ROOT = process.cwd();
const samples = JSON.parse(readFileSync(join(ROOT, 'docs', 'code-samples.json'), 'utf8')) as Record<
  string,
  Record<Language, string>
>;
const description = JSON.parse(readFileSync(join(ROOT, 'docs', 'openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, unknown>>;
};
const ENDINGS: Record<Language, string> = { curl: 'sh', node: 'ts', python: 'py', php: 'php' };
const hasPhp = process.env['CI'] === 'true' || spawnSync('php', ['-v']).error === undefined;
const execute = promisify(execFile);

let system: TestSystem;
let folder: string;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  system = await startSystem({ scopes: ['receipts:write', 'receipts:read'] });
  const { clientId, clientSecret, merchantId } = system.merchant;
  // What the examples name.
  await sql(
    system.database,
    `INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
     SELECT merchant_id, 'non', 'Non', 'non', spic, package_code, units, vat_percent FROM products WHERE merchant_id = $1 LIMIT 1`,
    [merchantId],
  );
  const token = (await (
    await fetch(`${system.gatewayUrls[0]}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
  ).json()) as { access_token: string };
  const gateway = { GATEWAY_URL: system.gatewayUrls[0], CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
  env = { ...process.env, NODE_OPTIONS: '', TOKEN: token.access_token, ...gateway };
  folder = mkdtempSync(join(tmpdir(), 'fiscal-samples-'));
  mkdirSync(join(folder, 'node_modules', '@fiscal-gateway'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  await buildSdk(join(folder, 'node_modules', '@fiscal-gateway', 'sdk'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  for (const [at, texts] of Object.values(samples).entries())
    for (const [language, ending] of Object.entries(ENDINGS))
      writeFileSync(join(folder, `${at}.${ending}`), texts[language as Language]);
});
afterAll(async () => {
  await system?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** What a tool prints about files that it does not like; empty when it likes them all. */
async function judge(file: string, args: string[]): Promise<string> {
  const { stdout, stderr } = await execute(file, args, { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

const all = (ending: string) => Object.keys(samples).map((_, at) => `${at}.${ending}`);

test('each operation below /v1 that is for clients has its examples', () => {
  const operations = Object.entries(description.paths)
    .filter(([path]) => path.startsWith('/v1/') && !path.startsWith('/v1/providers/'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
  expect(Object.keys(samples).sort()).toEqual(operations.sort());
});

test('Node.js: all of them fit the types of the SDK', async () => {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--types', 'node', '--noEmit'];
  expect(await judge(process.execPath, [tsc, '--pretty', 'false', ...options, ...all('ts')])).toBe('');
});

test('Python: all of them compile', async () => {
  const program = 'import sys\nfor file in sys.argv[1:]: compile(open(file).read(), file, "exec")';
  expect(await judge('python3', ['-c', program, ...all('py')])).toBe('');
});

(hasPhp ? test : test.skip)('PHP: all of them compile', async () => {
  const program = 'foreach (array_slice($argv, 1) as $file) token_get_all(file_get_contents($file), TOKEN_PARSE);';
  expect(await judge('php', ['-r', program, '--', ...all('php')])).toBe('');
});

test('curl: the shell reads all of them', async () => {
  writeFileSync(
    join(folder, 'all.sh'),
    Object.values(samples)
      .map(({ curl }) => curl)
      .join('\n'),
  );
  expect(await judge('sh', ['-n', 'all.sh'])).toBe('');
});

const RUNS: [Language, string, string[]][] = [
  ['curl', 'sh', []],
  ['node', process.execPath, []],
  ['python', 'python3', []],
  ['php', 'php', []],
];

test.each(RUNS.filter(([language]) => language !== 'php' || hasPhp))('%s sells', async (language, file) => {
  const at = Object.keys(samples).indexOf('POST /v1/receipts');
  const name = `sells.${language === 'node' ? 'mjs' : ENDINGS[language]}`;
  // A sale of its own in each language.
  writeFileSync(
    join(folder, name),
    samples[Object.keys(samples)[at]!]![language].replaceAll('sale-1001', `sale-${language}`),
  );
  const printed = await judge(file, [name]);
  expect(printed).toMatch(/status.{1,4}registered/);
  const found = await sql(system.database, 'SELECT status, total_tiyin FROM receipts WHERE idempotency_key = $1', [
    `sale-${language}`,
  ]);
  expect(found).toMatchObject([{ status: 'registered' }]);
});
