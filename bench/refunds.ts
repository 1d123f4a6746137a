import pg from 'pg';
import type { TestSystem } from '../test/system/system.js';
import { timeOf, type Caller } from './calls.js';
import type { Figure } from './report.js';
import { median, percentile } from './statistics.js';

const TERMINAL = 'UZ000000000077';
const WARM_UP = 50;

/**
 * What accepting a refund costs beside accepting a sale: one of each in turn, so that whatever slows the machine slows both.
 * Neither side waits for a register.
 */
export async function benchRefunds(system: TestSystem, caller: Caller, requests: number): Promise<Figure[]> {
  const saleIds = await sell(system, requests + WARM_UP);
  const body = JSON.stringify(system.client.saleOf(0));
  const [sales, refunds]: [number[], number[]] = [[], []];
  for (const [index, saleId] of saleIds.entries()) {
    const sale = await timeOf(caller, '/v1/receipts', post(`sale-${index}`, body));
    const refund = await timeOf(caller, `/v1/receipts/${saleId}/refunds`, post(`refund-${index}`, '{}'));
    if (index < WARM_UP) continue;
    sales.push(sale);
    refunds.push(refund);
  }
  const added = refunds.map((refund, index) => refund - (sales[index] ?? 0));
  return [
    { name: 'refunds: p50 that a refund adds to a sale', value: median(added), unit: 'ms', target: '≤ 5' },
    { name: 'refunds: p50 of a refund to that of a sale', value: median(refunds) / median(sales), unit: '×' },
    { name: 'refunds: sale p50', value: median(sales), unit: 'ms' },
    { name: 'refunds: refund p50', value: median(refunds), unit: 'ms' },
    { name: 'refunds: refund p99', value: percentile(refunds, 99), unit: 'ms' },
  ];
}

function post(key: string, body: string): RequestInit {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async', 'idempotency-key': `bench-${key}` };
  return { method: 'POST', body, headers };
}

/** Sales as a relay would leave them: registered by the module of the one till there is. */
async function sell(system: TestSystem, count: number): Promise<string[]> {
  const { body } = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'respond-async' });
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  try {
    await client.query('UPDATE devices SET terminal_id = $1 WHERE id = $2', [TERMINAL, body.device_id]);
    const { rows } = await client.query<{ id: string }>(REGISTERED_COPIES, [body.id, count, TERMINAL]);
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

const REGISTERED_COPIES = `
  INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                        cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, fiscal_sign,
                        verification_url, registered_at, evidence)
  SELECT left(r.id, 20) || lpad(n::text, 10, '0'), r.merchant_id, r.client_id, r.operation, r.body_hash, r.type, 'registered',
         nextval('lane_place_seq'), r.device_id, r.branch_id, r.cashier_id, r.document, r.total_tiyin, r.vat_total_tiyin, $3::text, n,
         '012345678901', 'https://ofd.soliq.uz/check?t=' || $3::text || '&r=' || n || '&c=20260102080405&s=012345678901', now(), 'answer'
    FROM receipts r, generate_series(1, $2::int) AS n WHERE r.id = $1
  RETURNING id`;
