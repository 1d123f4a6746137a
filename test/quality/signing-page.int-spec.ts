// Promise: an example copied from docs/signing.md gets a receipt accepted by a gateway that demands signatures.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nameKey } from '#fiscal-domain';
import { parseKeyring } from '#secrets';
import { SigningRig } from '../../apps/gateway/src/access/signing/testing/signing-rig.js';
import { createMerchant, type TestMerchant } from '../system/merchant.js';

const run = promisify(execFile);
const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'signing.md'), 'utf8');
const examples = new Map(
  [...PAGE.matchAll(/^<!-- example: ([\w-]+) -->\n```\w+\n([\s\S]*?)^```$/gm)].map(([, name, code]) => [name!, code!]),
);

const secretsKey = randomBytes(32).toString('base64');
let rig: SigningRig;
let folder: string;

beforeAll(async () => {
  rig = await SigningRig.start({ SECRETS_KEY: parseKeyring(secretsKey) });
  folder = mkdtempSync(join(tmpdir(), 'signing-page-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await rig.stop();
});

/** Of its own for each example: the first key is registered unsigned. */
async function newMerchant(): Promise<TestMerchant> {
  const scopes = ['clients:admin', 'receipts:write'];
  const registerUrls = ['http://127.0.0.1:9'];
  const more = { secretsKey, scopes, registerUrls, registerApiKey: 'none' };
  const merchant = await createMerchant(rig.fixture.database.url, more);
  const { merchantId } = merchant;
  await rig.prisma.$executeRaw`
    INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
    SELECT merchant_id, 'non', 'Non', ${nameKey('Non')}, spic, package_code, units, vat_percent
      FROM products WHERE merchant_id = ${merchantId} LIMIT 1`;
  return merchant;
}

function example(name: string): string {
  const code = examples.get(name);
  if (code === undefined) throw new Error(`docs/signing.md has no example ${name}`);
  return code;
}

/** The shell's part, then the program in the same folder and environment. */
function scriptOf(algorithm: string, language: string): string {
  const code = example(`${algorithm}-${language}`);
  const opening = `set -eu\n${example('token')}${example(`${algorithm}-key`)}`;
  if (language === 'curl') return `${opening}${code}`;
  // Not `hmac.py`: Python would take it for its own module.
  const file = `example-${algorithm}.${language === 'node' ? 'mjs' : 'py'}`;
  writeFileSync(join(folder, file), code);
  return `${opening}${language === 'node' ? `"${process.execPath}"` : 'python3'} ${file}\n`;
}

test('there are the examples that we run, and no others', () => {
  const named = ['ed25519', 'hmac'].flatMap((name) =>
    ['key', 'curl', 'node', 'python'].map((part) => `${name}-${part}`),
  );
  expect([...examples.keys()].sort()).toEqual([...named, 'token'].sort());
});

test.each(
  ['ed25519', 'hmac'].flatMap((algorithm) => ['curl', 'node', 'python'].map((way) => [algorithm, way] as const)),
)('%s with %s', async (algorithm, way) => {
  const { clientId, clientSecret } = await newMerchant();
  const env = {
    ...process.env,
    ...{ GATEWAY_URL: rig.gateways[1], CLIENT_ID: clientId, CLIENT_SECRET: clientSecret },
  };
  const { stdout } = await run('sh', ['-c', scriptOf(algorithm, way)], { cwd: folder, env, timeout: 120_000 });
  expect(JSON.parse(stdout)).toMatchObject({ status: 'accepted', total: 900_000 });
  // Not let through for want of a key: the signature was verified, its nonce used up.
  const keys = await rig.prisma.clientKey.findMany({ where: { clientId } });
  expect(await rig.prisma.signatureNonce.count({ where: { keyId: { in: keys.map(({ id }) => id) } } })).toBe(1);
});
