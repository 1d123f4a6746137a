// Promise: whatever was copied, lost and put back, and whatever people and registers did meanwhile: nothing that the database knows is
// registered twice, and nothing is called what it is not.
import 'reflect-metadata';
import { CopiedShop } from './copied-shop.js';
import { ShopWalk } from './shop-walk.js';

/** `COPIES_SEEDS=100-199` runs others, for a longer search. */
const [FIRST, LAST] = (process.env['COPIES_SEEDS'] ?? '1-5').split('-').map(Number) as [number, number];
const SEEDS = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);

let atStake = 0;

test.each(SEEDS)('seed %i', async (seed) => {
  const shop = await CopiedShop.open(seed);
  try {
    const walk = new ShopWalk(shop);
    await walk.walk();
    process.stdout.write(`seed ${seed}: ${JSON.stringify(walk.atStake)}\n`);
    atStake += walk.atStake.here + walk.atStake.elsewhere;
    expect(shop.judge.broken.join('\n')).toBe('');
  } finally {
    await shop.close();
  }
});

test('together: copies were put back of receipts that registers had by then', () => {
  expect(atStake).toBeGreaterThan(0);
});
