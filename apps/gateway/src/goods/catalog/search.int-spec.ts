// Promise: what a person types finds the product, exact hits first, also with a slip of the hand; pages neither repeat nor skip.
import 'reflect-metadata';
import { CatalogFixture } from './testing/catalog-fixture.js';
import { slipsBetween } from './similar-words.js';
import { wordsOf } from './words.js';

let catalog: CatalogFixture;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
  await catalog.put([
    catalog.product({ sku: 'p1', name: 'Молоко пастеризованное 2,5 %', barcodes: ['4780001'] }),
    catalog.product({ sku: 'p2', name: 'Молоко' }),
    catalog.product({ sku: 'p3', name: { ru: 'Шоколад молочный', uz: 'Sutli shokolad', en: 'Milk chocolate' } }),
    catalog.product({ sku: 'p4', name: 'Сыр', aliases: ['O‘zbek pishlog‘i'], marked: true }),
    catalog.product({ sku: 'молоко', name: 'Sku wie ein Name' }),
    catalog.product({ sku: 'p6', name: 'Молоток' }),
  ]);
});

afterAll(() => catalog?.stop());

const find = async (q: string, more = ''): Promise<unknown[]> =>
  (await catalog.ask('GET', `/v1/catalog/products?q=${encodeURIComponent(q)}${more}`)).body.data.map(({ sku }) => sku);

test.each([
  // Exact first, then the word; slips only when nothing was found as typed.
  ['молоко', ['p2', 'молоко', 'p1']],
  ['молото', ['p6']],
  ['молотак', ['p6']],
  ['мол', ['p1', 'p2', 'p3', 'p6']],
  ['4780001', ['p1']],
  ['p3', ['p3']],
  ['молочный шоколад', ['p3']],
  ['шок мол', ['p3']],
  ['shokalad', ['p3']],
  ['молако пастиризованное', ['p1']],
  // A short word keeps few of its trigrams.
  ['сыыр', ['p4']],
  ['ozbek', ['p4']],
  ['o‘zbek pishlogi', ['p4']],
  ['совсем другое', []],
  ['%', []],
])('%s finds %j', async (q, skus) => {
  expect(await find(q)).toEqual(skus);
});

test('pages follow one another through the ranks', async () => {
  const all = await find('молоко');
  const paged: unknown[] = [];
  for (let cursor = ''; ;) {
    const { body } = await catalog.ask(
      'GET',
      `/v1/catalog/products?q=${encodeURIComponent('молоко')}&limit=1${cursor}`,
    );
    paged.push(...body.data.map(({ sku }) => sku));
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(paged).toEqual(all);
});

test('filters narrow; archived ones are shown when asked for; no merchant finds another’s', async () => {
  expect(await find('сыр', '&marked=true')).toEqual(['p4']);
  expect(await find('сыр', '&marked=false')).toEqual([]);
  await catalog.ask('DELETE', '/v1/catalog/products/p4');
  expect(await find('сыр')).toEqual([]);
  expect(await find('сыр', '&archived=true')).toEqual(['p4']);
  const { token } = await catalog.stranger();
  const theirs = await catalog.ask('GET', `/v1/catalog/products?q=${encodeURIComponent('молоко')}`, undefined, {
    token,
  });
  expect(theirs.body.data).toEqual([]);
});

test('slips are counted as a person makes them', () => {
  expect([
    slipsBetween('moloko', 'moloko', 2),
    slipsBetween('moloko', 'omloko', 2),
    slipsBetween('moloko', 'molko', 2),
    slipsBetween('moloko', 'molokno', 2),
    slipsBetween('moloko', 'kefir', 2),
  ]).toEqual([0, 1, 1, 1, 3]);
  expect(wordsOf(['O‘zbek, нон-2,5%', 'non'])).toEqual(['ozbek', 'hoh', '2', '5', 'non']);
});
