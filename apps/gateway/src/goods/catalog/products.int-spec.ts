// Promise: products are stored as given or refused with a reason, each for itself; no change is lost; no merchant sees another's.
import 'reflect-metadata';
import { BREAD, CatalogFixture, sampleEntries } from './testing/catalog-fixture.js';

let catalog: CatalogFixture;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
});

afterAll(() => catalog?.stop());

beforeEach(async () => {
  await catalog.gateway.prisma.$executeRaw`DELETE FROM product_keys`;
  await catalog.gateway.prisma.$executeRaw`DELETE FROM products`;
});

const resultsOf = async (products: unknown[]): Promise<string[]> =>
  (await catalog.put(products)).body.results.map(({ result }) => result);

test('a batch is taken product by product; a fault is reported with its place', async () => {
  const inactive = sampleEntries().find((entry) => !entry.active)?.spic ?? '';
  const { status, body } = await catalog.put([
    catalog.product({ sku: 'a', name: { ru: 'Хлеб', uz: 'Non', en: 'Bread' }, aliases: ['Буханка'], price: 500_000 }),
    catalog.product({ sku: 'a', name: 'Again' }),
    catalog.product({ sku: 'b', spic: '123456789012345678' }),
    catalog.product({ sku: 'c', spic: '99999999999999999' }),
    catalog.product({ sku: 'd', package_code: '1' }),
    catalog.product({ sku: 'e', package_code: undefined }),
    catalog.product({ sku: 'f', spic: inactive, package_code: undefined, units: undefined }),
    catalog.product({ sku: 'g', color: 'red', price: -1 }),
    catalog.product({ sku: 'h', name: 'x\u0000' }),
    catalog.product({ sku: 'i', marked: true, units: 166 }),
    'not an object',
    catalog.product({ sku: 'j', commission: { tin: '123456789', pinfl: '12345678901234' } }),
  ]);
  expect(status).toBe(200);
  const reported = body.results.map(({ sku, result, errors, warnings }) => [
    ...[sku, result, errors.map(({ pointer, code }) => `${pointer} ${code}`), warnings.map(({ pointer }) => pointer)],
  ]);
  expect(reported).toEqual([
    ['a', 'created', [], []],
    ['a', 'rejected', ['/sku duplicate'], []],
    ['b', 'rejected', ['/spic invalid_format'], []],
    ['c', 'rejected', ['/spic E-013'], []],
    ['d', 'rejected', ['/package_code E-014'], []],
    ['e', 'rejected', ['/package_code required'], []],
    ['f', 'rejected', expect.arrayContaining(['/spic E-013']), []],
    ['g', 'rejected', expect.arrayContaining(['/color unknown_field', '/price out_of_range']), []],
    ['h', 'rejected', ['/name invalid_text'], []],
    ['i', 'created', [], ['/marked', '/units']],
    [null, 'rejected', [' invalid_type'], []],
    ['j', 'rejected', ['/commission invalid_value'], []],
  ]);
  expect(body['summary']).toEqual({ created: 2, updated: 0, unchanged: 0, rejected: 10 });
  const shown = await catalog.ask('GET', '/v1/catalog/products/a');
  expect(shown.body).toMatchObject({
    name: { ru: 'Хлеб', uz: 'Non', en: 'Bread' },
    ...{ aliases: ['Буханка'], price: 500_000, units: 796, vat_percent: 12, archived_at: null },
    etag: body.results[0]?.etag,
  });
  expect(shown.headers.get('etag')).toBe(body.results[0]?.etag);
});

test('a product is stored as it was sent, whatever its attributes are called, and costs no other', async () => {
  const attributes = { valueOf: '12', constructor: 'lego', a: 'b' };
  const products = [
    catalog.product({ sku: 'a', attributes }),
    catalog.product({ sku: 'b', commission: { constructor: 'lego' } }),
    catalog.product({ sku: 'c' }),
  ];
  expect(await resultsOf(products)).toEqual(['created', 'rejected', 'created']);
  expect((await catalog.ask('GET', '/v1/catalog/products/a')).body).toMatchObject({ attributes });
});

test('writing the same again changes nothing, not even the trail; archived ones come back', async () => {
  const product = catalog.product({ barcodes: ['4780001', '4780002'], attributes: { shelf: '7' } });
  expect(await resultsOf([product])).toEqual(['created']);
  const trail = (): Promise<unknown[]> => catalog.gateway.audited(catalog.gateway.merchantId);
  const before = (await trail()).length;
  expect(await resultsOf([product])).toEqual(['unchanged']);
  expect((await trail()).length).toBe(before);
  expect(await resultsOf([{ ...product, price: 1 }])).toEqual(['updated']);
  expect((await catalog.ask('DELETE', '/v1/catalog/products/bread')).body['archived_at']).toEqual(expect.any(String));
  expect((await catalog.ask('PATCH', '/v1/catalog/products/bread', { price: 2 })).body.code).toBe('archived');
  expect(await resultsOf([{ ...product, price: 1 }])).toEqual(['updated']);
  expect((await catalog.gateway.audited('bread')).map(({ action }) => action)).toEqual(['product.archive']);
});

test('a change says what it has read, and is refused when that is old', async () => {
  const { results } = (await catalog.put([catalog.product({ sku: 'полка/1' })])).body;
  const path = `/v1/catalog/products/${encodeURIComponent('полка/1')}`;
  const ifMatch = (etag: string | null | undefined) => ({ headers: { 'if-match': etag ?? '' } });
  const changed = await catalog.ask('PATCH', path, { price: 7, name: { uz: 'Non' } }, ifMatch(results[0]?.etag));
  expect(changed).toMatchObject({ status: 200, body: { price: 7, name: { ru: 'Хлеб', uz: 'Non' } } });
  const late = await catalog.ask('PATCH', path, { price: 8 }, ifMatch(results[0]?.etag));
  expect(late).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
  expect((await catalog.ask('DELETE', path, undefined, ifMatch(results[0]?.etag))).status).toBe(412);
  expect((await catalog.ask('PATCH', path, { price: null }, ifMatch('*'))).body['price']).toBeNull();
  const bad = await catalog.ask('PATCH', path, { package_code: '1', nothing: 1 });
  expect(bad).toMatchObject({ status: 422, body: { errors: [{ pointer: '/nothing', code: 'unknown_field' }] } });
  expect((await catalog.ask('PATCH', path, { sku: 'other' })).body.errors[0]?.pointer).toBe('/sku');
  expect((await catalog.ask('PATCH', path, [])).status).toBe(422);
});

test('twenty changes at once without If-Match: all of them are in it', async () => {
  await catalog.put([catalog.product()]);
  const fields = Array.from({ length: 20 }, (_, index) => `field${index}`);
  for (let round = 0; round < 10; round += 1) {
    const { body } = await catalog.ask('GET', '/v1/catalog/products/bread');
    const missing = fields.filter((field) => !(field in (body['attributes'] as object)));
    if (missing.length === 0) break;
    const answers = await Promise.all(
      missing.map((field) => catalog.ask('PATCH', '/v1/catalog/products/bread', { attributes: { [field]: 'x' } })),
    );
    // A request that got no turn is answered 503.
    expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    const { body: after } = await catalog.ask('GET', '/v1/catalog/products/bread');
    const written = missing.filter((_, index) => answers[index]?.status === 200);
    expect(written.filter((field) => !(field in (after['attributes'] as object)))).toEqual([]);
  }
  const { body } = await catalog.ask('GET', '/v1/catalog/products/bread');
  expect(Object.keys(body['attributes'] as object).sort()).toEqual([...fields].sort());
});

test('another merchant has its own bread and does not see ours; scopes are kept', async () => {
  await catalog.put([catalog.product()]);
  const { token } = await catalog.stranger();
  for (const [method, path] of [
    ['GET', '/v1/catalog/products/bread'],
    ['PATCH', '/v1/catalog/products/bread'],
    ['DELETE', '/v1/catalog/products/bread'],
  ] as const) {
    const body = method === 'PATCH' ? { price: 1 } : undefined;
    expect((await catalog.ask(method, path, body, { token })).body.code).toBe('not_found');
  }
  expect((await catalog.ask('GET', '/v1/catalog/products', undefined, { token })).body.data).toEqual([]);
  expect((await catalog.put([catalog.product({ name: 'Their bread' })], token)).body.results[0]?.result).toBe(
    'created',
  );
  expect((await catalog.ask('GET', '/v1/catalog/products/bread')).body['name']).toEqual({ ru: 'Хлеб' });
  const reader = await catalog.gateway.createToken(catalog.gateway.merchantId, ['catalog:read']);
  expect((await catalog.put([catalog.product()], reader)).status).toBe(403);
  expect((await catalog.ask('GET', '/v1/catalog/products/no%00thing')).status).toBe(404);
});

test.each([
  [{}, '/products'],
  [{ products: [] }, '/products'],
  [{ products: 'x' }, '/products'],
  // No list may be longer, whatever the route: refused before any field is read.
  [{ products: Array.from({ length: 1_001 }, () => ({})) }, '/products'],
])('a body that is no batch is refused as a whole (%#)', async (body, pointer) => {
  const answer = await catalog.ask('PUT', '/v1/catalog/products', body);
  expect([answer.status, answer.body.errors[0]?.pointer]).toEqual([422, pointer]);
});

test('a batch may be larger than other bodies, and not larger than four megabytes', async () => {
  const products = Array.from({ length: 1_000 }, (_, index) =>
    catalog.product({ sku: `p${index}`, aliases: ['ж'.repeat(200)] }),
  );
  const { status, body } = await catalog.put(products);
  expect([status, body['summary']]).toMatchObject([200, { created: 1_000 }]);
  const large = products.map((product) => ({
    ...product,
    attributes: { text: 'я'.repeat(512), more: 'я'.repeat(512), and: 'я'.repeat(512) },
  }));
  const refused = await catalog.put(
    [...large, ...large.slice(0, 1)].map((each) => ({ ...each, pad: 'x'.repeat(2_000) })),
  );
  expect(refused.status).toBe(413);
  const { body: page } = await catalog.ask('GET', '/v1/catalog/products?limit=100');
  expect(page.data).toHaveLength(100);
  const { body: next } = await catalog.ask('GET', `/v1/catalog/products?limit=100&cursor=${page.next_cursor}`);
  const skus = [...page.data, ...next.data].map(({ sku }) => sku);
  expect(new Set(skus).size).toBe(200);
  expect((await catalog.ask('GET', `/v1/catalog/products?spic=${BREAD}&limit=1`)).body.data).toHaveLength(1);
  expect((await catalog.ask('GET', '/v1/catalog/products?cursor=e30')).status).toBe(422);
});
