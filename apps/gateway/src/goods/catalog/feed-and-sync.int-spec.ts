// Promise: who follows the feed has the catalogue, whatever is written at the same time; a synchronisation is all or nothing.
import 'reflect-metadata';
import fc from 'fast-check';
import pg from 'pg';
import type { ProductView } from './product-view.js';
import { CatalogFixture } from './testing/catalog-fixture.js';

let catalog: CatalogFixture;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
});

afterAll(() => catalog?.stop());

/** What the catalogue itself says is live. */
async function live(): Promise<Map<string, ProductView>> {
  const found = new Map<string, ProductView>();
  for (let cursor = ''; ;) {
    const { body } = await catalog.ask('GET', `/v1/catalog/products?limit=100${cursor}`);
    for (const product of body.data as unknown as ProductView[]) found.set(product.sku, product);
    if (body.next_cursor === null) return found;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

async function sync(pages: unknown[][]): Promise<Record<string, number>> {
  const { body } = await catalog.ask('POST', '/v1/catalog/syncs');
  for (const products of pages) await catalog.ask('PUT', `/v1/catalog/syncs/${body.id}/products`, { products });
  const committed = await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/commit`);
  expect(committed).toMatchObject({ status: 200, body: { state: 'committed' } });
  return committed.body.result;
}

const SKUS = ['a', 'b', 'c', 'd', 'e', 'f'];
const bread = (sku: string, price: number): Record<string, unknown> =>
  catalog.product({ sku, price, aliases: [`alias of ${sku}`], barcodes: [`1${sku}`, `2${sku}`] });

test('a synchronisation archives what it did not see, keeps what it refused, and changes nothing before its commit', async () => {
  await catalog.put(SKUS.map((sku) => bread(sku, 1)));
  const before = await live();
  const copy = new Map<string, ProductView>();
  const { cursor } = await catalog.followAll(copy, null);
  expect(copy).toEqual(before);
  const { body } = await catalog.ask('POST', '/v1/catalog/syncs');
  const path = `/v1/catalog/syncs/${body.id}`;
  const page = await catalog.ask('PUT', `${path}/products`, {
    products: [bread('a', 1), bread('b', 2), { ...bread('c', 3), spic: '1' }, bread('new', 1)],
  });
  expect(page.body.results.map(({ result }) => result)).toEqual(['kept', 'kept', 'rejected', 'kept']);
  expect(await live()).toEqual(before);
  expect((await catalog.followAll(copy, cursor)).seen).toEqual([]);
  const done = await catalog.ask('POST', `${path}/commit`);
  expect(done.body).toMatchObject({
    state: 'committed',
    result: { created: 1, updated: 1, unchanged: 1, archived: 3 },
  });
  const after = await live();
  expect([...after.keys()].sort()).toEqual(['a', 'b', 'c', 'new']);
  const { seen } = await catalog.followAll(copy, cursor);
  expect(copy).toEqual(after);
  expect(
    seen
      .filter(({ deleted }) => deleted)
      .map(({ sku }) => sku)
      .sort(),
  ).toEqual(['d', 'e', 'f']);
  expect(seen.map(({ sku }) => sku)).not.toContain('a');
  for (const call of ['products', 'commit', 'abort']) {
    const again = await catalog.ask(
      call === 'products' ? 'PUT' : 'POST',
      `${path}/${call}`,
      call === 'products' ? { products: [bread('z', 1)] } : undefined,
    );
    expect([call, again.status, again.body.state ?? again.body.code]).toEqual(
      call === 'commit' ? [call, 200, 'committed'] : [call, 409, 'sync_closed'],
    );
  }
});

test('an aborted synchronisation has changed nothing; another merchant cannot touch it', async () => {
  await catalog.put([bread('a', 1)]);
  const before = await live();
  const { body } = await catalog.ask('POST', '/v1/catalog/syncs');
  const { token } = await catalog.stranger();
  expect((await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/commit`, undefined, { token })).status).toBe(404);
  await catalog.ask('PUT', `/v1/catalog/syncs/${body.id}/products`, { products: [bread('other', 1)] });
  expect((await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/abort`)).body.state).toBe('aborted');
  expect((await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/abort`)).body.state).toBe('aborted');
  expect((await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/commit`)).body.code).toBe('sync_closed');
  expect(await live()).toEqual(before);
  expect((await catalog.ask('GET', '/v1/catalog/syncs/syn_nothing')).status).toBe(404);
});

test('what others changed since a synchronisation began is newer than what it saw, and stays', async () => {
  await catalog.put([bread('old', 1)]);
  const { body } = await catalog.ask('POST', '/v1/catalog/syncs');
  await catalog.put([bread('meanwhile', 1)]);
  await catalog.ask('POST', `/v1/catalog/syncs/${body.id}/commit`);
  const after = await live();
  expect([after.has('old'), after.has('meanwhile')]).toEqual([false, true]);
});

test('a change that commits late is not skipped by a reader who came between', async () => {
  await sync([]);
  const copy = new Map<string, ProductView>();
  await catalog.put([bread('late', 1), bread('early', 1)]);
  let { cursor } = await catalog.followAll(copy, null);
  const client = new pg.Client({ connectionString: catalog.gateway.database.url });
  await client.connect();
  // A writer that has drawn its place and does not commit yet.
  await client.query('BEGIN');
  await client.query(
    `UPDATE products SET price_tiyin = 99, change_transaction = pg_current_xact_id(),
            change_position = nextval('products_change_position_seq') WHERE sku = 'late'`,
  );
  await catalog.put([bread('early', 2)]);
  ({ cursor } = await catalog.follow(copy, cursor));
  await client.query('COMMIT');
  await client.end();
  await catalog.followAll(copy, cursor);
  expect([copy.get('late')?.price, copy.get('early')?.price]).toEqual([99, 2]);
});

type Step =
  | { kind: 'put'; skus: string[]; price: number }
  | { kind: 'delete'; sku: string }
  | { kind: 'sync'; pages: string[][]; price: number }
  | { kind: 'read'; limit: number };

const skus = fc.uniqueArray(fc.constantFrom(...SKUS), { minLength: 1, maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), skus, price: fc.nat(3) }),
  fc.record({ kind: fc.constant('delete' as const), sku: fc.constantFrom(...SKUS) }),
  fc.record({ kind: fc.constant('sync' as const), pages: fc.array(skus, { maxLength: 3 }), price: fc.nat(3) }),
  fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 4 }) }),
);

test('any interleaving of writers and a reader: the reader’s copy equals the catalogue', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      async (rounds) => {
        const copy = new Map<string, ProductView>();
        let cursor: string | null = null;
        for (const steps of rounds) {
          // All steps of a round at once.
          const reads = steps.filter((each) => each.kind === 'read');
          const writes = steps.filter((each) => each.kind !== 'read');
          const reading = async (): Promise<void> => {
            for (const { limit } of reads) ({ cursor } = await catalog.follow(copy, cursor, limit));
          };
          await Promise.all([reading(), ...writes.map(write)]);
        }
        await catalog.followAll(copy, cursor);
        expect(copy).toEqual(await live());
      },
    ),
    { numRuns: 15 },
  );
});

async function write(each: Step): Promise<void> {
  if (each.kind === 'put') await catalog.put(each.skus.map((sku) => bread(sku, each.price)));
  if (each.kind === 'delete') await catalog.ask('DELETE', `/v1/catalog/products/${each.sku}`);
  if (each.kind === 'sync') await sync(each.pages.map((page) => page.map((sku) => bread(sku, each.price))));
}
