import { GatewayClient } from '../test/system/gateway-client.js';
import type { TestMerchant } from '../test/system/merchant.js';
import type { TestSystem } from '../test/system/system.js';
import { fire, threeItemSale } from './accept.js';
import { nameOf, productOf, skuOf } from './catalog-goods.js';
import type { Figure } from './report.js';
import { median } from './statistics.js';

const SCOPES = ['receipts:write', 'receipts:read', 'catalog:write'];
/** Goods that a till sells over and over: as many in both catalogues. */
const SHELF = 30;
const BODIES = 2_000;

/** The lines of a sale: which goods, and by what they are named. */
type Line = (number: number) => Record<string, unknown>;
const byName: Line = (number) => ({ name: nameOf(number) });
const bySku: Line = (number) => ({ sku: skuOf(number), name: 'по коду' });

/**
 * Accepting (figure (a)) for a merchant with a million products beside one with thirty on the same gateway, turn by turn:
 * the catalogue's size must not be felt.
 */
export async function benchAcceptBeside(
  system: TestSystem,
  { products, rounds, seconds }: { products: number; rounds: number; seconds: number },
): Promise<Figure[]> {
  const small = await system.addMerchant({ registerUrls: system.registerUrls, scopes: SCOPES });
  await fillShelf(system, small);
  const shelf = (): number => Math.floor(Math.random() * SHELF);
  const anywhere = (): number => Math.floor(Math.random() * products);
  const runs = [
    await loadOf(system, small, { line: byName, pick: shelf, seconds }),
    await loadOf(system, system.merchant, { line: byName, pick: shelf, seconds }),
    await loadOf(system, small, { line: bySku, pick: shelf, seconds }),
    await loadOf(system, system.merchant, { line: bySku, pick: shelf, seconds }),
    await loadOf(system, system.merchant, { line: byName, pick: anywhere, seconds }),
    await loadOf(system, system.merchant, { line: bySku, pick: anywhere, seconds }),
  ];
  const rates: number[][] = runs.map(() => []);
  for (const run of runs) await run();
  for (let round = 0; round < rounds; round += 1)
    for (const [index, run] of runs.entries()) rates[index]?.push(await run());
  const ratio = (of: number, to: number): number =>
    median((rates[of] ?? []).map((rate, round) => rate / (rates[to]?.[round] ?? Number.NaN)));
  const million = `${products} products to ${SHELF}`;
  return [
    { name: `accept: ${million}, lines by name`, value: ratio(1, 0), unit: '×', target: '≥ 0.95' },
    { name: `accept: ${million}, lines by sku`, value: ratio(3, 2), unit: '×', target: '≥ 0.95' },
    { name: 'accept: the same, every line another product, by name', value: ratio(4, 0), unit: '×' },
    { name: 'accept: the same, every line another product, by sku', value: ratio(5, 2), unit: '×' },
    { name: `accept: ${SHELF} products, lines by name`, value: median(rates[0] ?? []), unit: 'receipts/s' },
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

async function loadOf(
  system: TestSystem,
  merchant: TestMerchant,
  { line, pick, seconds }: { line: Line; pick: () => number; seconds: number },
): Promise<() => Promise<number>> {
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
  return async () => (await fire({ url, bodies, headers, seconds })).perSecond;
}
