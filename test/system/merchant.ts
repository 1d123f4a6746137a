import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiKeyOwner, PrismaService } from '#database';
import { nameKey, type ClassifierEntry } from '#fiscal-domain';
import { newId, newIdOf } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import { hashClientSecret, newClientSecret } from '../../apps/gateway/src/access/oauth/client-secret.js';

const SAMPLE = join(process.cwd(), 'data', 'classifier-sample.jsonl');

export interface Till {
  deviceId: string;
  cashierId: string;
  registerUrl: string;
}

export interface TestMerchant {
  merchantId: string;
  clientId: string;
  clientSecret: string;
  /** One cashier per device, so that a test says which register sells. */
  tills: Till[];
  /** Names of catalogue goods for which name, price and qty are enough. */
  goods: string[];
}

export interface MerchantOptions {
  secretsKey: string;
  registerApiKey: string;
  registerUrls: readonly string[];
  /** Overrides of the device profile. */
  profile?: Record<string, unknown>;
  scopes?: readonly string[];
  mode?: 'live' | 'sandbox';
}

/** A merchant with its registers, set up in the database as the fleet's API will do it. */
export async function createMerchant(databaseUrl: string, options: MerchantOptions): Promise<TestMerchant> {
  const prisma = new PrismaService({
    url: databaseUrl,
    poolSize: 2,
    applicationName: 'test-seed',
    lockTimeoutMs: 5_000,
    // What a program must not wait for, a test on a busy machine may.
    connectTimeoutMs: 60_000,
  });
  try {
    const entries = readEntries();
    const known = { where: { spic: { in: entries.map(({ spic }) => spic) } } };
    if ((await prisma.classifierEntry.count(known)) < entries.length) {
      await prisma.classifierEntry.createMany({ data: entries.map(classifierRow), skipDuplicates: true });
    }
    const { mode = 'live' } = options;
    const merchantId = newId(mode === 'sandbox' ? 'mer_test' : 'mer');
    const merchant = { id: merchantId, code: merchantId, mode, name: 'Test savdo', tin: '300000000' };
    await prisma.merchant.create({ data: merchant });
    const branchId = newId('brn');
    await prisma.branch.create({ data: { id: branchId, merchantId, code: 'main', name: 'Main' } });
    const goods = entries.filter((entry) => entry.active && !entry.marked && entry.cash_allowed).slice(0, 10);
    await prisma.product.createMany({ data: goods.map((entry, index) => productRow(merchantId, entry, index)) });
    const tills = await createTills(prisma, options, { merchantId, branchId });
    const clientId = newIdOf('cli', merchantId);
    const clientSecret = newClientSecret(merchantId);
    const secretHash = new Uint8Array(hashClientSecret(clientSecret, parseKeyring(options.secretsKey)));
    const scopes = [...(options.scopes ?? ['receipts:write', 'receipts:read'])];
    await prisma.oauthClient.create({ data: { id: clientId, merchantId, name: 'test', secretHash, scopes } });
    return { merchantId, clientId, clientSecret, tills, goods: goods.map((entry) => entry.name.ru) };
  } finally {
    await prisma.$disconnect();
  }
}

async function createTills(
  prisma: PrismaService,
  { secretsKey, registerApiKey, registerUrls, profile }: MerchantOptions,
  { merchantId, branchId }: { merchantId: string; branchId: string },
): Promise<Till[]> {
  const keyring = parseKeyring(secretsKey);
  const tills = registerUrls.map((registerUrl) => ({ deviceId: newId('dev'), cashierId: newId('csh'), registerUrl }));
  const codeOf = (index: number): string => `cashier-${index + 1}`;
  await prisma.device.createMany({
    data: tills.map(({ deviceId, registerUrl }, index) => ({
      ...{ id: deviceId, merchantId, branchId, name: codeOf(index), baseUrl: registerUrl },
      apiKeySealed: new Uint8Array(seal(registerApiKey, apiKeyOwner(deviceId), keyring)),
      profile: { pacingMs: 0, sharing: 'exclusive', ...profile },
    })),
  });
  await prisma.lane.createMany({ data: tills.map(({ deviceId }) => ({ deviceId })) });
  await prisma.cashier.createMany({
    data: tills.map(({ deviceId, cashierId }, index) => ({
      ...{ id: cashierId, merchantId, branchId, code: codeOf(index), name: codeOf(index) },
      defaultDeviceId: deviceId,
    })),
  });
  return tills;
}

function readEntries(): ClassifierEntry[] {
  const lines = readFileSync(SAMPLE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line) as ClassifierEntry);
}

function classifierRow({ cash_allowed: cashAllowed, vat_percents: vatPercents, ...rest }: ClassifierEntry) {
  return { ...rest, cashAllowed, vatPercents };
}

function productRow(merchantId: string, entry: ClassifierEntry, index: number) {
  const name = entry.name.ru;
  return {
    merchantId,
    sku: `sku-${index}`,
    name,
    nameKey: nameKey(name),
    spic: entry.spic,
    packageCode: entry.packages[0]?.code ?? '',
    units: entry.units,
    vatPercent: Math.max(...entry.vat_percents),
  };
}
