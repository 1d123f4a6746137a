// Promise: where one endpoint has all deliveries, a page of them reads little more than it shows, whatever their state is and however many wait.
import type pg from 'pg';
import { createTestDatabase, planOf, superuserOf, type TestDatabase } from '#database/testing';
import { deliverySearch, WALKED, type FoundDeliveries } from './delivery-search.js';
import type { DeliveriesQuery } from './webhook-bodies.js';

const DELIVERIES = 30_000;
const PARTS = 4;
const PAGE = 100;
/** By the state of each: `waiting` of them, from the oldest on or from the newest. */
const CASES: readonly [string, { waiting: number; isOldest: boolean }][] = [
  ['a few old ones wait', { waiting: 10, isOldest: true }],
  ['just as many wait as are read at once', { waiting: 1_000, isOldest: true }],
  ['half of them wait, for an endpoint that has been silent since', { waiting: 15_000, isOldest: false }],
];
/** What is read to see that few wait, a page of them, and the first of each part. */
const MOST = 1_001 + PAGE + PARTS;
let database: TestDatabase;
let client: pg.Client;

const idOf = (n: number): string => `dlv_01kz${String(n).padStart(22, '0')}`;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  const { rows } = await client.query<{ name: string }>(`SELECT name FROM partitions_of('webhook_deliveries')`);
  for (const { name } of rows) await client.query(`DROP TABLE parts.${name}`);
  const bound = (part: number): string => `'${idOf((part * DELIVERIES) / PARTS)}'`;
  for (let part = 0; part < PARTS; part += 1) {
    const [from, to] = [part === 0 ? 'MINVALUE' : bound(part), part === PARTS - 1 ? 'MAXVALUE' : bound(part + 1)];
    const name = `webhook_deliveries_part_${String(part)}`;
    await client.query('SELECT create_partition($1, $2, $3)', [
      'webhook_deliveries',
      name,
      `FROM (${from}) TO (${to})`,
    ]);
  }
  await client.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
    INSERT INTO webhook_endpoints (id, merchant_id, url, events) VALUES ('whk_1', 'mer_1', 'https://a.example', '{*}')`);
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

async function fill({ waiting, isOldest }: { waiting: number; isOldest: boolean }): Promise<void> {
  await client.query('RESET ROLE; TRUNCATE webhook_deliveries');
  await client.query(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, finished_at)
     SELECT 'dlv_01kz' || lpad(n::text, 22, '0'), 'mer_1', 'whk_1', n, 'evt_' || n, 'receipt.accepted', 'rcp_' || n / 2, 'https://a.example',
            (CASE WHEN CASE WHEN $2 THEN n ELSE $1 - n + 1 END <= $3 THEN 'pending' WHEN n % 2000 = 0 THEN 'failed' ELSE 'delivered' END)::delivery_state,
            now()
       FROM generate_series(1, $1::int4) AS n`,
    [DELIVERIES, isOldest, waiting],
  );
  await client.query('VACUUM ANALYZE webhook_deliveries');
}

const PAGES: Readonly<Record<string, { query: DeliveriesQuery; afterId?: string }>> = {
  all: { query: {} },
  'that wait': { query: { state: 'pending' } },
  'that wait, behind one': { query: { state: 'pending' }, afterId: idOf(8) },
  'of a type that wait': { query: { state: 'pending', type: 'receipt.*' } },
  'given up': { query: { state: 'failed' } },
  delivered: { query: { state: 'delivered' } },
  'of a subject that wait': { query: { state: 'pending', subject_id: 'rcp_3' } },
};

describe.each(CASES)('%s:', (_what, given) => {
  beforeAll(() => fill(given));

  describe.each(['fiscal_app_tenant', 'fiscal_app'])('as %s', (role) => {
    test.each(Object.entries(PAGES))('the page of those %s', async (_name, { query, afterId = null }) => {
      await client.query("SELECT set_config('role', $1, false), set_config('fgw.merchant_id', 'mer_1', false)", [role]);
      const statement = deliverySearch({ merchantId: 'mer_1', webhookId: 'whk_1' }, query, { limit: PAGE, afterId });
      const { largest, wholeTables } = await planOf(client, statement);
      expect(wholeTables).toEqual([]);
      expect(largest).toBeLessThanOrEqual(mostOf(query, given));
      const { rows } = await client.query<FoundDeliveries>(statement.text, [...statement.values]);
      expect(rows[0]?.ids).toEqual(await expected(query, afterId));
    });
  });
});

function mostOf(
  { state, type }: DeliveriesQuery,
  { waiting, isOldest }: { waiting: number; isOldest: boolean },
): number {
  // No index has those that are delivered alone: a page of them reads past those that wait.
  if (state === 'delivered' && !isOldest) return waiting;
  return type === undefined ? MOST : MOST + WALKED;
}

/** The same, said plainly. */
async function expected({ state, subject_id: subject }: DeliveriesQuery, afterId: string | null): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM webhook_deliveries WHERE ($1::text IS NULL OR state::text = $1) AND ($2::text IS NULL OR subject_id = $2)
        AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [state, subject, afterId, PAGE + 1],
  );
  return rows.map(({ id }) => id);
}
