// Promise: rules lead to the provider that a merchant means: by sum, card, cost and order, and to one that does not answer only last.
import { costOf, rankProviders, type ProviderRule, type ProviderRules } from './provider-rules.js';

const sale = (amountTiyin: number, cardRange: string | null = null) => ({ amountTiyin, cardRange });
const rules = (prefer: ProviderRules['prefer'], ...list: ProviderRule[]): ProviderRules => ({ prefer, rules: list });
const up = (): boolean => false;

test.each<[string, ProviderRules, number, string | null, string[]]>([
  ['the order of the rules', rules('order', { provider: 'octo' }, { provider: 'payme' }), 1, null, ['octo', 'payme']],
  [
    'bounds of the sum, both included',
    rules('order', { provider: 'octo', amount_min: 5, amount_max: 9 }, { provider: 'payme', amount_min: 10 }),
    ...[9, null, ['octo']],
  ] as never,
  [
    'the card, by its first digits',
    rules('order', { provider: 'octo', card_ranges: ['4', '51'] }, { provider: 'payme' }),
    ...[1, '5123', ['octo', 'payme']],
  ] as never,
  [
    'no rule of cards for an unknown card',
    rules('order', { provider: 'octo', card_ranges: ['4'] }, { provider: 'payme' }),
    ...[1, null, ['payme']],
  ] as never,
  [
    'no rule of six digits for a card of which four are known',
    rules('order', { provider: 'octo', card_ranges: ['860049'] }),
    ...[1, '8600', []],
  ] as never,
  [
    'the cost, where it is preferred',
    rules(
      'cost',
      { provider: 'octo', cost_basis_points: 200 },
      { provider: 'payme', cost_basis_points: 100, cost_fixed: 50 },
    ),
    ...[10_000, null, ['payme', 'octo']],
  ] as never,
  [
    'a fixed cost that outweighs a small sum',
    rules(
      'cost',
      { provider: 'octo', cost_basis_points: 200 },
      { provider: 'payme', cost_basis_points: 100, cost_fixed: 50 },
    ),
    ...[1_000, null, ['octo', 'payme']],
  ] as never,
  [
    'a provider with two rules once, by the better one',
    rules(
      'cost',
      { provider: 'octo', cost_fixed: 9 },
      { provider: 'payme', cost_fixed: 5 },
      { provider: 'octo', cost_fixed: 1 },
    ),
    ...[1, null, ['octo', 'payme']],
  ] as never,
])('%s', (...[, given, tiyin, card, wanted]) => {
  expect(rankProviders(given, sale(tiyin, card), up).providers).toEqual(wanted);
});

test('one that does not answer stands behind dearer ones, and is not left out', () => {
  const given = rules('cost', { provider: 'octo', cost_fixed: 1 }, { provider: 'payme', cost_fixed: 9 });
  expect(rankProviders(given, sale(1), (provider) => provider === 'octo').providers).toEqual(['payme', 'octo']);
});

test('a reason for each that does not fit', () => {
  const { providers, unfit } = rankProviders(
    rules('order', { provider: 'octo', amount_min: 5 }, { provider: 'payme', card_ranges: ['4'] }),
    sale(4),
    up,
  );
  expect(providers).toEqual([]);
  expect([...unfit.keys()]).toEqual(['octo', 'payme']);
});

test('a cost is rounded up, and exact for the largest sum', () => {
  expect(costOf({ provider: 'octo', cost_basis_points: 1 }, 1)).toBe(1n);
  expect(costOf({ provider: 'octo', cost_basis_points: 9_999 }, 9_007_199_254_740_991)).toBe(9_006_298_534_815_517n);
});
