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
    await prisma.classifierEntry.createMany({ data: entries.map(classifierRow), skipDuplicates: true });
    const { mode = 'live' } = options;
    const merchantId = newId(mode === 'sandbox' ? 'mer_test' : 'mer');
    const merchant = { id: merchantId, code: merchantId, mode, name: 'Test savdo', tin: '300000000' };
    await prisma.merchant.create({ data: merchant });
    const branchId = newId('brn');
    await prisma.branch.create({ data: { id: branchId, merchantId, code: 'main', name: 'Main' } });
    const goods = entries.filter((entry) => entry.active && !entry.marked && entry.cash_allowed).slice(0, 10);
    await prisma.product.createMany({ data: goods.map((entry, index) => productRow(merchantId, entry, index)) });
    const tills: Till[] = [];
    for (const [index, registerUrl] of options.registerUrls.entries()) {
      tills.push(
        await createTill(prisma, options, { merchantId, branchId, registerUrl, code: `cashier-${index + 1}` }),
      );
    }
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

async function createTill(
  prisma: PrismaService,
  { secretsKey, registerApiKey, profile }: MerchantOptions,
  place: { merchantId: string; branchId: string; registerUrl: string; code: string },
): Promise<Till> {
  const { merchantId, branchId, registerUrl, code } = place;
  const deviceId = newId('dev');
  const sealed = seal(registerApiKey, apiKeyOwner(deviceId), parseKeyring(secretsKey));
  await prisma.device.create({
    data: {
      id: deviceId,
      merchantId,
      branchId,
      name: code,
      baseUrl: registerUrl,
      apiKeySealed: new Uint8Array(sealed),
      profile: { pacingMs: 0, sharing: 'exclusive', ...profile },
    },
  });
  await prisma.lane.create({ data: { deviceId } });
  const cashierId = newId('csh');
  await prisma.cashier.create({
    data: { id: cashierId, merchantId, branchId, code, name: code, defaultDeviceId: deviceId },
  });
  return { deviceId, cashierId, registerUrl };
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
