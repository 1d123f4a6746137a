// Promise: whatever is lost, late, paused, killed or replaced: no receipt is lost, none is doubled, order is kept, no lane stands still for ever.
import { holdSeeds, simulate } from './testing/hold-seeds.js';

holdSeeds('first');

test('the same seed gives the same world, another seed another one', async () => {
  const [once, again, other] = [await simulate(3, 400), await simulate(3, 400), await simulate(7, 400)];
  expect(again).toEqual(once);
  expect(other.trace).not.toBe(once.trace);
});
