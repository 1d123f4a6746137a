import { GatewayClient } from '../test/system/gateway-client.js';
import type { TestMerchant } from '../test/system/merchant.js';
import type { TestSystem } from '../test/system/system.js';
import { fire, threeItemSale } from './accept.js';
import { nameOf, productOf, skuOf } from './catalog-goods.js';
import { processorMs } from './memory.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

const SCOPES = ['receipts:write', 'receipts:read', 'catalog:write'];
/** Goods that a till sells over and over: as many in both catalogues. */
const SHELF = 30;
const BODIES = 2_000;

/** The lines of a sale: which goods, and by what they are named. */
type Line = (number: number) => Record<string, unknown>;
const byName: Line = (number) => ({ name: nameOf(number) });
const bySku: Line = (number) => ({ sku: skuOf(number), name: 'по коду' });

/** One turn of one load. */
interface Turn {
  perSecond: number;
  /** Processor time of the gateway per receipt. */
  costMs: number;
}

const LOADS = [
  'small, name',
  'large, name',
  'small, sku',
  'large, sku',
  'small, sku again',
  'any, name',
  'any, sku',
] as const;
type Load = (typeof LOADS)[number];

/**
 * Accepting (figure (a)) for a merchant with a million products beside one with thirty on the same gateway: the catalogue's
 * size must not be felt. Short turns, and each round the other way round, so that neighbours meet the same machine; what one
 * load gives against itself says what all these ratios are worth.
 */
export async function benchAcceptBeside(
  system: TestSystem,
  { products, rounds, seconds }: { products: number; rounds: number; seconds: number },
): Promise<Figure[]> {
  const small = await system.addMerchant({ registerUrls: system.registerUrls, scopes: SCOPES });
  await fillShelf(system, small);
  const shelf = (): number => Math.floor(Math.random() * SHELF);
  const anywhere = (): number => Math.floor(Math.random() * products);
  const loadOf = async (name: Load): Promise<() => Promise<Turn>> => {
    const [whose, by] = name.split(', ');
    const merchant = whose === 'small' ? small : system.merchant;
    const line = by === 'name' ? byName : bySku;
    return newLoad(system, merchant, { line, pick: whose === 'any' ? anywhere : shelf, seconds });
  };
  const runs = new Map<Load, () => Promise<Turn>>();
  for (const name of LOADS) runs.set(name, await loadOf(name));
  const turns = new Map<Load, Turn[]>(LOADS.map((name) => [name, []]));
  for (const run of runs.values()) await run();
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? LOADS : LOADS.toReversed()) {
      const turn = await runs.get(name)?.();
      if (turn) turns.get(name)?.push(turn);
    }
  }
  return figuresOf(turns, products);
}

function figuresOf(turns: ReadonlyMap<Load, readonly Turn[]>, products: number): Figure[] {
  const of = (load: Load, field: keyof Turn): number[] => (turns.get(load) ?? []).map((turn) => turn[field]);
  const compare = (name: string, [load, to]: readonly [Load, Load], target?: string): Figure[] =>
    (['perSecond', 'costMs'] as const).map((field) => {
      const base = of(to, field);
      const ratios = of(load, field).map((value, round) => value / (base[round] ?? Number.NaN));
      return {
        name: `accept: ${name}${field === 'perSecond' ? '' : ', processor time of the gateway'}`,
        value: median(ratios),
        spread: [percentile(ratios, 25), percentile(ratios, 75)],
        unit: '×',
        ...(field === 'perSecond' && target !== undefined && { target }),
      };
    });
  const sizes = `${products} products to ${SHELF}`;
  return [
    ...compare(`${SHELF} products by sku to the same once more`, ['small, sku again', 'small, sku'], '1.00'),
    ...compare(`${sizes}, lines by name`, ['large, name', 'small, name'], '≥ 0.95'),
    ...compare(`${sizes}, lines by sku`, ['large, sku', 'small, sku'], '≥ 0.95'),
    ...compare('the same, every line another product, by name', ['any, name', 'small, name']),
    ...compare('the same, every line another product, by sku', ['any, sku', 'small, sku']),
    {
      name: `accept: ${SHELF} products, lines by name`,
      value: median(of('small, name', 'perSecond')),
      unit: 'receipts/s',
    },
  ];
}

async function fillShelf(system: TestSystem, merchant: TestMerchant): Promise<void> {
  const client = new GatewayClient(system.gatewayUrls, merchant);
  const response = await fetch(`${system.gatewayUrls[0]}/v1/catalog/products`, {
    method: 'PUT',
    headers: { authorization: await client.authorization(), 'content-type': 'application/json' },
    body: JSON.stringify({ products: Array.from({ length: SHELF }, (_, number) => productOf(number)) }),
  });
  const { summary } = (await response.json()) as { summary: { created: number } };
  if (summary.created !== SHELF) throw new Error(`the shelf: ${JSON.stringify(summary)}`);
}

async function newLoad(
  system: TestSystem,
  merchant: TestMerchant,
  { line, pick, seconds }: { line: Line; pick: () => number; seconds: number },
): Promise<() => Promise<Turn>> {
  const client = new GatewayClient(system.gatewayUrls, merchant);
  const headers = {
    'content-type': 'application/json',
    authorization: await client.authorization(),
    prefer: 'respond-async',
  };
  const bodies = Array.from({ length: BODIES }, () => {
    const items = [1, 2, 3].map((qty) => ({ ...line(pick()), price: 112_000, qty }));
    return JSON.stringify({ ...threeItemSale(client.saleOf(0), []), items });
  });
  const url = `${system.gatewayUrls[0]}/v1/receipts`;
  const usedMs = (): number => processorMs(system.gateways[0]?.pid ?? 0) ?? Number.NaN;
  return async () => {
    const beforeMs = usedMs();
    const { perSecond, requests } = await fire({ url, bodies, headers, seconds });
    return { perSecond, costMs: (usedMs() - beforeMs) / requests };
  };
}
