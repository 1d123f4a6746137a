import autocannon from 'autocannon';
import { newId } from '#runtime';
import { sql } from '../test/system/database.js';
import { GatewayClient } from '../test/system/gateway-client.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { threeItemSale } from './accept.js';
import { processorTimeOf } from './processor-time.js';
import type { Figure } from './report.js';
import { alternate, median } from './statistics.js';

const CONNECTIONS = 32;

export interface ManyOptions {
  rounds: number;
  seconds: number;
  merchants: number;
  cashiers: number;
}

interface Sale {
  body: string;
  headers: Record<string, string>;
}

interface Round {
  perSecond: number;
  p99: number;
  gatewayMs: number;
  databaseMs: number;
}

/** Accepting for ten cashiers of one merchant and for very many of many merchants, each at a device of its own, in turn. */
export async function benchAcceptMany(options: ManyOptions): Promise<Figure[]> {
  const system = await startSystem({ registers: 10, relays: 0, env: { ADDRESS_LIMIT: 'off' } });
  try {
    const few = await salesOfOne(system);
    const many = await salesOfMany(system, options);
    const run = (sales: readonly Sale[]) => (): Promise<Round> => fire(system, sales, options.seconds);
    await run(few)();
    await run(many)();
    const { a, b } = await alternate(options.rounds, run(many), run(few));
    const ratioOf = (pick: (round: Round) => number): number =>
      median(a.map((round, index) => pick(round) / pick(b[index] ?? round)));
    const names = `${options.cashiers} cashiers at as many devices of ${options.merchants} merchants`;
    return [
      {
        name: `accept: ${names} to ten: rate`,
        value: ratioOf(({ perSecond }) => perSecond),
        unit: '×',
        target: '≥ 0.8',
      },
      {
        name: 'the same: processor time of the gateway per receipt',
        value: ratioOf(({ gatewayMs }) => gatewayMs),
        unit: '×',
      },
      {
        name: 'the same: processor time of PostgreSQL per receipt',
        value: ratioOf(({ databaseMs }) => databaseMs),
        unit: '×',
      },
      { name: 'accept: many', value: median(a.map(({ perSecond }) => perSecond)), unit: 'receipts/s' },
      { name: 'accept: ten', value: median(b.map(({ perSecond }) => perSecond)), unit: 'receipts/s' },
      { name: 'accept: many, p99', value: median(a.map(({ p99 }) => p99)), unit: 'ms' },
    ];
  } finally {
    await system.stop();
  }
}

async function salesOfOne({ client, merchant }: TestSystem): Promise<Sale[]> {
  const token = await client.fetchToken();
  return merchant.tills.map((_, till) => saleOf(token, threeItemSale(client.saleOf(till), merchant.goods)));
}

async function salesOfMany(system: TestSystem, { merchants, cashiers }: ManyOptions): Promise<Sale[]> {
  const { merchant, gatewayUrls } = system;
  const made = Array.from({ length: merchants }, () => ({
    ...{ merchant: newId('mer'), client: newId('cli'), branch: newId('brn') },
  }));
  const places = Array.from({ length: cashiers }, (_, index) => ({
    ...{ merchant: made[index % merchants]?.merchant, branch: made[index % merchants]?.branch },
    ...{ device: newId('dev'), cashier: newId('csh') },
  }));
  await copyMerchant(system, made);
  await writePlaces(system, places);
  const tokens = new Map<string, string>();
  for (const { merchant: merchantId, client: clientId } of made) {
    const own = new GatewayClient(gatewayUrls, { ...merchant, merchantId, clientId });
    tokens.set(merchantId, await own.fetchToken());
  }
  return places.map(({ merchant: merchantId = '', cashier }) => {
    const sale = { payment: { method: 'cash' }, cashier_id: cashier };
    return saleOf(tokens.get(merchantId) ?? '', threeItemSale(sale, merchant.goods));
  });
}

function saleOf(token: string, sale: Record<string, unknown>): Sale {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, prefer: 'respond-async' };
  return { body: JSON.stringify(sale), headers };
}

/** The first merchant again and again: same goods, same secret. */
async function copyMerchant(
  { database, merchant }: TestSystem,
  made: readonly { merchant: string; client: string; branch: string }[],
): Promise<void> {
  const copies = JSON.stringify(made);
  const from = `json_to_recordset($1::json) AS m(merchant text, client text, branch text)`;
  await sql(
    database,
    `INSERT INTO merchants (id, code, name, tin) SELECT merchant, merchant, 'Test savdo', '300000000' FROM ${from}`,
    [copies],
  );
  await sql(
    database,
    `INSERT INTO branches (id, merchant_id, code, name) SELECT branch, merchant, 'main', 'Main' FROM ${from}`,
    [copies],
  );
  await sql(
    database,
    `INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
     SELECT m.merchant, p.sku, p.name, p.name_key, p.spic, p.package_code, p.units, p.vat_percent
       FROM ${from}, products p WHERE p.merchant_id = $2`,
    [copies, merchant.merchantId],
  );
  await sql(
    database,
    `INSERT INTO oauth_clients (id, merchant_id, name, secret_hash, scopes)
     SELECT m.client, m.merchant, c.name, c.secret_hash, c.scopes FROM ${from}, oauth_clients c WHERE c.id = $2`,
    [copies, merchant.clientId],
  );
}

async function writePlaces({ database }: TestSystem, places: readonly Record<string, unknown>[]): Promise<void> {
  const from = 'json_to_recordset($1::json) AS p(merchant text, branch text, device text, cashier text)';
  const values = [JSON.stringify(places)];
  await sql(
    database,
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, profile)
     SELECT device, merchant, branch, device, 'http://127.0.0.1:1', '', '{"sharing": "exclusive"}' FROM ${from}`,
    values,
  );
  await sql(database, `INSERT INTO lanes (device_id) SELECT device FROM ${from}`, values);
  await sql(
    database,
    `INSERT INTO cashiers (id, merchant_id, branch_id, code, name, default_device_id)
     SELECT cashier, merchant, branch, cashier, 'C', device FROM ${from}`,
    values,
  );
  await sql(database, 'VACUUM ANALYZE devices, cashiers, products');
}

async function fire(system: TestSystem, sales: readonly Sale[], seconds: number): Promise<Round> {
  let turn = 0;
  const load = {
    ...{ url: `${system.gatewayUrls[0]}/v1/receipts`, connections: CONNECTIONS, duration: seconds },
    requests: [
      {
        method: 'POST' as const,
        setupRequest: (request: autocannon.Request) => {
          turn += 1;
          return { ...request, ...sales[turn % sales.length] };
        },
      },
    ],
  };
  const { result, spent } = await processorTimeOf(system, async () => autocannon(load));
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`);
  const { total } = result.requests;
  return {
    perSecond: result.requests.average,
    p99: result.latency.p99,
    gatewayMs: (1_000 * spent.gateway) / total,
    databaseMs: (1_000 * spent.PostgreSQL) / total,
  };
}
