import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiKeyOwner, PrismaService, sessionsAt } from '#database';
import { toGoodsEntry, type ClassifierEntry } from '#fiscal-domain';
import { createLane } from '#ledger';
import { newId, newIdOf, runProgram } from '#runtime';
import { seal } from '#secrets';
import { CatalogWords } from '../../goods/catalog/catalog-words.js';
import { checkProduct } from '../../goods/catalog/check-product.js';
import { CLASSIFIER_SCOPE, wordKey, wordsOf } from '../../goods/catalog/words.js';
import { writeProducts } from '../../goods/catalog/write-products.js';
import { hashClientSecret, newClientSecret } from '../../access/oauth/client-secret.js';
import { consoleAddress } from '../../access/people/console-address.js';
import { hashInvitationToken, newInvitationToken } from '../../access/people/invitations/invitation-token.js';
import { MERCHANT_SCOPES } from '../../http/scopes.js';
import { storeProviderAccounts, simulatorUrl } from './demo-providers.js';
import { loadDemoSettings, type DemoSettings } from './settings.js';

/**
 * Sets the demo merchant up and writes `.data/demo.json`. Running it again changes nothing that is there: the second
 * `npm start` finds the same ids and the same secret.
 */
interface DemoFacts extends SandboxFacts {
  token_url: string;
  sample_item: Record<string, unknown>;
  register_url: string;
  register_api_key: string;
  ofd_url: string;
  payments_sim_url: string;
  /** Opens once, and makes the first administrator; null: there are users already. */
  invitation_url: string | null;
  /** The demo merchant's inbound account at Payme. */
  payme: { url: string; key: string; account_field: string };
  /** A merchant to try outcomes with (docs/sandbox.md); also in sandbox.json, for `fgw login --from`. */
  sandbox: SandboxFacts;
}

interface SandboxFacts {
  gateway_url: string;
  client_id: string;
  client_secret: string;
  device_id: string;
  cashier_id: string;
  product_name: string;
}

const DEMO = { code: 'demo', name: 'Demo savdo MChJ', mode: 'live' } as const;
const SANDBOX = { code: 'sandbox', name: 'Sinov savdo MChJ', mode: 'sandbox' } as const;
const DEVICE_NAME = 'Demo register';
/** Goods of the demo catalogue: unmarked entries of the sample, so that name, price and qty are enough. */
const CATALOGUE_SIZE = 20;

async function seed(settings: DemoSettings): Promise<DemoFacts> {
  const prisma = new PrismaService({
    url: sessionsAt(settings),
    poolSize: 2,
    applicationName: 'seed-demo',
    lockTimeoutMs: 5_000,
  });
  try {
    const entries = readSample(settings);
    await storeClassifier(prisma, entries);
    const place = await storeMerchant(prisma, DEMO);
    const goods = entries
      .filter((entry) => entry.active && !entry.marked && entry.cash_allowed)
      .slice(0, CATALOGUE_SIZE);
    await storeProducts(prisma, place.merchantId, goods);
    const deviceId = await storeDevice(prisma, settings, place);
    const before = readFacts(settings);
    const client = await storeClient(prisma, settings, { merchantId: place.merchantId, before });
    const payme = await storeProviderAccounts(prisma, settings, place.merchantId);
    const [first] = goods;
    if (!first) throw new Error('The classification sample has no plain goods.');
    const gatewayUrl = `http://127.0.0.1:${settings.GATEWAY_PORT}`;
    const sandbox = await storeSandbox(prisma, settings, { goods, before: before?.sandbox ?? null });
    return {
      gateway_url: gatewayUrl,
      token_url: `${gatewayUrl}/oauth/token`,
      ...client,
      device_id: deviceId,
      cashier_id: place.cashierId,
      product_name: first.name.ru,
      sample_item: sampleItem(first),
      register_url: registerUrl(settings),
      register_api_key: settings.REGISTER_API_KEY,
      ofd_url: `http://127.0.0.1:${settings.OFD_PORT}`,
      payments_sim_url: simulatorUrl(settings),
      invitation_url: await inviteFirst(prisma, settings, place.merchantId),
      payme,
      sandbox: { gateway_url: gatewayUrl, ...sandbox, product_name: first.name.ru },
    };
  } finally {
    await prisma.$disconnect();
  }
}

function readSample(settings: DemoSettings): ClassifierEntry[] {
  const lines = readFileSync(settings.CLASSIFIER_SAMPLE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line) as ClassifierEntry);
}

async function storeClassifier(prisma: PrismaService, entries: readonly ClassifierEntry[]): Promise<void> {
  const data = entries.map((entry) => ({
    spic: entry.spic,
    name: entry.name,
    packages: entry.packages,
    units: entry.units,
    marked: entry.marked,
    cashAllowed: entry.cash_allowed,
    vatPercents: entry.vat_percents,
    active: entry.active,
    version: entry.version,
    wordKeys: wordsOf(Object.values(entry.name)).map((word) => wordKey(CLASSIFIER_SCOPE, word)),
  }));
  await new CatalogWords(prisma).add(entries.flatMap((entry) => wordsOf(Object.values(entry.name))));
  await prisma.classifierEntry.createMany({ data, skipDuplicates: true });
}

interface Place {
  merchantId: string;
  branchId: string;
  cashierId: string;
}

/** Its register is in the relay: there is no address to it. */
async function storeSandbox(
  prisma: PrismaService,
  settings: DemoSettings,
  { goods, before }: { goods: readonly ClassifierEntry[]; before: SandboxFacts | null },
): Promise<Omit<SandboxFacts, 'gateway_url' | 'product_name'>> {
  const { merchantId, branchId, cashierId } = await storeMerchant(prisma, SANDBOX);
  await storeProducts(prisma, merchantId, goods);
  const known = await prisma.device.findFirst({ where: { merchantId, deletedAt: null } });
  const id = known?.id ?? newIdOf('dev', merchantId);
  if (!known) {
    const apiKeySealed = new Uint8Array(seal('', apiKeyOwner(id), settings.SECRETS_KEY));
    const profile = { pacingMs: 0, sharing: 'exclusive', settleMs: 2_000 };
    const place = { merchantId, branchId, name: 'Emulated register', transport: 'emulated' } as const;
    await prisma.device.create({ data: { id, ...place, profile, apiKeySealed } });
    await createLane(prisma, id);
  }
  return { ...(await storeClient(prisma, settings, { merchantId, before })), device_id: id, cashier_id: cashierId };
}

async function storeMerchant(prisma: PrismaService, made: typeof DEMO | typeof SANDBOX): Promise<Place> {
  const merchant = await prisma.merchant.upsert({
    where: { code: made.code },
    update: {},
    create: {
      id: newId(made.mode === 'sandbox' ? 'mer_test' : 'mer'),
      ...made,
      tin: '300000000',
      settings: { default_goods: null },
    },
  });
  const branch = await prisma.branch.upsert({
    where: { merchantId_code: { merchantId: merchant.id, code: 'main' } },
    update: {},
    create: { id: newId('brn'), merchantId: merchant.id, code: 'main', name: 'Main shop', address: 'Toshkent shahri' },
  });
  const cashier = await prisma.cashier.upsert({
    where: { merchantId_code: { merchantId: merchant.id, code: 'cashier-1' } },
    update: {},
    create: { id: newId('csh'), merchantId: merchant.id, branchId: branch.id, code: 'cashier-1', name: 'Demo cashier' },
  });
  return { merchantId: merchant.id, branchId: branch.id, cashierId: cashier.id };
}

/** Those that are there stay as they are: a person may have changed them. */
async function storeProducts(
  prisma: PrismaService,
  merchantId: string,
  goods: readonly ClassifierEntry[],
): Promise<void> {
  const known = await prisma.product.findMany({ where: { merchantId }, select: { sku: true } });
  const products = goods.flatMap((entry, index) => {
    const { spic, name, vat_percents: vatPercents, cash_allowed: cashAllowed } = entry;
    const sku = `demo-${String(index + 1).padStart(3, '0')}`;
    if (known.some((product) => product.sku === sku)) return [];
    const input = { sku, name, spic, package_code: entry.packages[0]?.code ?? '', price: 1_000_000 };
    const checked = checkProduct(
      merchantId,
      { ...input, vat_percent: Math.max(...vatPercents) },
      { ...toGoodsEntry(entry), units: entry.units, vatPercents, cashAllowed },
    );
    return checked.kind === 'ok' ? [checked.product] : [];
  });
  await new CatalogWords(prisma).add(products.flatMap(({ words }) => words));
  await prisma.$transaction((tx) => writeProducts(tx, merchantId, products));
}

async function storeDevice(prisma: PrismaService, settings: DemoSettings, place: Place): Promise<string> {
  const known = await prisma.device.findFirst({
    where: { merchantId: place.merchantId, name: DEVICE_NAME, deletedAt: null },
  });
  const id = known?.id ?? newId('dev');
  const apiKeySealed = new Uint8Array(seal(settings.REGISTER_API_KEY, apiKeyOwner(id), settings.SECRETS_KEY));
  const address = { baseUrl: registerUrl(settings), apiKeySealed };
  if (known) {
    await prisma.device.update({ where: { id }, data: address });
    return id;
  }
  // A software module needs no pause between documents; a hardware one keeps the default of 1 s.
  const profile = { pacingMs: 0, sharing: 'exclusive' };
  const { merchantId, branchId } = place;
  await prisma.device.create({ data: { id, merchantId, branchId, name: DEVICE_NAME, profile, ...address } });
  await createLane(prisma, id);
  return id;
}

/** The secret is stored only as a hash, so the only copy is the one in demo.json; when that is gone, a new one is made. */
async function storeClient(
  prisma: PrismaService,
  settings: DemoSettings,
  {
    merchantId,
    before,
  }: { merchantId: string; before: Partial<Pick<DemoFacts, 'client_id' | 'client_secret'>> | null },
): Promise<{ client_id: string; client_secret: string }> {
  const known = await prisma.oauthClient.findFirst({ where: { merchantId, name: 'demo' } });
  if (known && before?.client_id === known.id && before.client_secret) {
    return { client_id: known.id, client_secret: before.client_secret };
  }
  const id = known?.id ?? newIdOf('cli', merchantId);
  const secret = newClientSecret(merchantId);
  const secretHash = new Uint8Array(hashClientSecret(secret, settings.SECRETS_KEY));
  const scopes = [...MERCHANT_SCOPES];
  await prisma.oauthClient.upsert({
    where: { id },
    update: { secretHash, scopes },
    create: { id, merchantId, name: 'demo', secretHash, scopes },
  });
  return { client_id: id, client_secret: secret };
}

/** While there is no user each start makes a new link, and the one before opens nothing any more. */
async function inviteFirst(prisma: PrismaService, settings: DemoSettings, merchantId: string): Promise<string | null> {
  if ((await prisma.user.count()) > 0) return null;
  const token = newInvitationToken();
  const hash = hashInvitationToken(token);
  if (!hash) throw new Error('a new token does not look like one');
  const open = { invitedBy: 'start', usedAt: null, revokedAt: null };
  await prisma.invitation.updateMany({ where: open, data: { revokedAt: new Date() } });
  await prisma.invitation.create({
    data: {
      ...{ id: newId('inv'), tokenHash: new Uint8Array(hash), email: 'admin@demo.local', merchantId },
      ...{ roles: ['owner', 'platform_administrator'], invitedBy: 'start' },
      expiresAt: new Date(Date.now() + settings.INVITATION_HOURS * 3_600_000),
    },
  });
  return `${consoleAddress(settings).url}/invitation#${token}`;
}

function readFacts(settings: DemoSettings): Partial<DemoFacts> | null {
  try {
    return JSON.parse(readFileSync(factsFile(settings), 'utf8')) as Partial<DemoFacts>;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function factsFile(settings: DemoSettings): string {
  return join(settings.DATA_DIR, 'demo.json');
}

function registerUrl(settings: DemoSettings): string {
  return `http://127.0.0.1:${settings.REGISTER_PORT}`;
}

/** One piece without VAT relief, valid for POST /receipts of the local API under every VAT rule. */
function sampleItem(entry: ClassifierEntry): Record<string, unknown> {
  const price = 112_000;
  const vatPercent = Math.max(...entry.vat_percents);
  return {
    name: entry.name.ru,
    spic: entry.spic,
    units: entry.units,
    price,
    amount: 1_000,
    vatPercent,
    vat: vatPercent === 12 ? 12_000 : 0,
    packageCode: entry.packages[0]?.code ?? '',
  };
}

runProgram(async () => {
  const settings = loadDemoSettings();
  const facts = await seed(settings);
  writeFileSync(factsFile(settings), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  const sandboxFile = join(settings.DATA_DIR, 'sandbox.json');
  writeFileSync(sandboxFile, `${JSON.stringify(facts.sandbox, null, 2)}\n`, { mode: 0o600 });
});
