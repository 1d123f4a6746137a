import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { credentialsOwner, type PrismaService } from '#database';
import type { ProviderCode } from '#payments';
import { newId } from '#runtime';
import { open, seal } from '#secrets';
import type { DemoSettings } from './settings.js';

interface DemoAccount {
  values: Record<string, string>;
  credentials: Record<string, string>;
}

/** Accounts of the demo merchant at the simulated providers; the simulator learns from a file where to call. */
export async function storeProviderAccounts(
  prisma: PrismaService,
  settings: DemoSettings,
  merchantId: string,
): Promise<{ url: string; key: string; account_field: string }> {
  const simulator = simulatorUrl(settings);
  const payme = await store(prisma, settings, { merchantId, provider: 'payme' }, (known) => ({
    values: { cashbox_id: 'demo', api_url: `${simulator}/payme/api`, checkout_url: `${simulator}/payme` },
    credentials: { key: known['key'] ?? randomBytes(18).toString('hex') },
  }));
  const click = await store(prisma, settings, { merchantId, provider: 'click' }, (known) => ({
    values: {
      ...{ service_id: '12345', merchant_id: '77', merchant_user_id: '3333' },
      ...{ api_url: `${simulator}/click/v2/merchant`, checkout_url: `${simulator}/click/pay` },
    },
    credentials: { secret_key: known['secret_key'] ?? randomBytes(12).toString('hex') },
  }));
  const multicard = await store(prisma, settings, { merchantId, provider: 'multicard' }, (known) => ({
    values: { application_id: 'demo', store_id: '6', api_url: `${simulator}/multicard` },
    credentials: { secret: known['secret'] ?? randomBytes(12).toString('hex') },
  }));
  const uzum = await store(prisma, settings, { merchantId, provider: 'uzum' }, (known) => ({
    values: {
      ...{ merchant_service_id: '101202', merchant_login: 'uzum', terminal_id: '5f0b2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4' },
      ...{ fastpay_service_id: '77', fastpay_user_id: '8461', cashbox_code: 'till-1' },
      ...{ checkout_url: `${simulator}/uzum/checkout`, fastpay_url: `${simulator}/uzum/fastpay` },
      ...{ ofd_url: `${simulator}/uzum/ofd`, open_url: `${simulator}/uzum/open-service` },
    },
    credentials: Object.fromEntries(
      ['merchant_password', 'api_key', 'fastpay_secret'].map((name) => [
        name,
        known[name] ?? randomBytes(12).toString('hex'),
      ]),
    ),
  }));
  const facts = { url: payme.url, key: payme.credentials['key'] ?? '', account_field: 'order_id' };
  configureSimulator(settings, {
    payme: facts,
    click: { url: click.url, service_id: '12345', secret_key: click.credentials['secret_key'] },
    multicard: { secret: multicard.credentials['secret'], store_id: '6' },
    uzum: {
      ...{ url: uzum.url, service_id: '101202', login: 'uzum', account_param: 'order_id' },
      password: uzum.credentials['merchant_password'],
    },
  });
  return facts;
}

export function simulatorUrl(settings: DemoSettings): string {
  return `http://127.0.0.1:${settings.PAYMENTS_SIM_PORT}`;
}

function configureSimulator({ PAYMENTS_SIM_ACCOUNTS: file }: DemoSettings, accounts: unknown): void {
  if (file === undefined) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(accounts, null, 2)}\n`, { mode: 0o600 });
}

/** Addresses may change from one start to the next; the secrets stay. */
async function store(
  prisma: PrismaService,
  settings: DemoSettings,
  { merchantId, provider }: { merchantId: string; provider: ProviderCode },
  make: (known: Record<string, string>) => DemoAccount,
): Promise<DemoAccount & { url: string }> {
  const row = await prisma.providerAccount.findFirst({ where: { merchantId, provider, disabledAt: null } });
  const id = row?.id ?? newId('pac');
  const sealed = row ? open(row.credentialsSealed, credentialsOwner(id), settings.SECRETS_KEY) : '{}';
  const account = make(JSON.parse(sealed) as Record<string, string>);
  const secrets = Object.keys(account.credentials);
  const data = {
    settings: { values: account.values, sources: [], secrets },
    credentialsSealed: new Uint8Array(
      seal(JSON.stringify(account.credentials), credentialsOwner(id), settings.SECRETS_KEY),
    ),
  };
  await prisma.providerAccount.upsert({
    where: { id },
    update: data,
    create: { id, merchantId, provider, name: `Demo ${provider}`, ...data },
  });
  return { ...account, url: `${settings.PUBLIC_URL.replace(/(?<!\/)\/+$/, '')}/v1/providers/${provider}/${id}` };
}
