// Promise: a line becomes the goods that were meant or is refused with the candidates, the same in receipts as in the preview, and every instance knows a change within a second.
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics } from '#runtime';
import { GatewayModule } from '../../gateway.module.js';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { GoodsCatalog, type ProductQuery } from './goods-catalog.js';
import { BREAD, CatalogFixture, type CatalogBody } from './testing/catalog-fixture.js';

const MILK = '00401001001000003';
const logger = createLogger('gateway', 'error', { write: () => undefined });
let catalog: CatalogFixture;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
  await catalog.put([
    catalog.product({
      sku: 'bread',
      name: { ru: 'Хлеб «Сельский»', uz: 'Qishloq noni' },
      aliases: ['Буханка'],
      barcodes: ['478001', '478002'],
    }),
    catalog.product({ sku: 'milk-1', name: 'Молоко', spic: MILK, package_code: '1500005', barcodes: ['478003'] }),
    catalog.product({ sku: 'milk-2', name: 'МОЛОКО ', spic: MILK, package_code: '1500005', barcodes: ['478004'] }),
    catalog.product({
      sku: 'kefir',
      name: 'Кефир',
      aliases: ['Молоко кислое', 'Буханка кефира'],
      commission: { tin: '301234567' },
    }),
  ]);
});

afterAll(() => catalog?.stop());

type Item = CatalogBody['items'][number];

async function resolve(item: Record<string, unknown>): Promise<Item> {
  const { body } = await catalog.ask('POST', '/v1/catalog/resolve', { items: [item] });
  const [resolved] = body.items;
  if (!resolved) throw new Error(JSON.stringify(body));
  return resolved;
}

test.each([
  [{ sku: 'bread', name: 'anything' }, 'sku', 'bread'],
  [{ sku: 'not known', barcode: '478002', name: 'x' }, 'barcode', 'bread'],
  [{ barcode: '478001' }, 'barcode', 'bread'],
  [{ name: 'хлеб  «сельский»' }, 'name', 'bread'],
  // Latin X and e, other quotes.
  [{ name: 'Xлeб "Сельский"' }, 'name', 'bread'],
  [{ name: 'QISHLOQ NONI' }, 'name', 'bread'],
  [{ name: 'буханка' }, 'name', 'bread'],
  [{ sku: 'milk-2', name: 'Молоко' }, 'sku', 'milk-2'],
  [{ name: 'Молоко', spic: BREAD, package_code: '1500001' }, 'spic', null],
])('%j is found by %s', async (item, by, sku) => {
  expect(await resolve(item)).toMatchObject({ by, sku, errors: by === 'spic' ? [expect.anything()] : [] });
});

test('the same goods on several lines are no ambiguity', async () => {
  await catalog.put([
    catalog.product({ sku: 'cheese', name: { ru: 'Сыр', uz: 'сыр' }, aliases: ['СЫР'], barcodes: ['478009'] }),
  ]);
  const items = [
    { name: 'Сыр' },
    { name: 'сыр ' },
    { name: 'Сыр', barcode: '478009' },
    { name: 'x', barcode: '478009' },
  ];
  const { body } = await catalog.ask('POST', '/v1/catalog/resolve', {
    items: [...items, { sku: 'cheese' }, { sku: 'cheese' }],
  });
  expect(body.items.map(({ sku }) => sku)).toEqual(Array(6).fill('cheese'));
});

test('receipts that ask at the same moment are each answered for their own merchant and line', async () => {
  const { merchantId, token } = await catalog.stranger();
  await catalog.put([catalog.product({ sku: 'bread', name: 'Non', barcodes: ['478003'] })], token);
  const goods = catalog.gateway.app.get(GoodsCatalog, { strict: false });
  const ask = async (merchant: string, query: Partial<ProductQuery>): Promise<unknown> => {
    const [answer] = await goods.findProducts(merchant, [{ sku: null, barcode: null, name: '', ...query }]);
    return answer?.kind === 'found' ? answer.product.name : (answer?.kind ?? null);
  };
  const ours = catalog.gateway.merchantId;
  const answers = await Promise.all([
    ...[ask(ours, { sku: 'bread' }), ask(merchantId, { sku: 'bread' }), ask(ours, { barcode: '478003' })],
    ...[ask(merchantId, { barcode: '478003' }), ask(ours, { name: 'молоко' }), ask(merchantId, { name: 'молоко' })],
    ...Array.from({ length: 600 }, (_, index) => ask(merchantId, { sku: `none-${index}`, name: 'NON' })),
  ]);
  expect(answers.slice(0, 6)).toEqual(['Хлеб «Сельский»', 'Non', 'Молоко', 'Non', 'ambiguous', 'unknown']);
  expect(new Set(answers.slice(6))).toEqual(new Set(['Non']));
});

test('what fits several is refused with their names, and never falls through to a default', async () => {
  await setDefault({ spic: BREAD, package_code: '1500001', units: 796, vat_percent: 12 });
  const answer = await resolve({ name: 'молоко' });
  expect(answer).toMatchObject({ by: null, errors: [{ pointer: '/items/0/name', code: 'goods_ambiguous' }] });
  expect(answer.errors[0]?.detail).toContain('milk-1, milk-2');
  expect(await resolve({ name: 'Никогда не было' })).toMatchObject({
    by: 'default_goods',
    sku: null,
    spic: BREAD,
    errors: [],
  });
  expect(await resolve({ sku: 'nothing', barcode: '0', name: 'x' })).toMatchObject({ by: 'default_goods' });
  await setDefault(null);
  expect(await resolve({ name: 'Никогда не было' })).toMatchObject({ by: null, errors: [{ code: 'goods_unknown' }] });
  expect(await resolve({})).toMatchObject({ by: null, errors: [{ code: 'E-011' }] });
});

/** Settings are felt within a second: waits until goods that no merchant has are replaced by these. */
async function setDefault(goods: { spic: string; [field: string]: unknown } | null): Promise<void> {
  expect((await catalog.ask('PATCH', '/v1/merchant', { default_goods: goods })).status).toBe(200);
  for (const deadline = Date.now() + 30_000; ; await delay(20)) {
    const { spic } = await resolve({ name: 'Как будто есть' });
    if (spic === (goods?.spic ?? null)) return;
    if (Date.now() > deadline) throw new Error(`the default is still ${String(spic)}`);
  }
}

test('the receipt stores the line that the preview showed', async () => {
  await setDefault({ spic: MILK, package_code: '1500005', units: 778, vat_percent: 0 });
  const { deviceId } = await catalog.gateway.createDevice();
  await catalog.ask('POST', '/v1/cashiers', { code: 'till', name: 'Till' });
  const items = [
    { name: 'буханка', price: 500_000, qty: 1 },
    { name: 'кефир', price: 100_000, qty: 2 },
    { name: 'Что-то ещё', price: 100_000, qty: 1 },
  ];
  const { status, body } = await catalog.ask(
    'POST',
    '/v1/receipts',
    { items, payment: { method: 'card' }, cashier_id: 'till', device_id: deviceId },
    { headers: { prefer: 'respond-async' } },
  );
  expect([status, body.items ?? body]).toMatchObject([
    202,
    [
      { name: 'буханка', sku: 'bread', spic: BREAD, package_code: '1500001', vat_percent: 12, barcode: '478001' },
      { sku: 'kefir', commission: { tin: '301234567' } },
      { name: 'Что-то ещё', sku: null, spic: MILK, vat_percent: 0, units: 778 },
    ],
  ]);
  await setDefault(null);
});

test('another instance knows of a change within a second; a read under way does not bring the old back', async () => {
  const other = await startOther();
  try {
    const mine = catalog.gateway.app.get(GoodsCatalog, { strict: false });
    const theirs = other.get(GoodsCatalog, { strict: false });
    for (const deadline = Date.now() + 30_000; !(mine.isListening && theirs.isListening); await delay(50)) {
      if (Date.now() > deadline) throw new Error('not both of them listen');
    }
    const vat = async (goods: GoodsCatalog): Promise<number | null> => {
      const [answer] = await goods.findProducts(catalog.gateway.merchantId, [
        { sku: 'kefir', barcode: null, name: 'k' },
      ]);
      return answer?.kind === 'found' ? answer.product.vatPercent : null;
    };
    const tookMs: number[] = [];
    for (const percent of [0, 12, 0, 12]) {
      await vat(theirs);
      await catalog.ask('PATCH', '/v1/catalog/products/kefir', { vat_percent: percent });
      tookMs.push(await untilMs(async () => (await vat(theirs)) === percent && (await vat(mine)) === percent));
    }
    await catalog.ask('DELETE', '/v1/catalog/products/kefir');
    tookMs.push(await untilMs(async () => (await vat(theirs)) === null));
    // One of five: a busy machine may be late; without the notice all of them would be.
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
  } finally {
    await other.close();
  }
});

/** How long it took. */
async function untilMs(isSo: () => Promise<boolean>): Promise<number> {
  const begunAtMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - begunAtMs > 20_000) throw new Error('not within 20 s');
    await delay(5);
  }
  return performance.now() - begunAtMs;
}

async function startOther(): Promise<NestFastifyApplication> {
  const settings = testGatewaySettings(catalog.gateway.database);
  const app = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), { logger });
  await app.listen(0, '127.0.0.1');
  expect((app.getHttpServer().address() as AddressInfo).port).toBeGreaterThan(0);
  return app;
}
