// Promise: no filter of the list reads the table: each is answered by the index that docs/receipts-search.md names.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, indexNames, type TestDatabase } from '#database/testing';
import { twoHalfYearsBefore, type ReceiptsSince } from '#ledger';
import { isByRegistration, type ReceiptFilter } from './receipt-filter.js';
import { keptPage, pageStatement } from './search-receipts.js';
import { insertReceipts, WITHOUT_FILTER } from './testing/searched-receipts.js';

const RECEIPTS = 30_000;
const PAGE = join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'receipts-search.md');
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  await insertReceipts(client, RECEIPTS, { merchants: 100, devices: 1_000, branches: 500, cashiers: 2_000 });
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const span = [new Date('2026-01-05T00:00:00Z'), new Date('2026-01-05T06:00:00Z')] as const;

const FILTERS: Readonly<Record<string, Partial<ReceiptFilter>>> = {
  'no filter': {},
  external_id: { externalId: 'order-77' },
  'status=registered': { status: 'registered' },
  'status=rejected': { status: 'rejected' },
  'status=unknown': { status: 'unknown' },
  'type=refund': { type: 'refund' },
  device_id: { deviceId: 'dev_101' },
  branch_id: { branchId: 'brn_101' },
  cashier_id: { cashierId: 'csh_101' },
  'total_min, total_max': { totalMin: 500_000n, totalMax: 500_500n },
  'created_from, created_to': { createdFrom: span[0], createdTo: span[1] },
  'registered_from, registered_to': { registeredFrom: span[0], registeredTo: span[1] },
};

/** By which the rows of a page are read, and what refunds hold of them. */
const FOR_THE_ROWS = ['receipts_pkey', 'receipts_refunds_of'];
/** What much of the table fits: the ids in their order may be the shortest way. */
const COMMON = new Set(['no filter', 'status=registered', 'created_from, created_to']);

/** The table of the page: filter → indexes. */
const documented = Object.fromEntries(
  [...readFileSync(PAGE, 'utf8').matchAll(/^\| ([^|]+) \| (`(?:receipts|external_id)_[^|]+) \|$/gm)].map(
    ([, filter = '', indexes = '']) => [
      filter.replaceAll('`', ''),
      [...indexes.matchAll(/`([^`]+)`/g)].map(([, index]) => index ?? ''),
    ],
  ),
);

test('the page speaks of every filter', () => {
  expect(Object.keys(documented)).toEqual(Object.keys(FILTERS));
});

/** Of a half-year to come, without a row. */
const isAhead = (node: Plan): boolean => /^receipts_\d+$/.test(node['Relation Name'] ?? '');

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

const END = { id: `rcp_01kz${'9'.repeat(22)}`, registeredAt: null };
/** What the half-years of these receipts are called in a page. */
const SINCE = twoHalfYearsBefore(END.id, new Date())!;

async function plan(filter: ReceiptFilter, isLaterPage: boolean, since: ReceiptsSince | null): Promise<Plan[]> {
  const end = { id: `rcp_01kz${'9'.repeat(22)}`, registeredAt: isByRegistration(filter) ? span[1] : null };
  const after = isLaterPage ? end : null;
  const statement = pageStatement(filter, { after, since }, 101);
  // As the API reads: row-level security must leave each index its use.
  await client.query(
    "SELECT set_config('role', 'fiscal_app_tenant', false), set_config('fgw.merchant_id', 'mer_1', false)",
  );
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`EXPLAIN (FORMAT JSON) ${statement.text}`, [
    ...statement.values,
  ]);
  return nodes(rows[0]!['QUERY PLAN'][0].Plan);
}

test.each(Object.entries(FILTERS))('%s', async (name, given) => {
  for (const [isLaterPage, since] of [
    [false, SINCE],
    [true, SINCE],
    [false, null],
    [true, null],
  ] as const) {
    const found = await plan({ ...WITHOUT_FILTER, ...given }, isLaterPage, since);
    const nameOf = await indexNames(client);
    const used = found.flatMap((node) => (node['Index Name'] === undefined ? [] : [nameOf(node['Index Name'])]));
    expect([...FOR_THE_ROWS, ...documented[name]!]).toEqual(expect.arrayContaining(used));
    const own = documented[name]!.filter((index, at) => at === 0 || index !== 'receipts_under_way');
    if (!COMMON.has(name)) expect(used.filter((index) => own.includes(index))).not.toEqual([]);
    expect(found.filter((node) => node['Node Type'] === 'Seq Scan' && !isAhead(node))).toEqual([]);
  }
});

describe('the page without a filter', () => {
  /** What most of the table belongs to, and what has next to nothing, are read by the same plan: the worst is that it thinks of one alone. */
  const MERCHANTS = ['mer_1', 'mer_none'];

  async function asTenant(merchantId: string): Promise<void> {
    await client.query(
      "SELECT set_config('role', 'fiscal_app_tenant', false), set_config('fgw.merchant_id', $1, false)",
      [merchantId],
    );
  }
  beforeEach(() => client.query('RESET ROLE'));
  afterEach(async () => {
    await client.query('RESET ROLE; RESET plan_cache_mode; DEALLOCATE ALL');
    await client.query('ALTER TABLE receipts ALTER COLUMN merchant_id RESET (n_distinct); ANALYZE receipts');
  });

  test.each([1, 2, 100])('reads what it shows and no more, by a plan for one of %d merchants', async (merchants) => {
    await client.query(
      `ALTER TABLE receipts ALTER COLUMN merchant_id SET (n_distinct = ${merchants}); ANALYZE receipts`,
    );
    for (const [index, since] of [null, SINCE].entries()) {
      const statement = keptPage(WITHOUT_FILTER, { after: null, since }, 20)!;
      await client.query(`SET plan_cache_mode = force_generic_plan; PREPARE page_${index} AS ${statement.text}`);
      for (const merchantId of MERCHANTS) {
        await asTenant(merchantId);
        const values = statement.values.map((value) =>
          pg.escapeLiteral(value === 'mer_1' ? merchantId : String(value)),
        );
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `EXPLAIN (FORMAT JSON, ANALYZE) EXECUTE page_${index} (${values.join(', ')})`,
        );
        const read = nodes(rows[0]!['QUERY PLAN'][0].Plan).map(
          (node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0),
        );
        expect(Math.max(...read)).toBeLessThanOrEqual(21);
      }
    }
  });

  test('keeps its plan after five readings; a page with a filter, or of another size, is planned', async () => {
    await asTenant('mer_1');
    const { text, values } = keptPage(WITHOUT_FILTER, { after: null, since: SINCE }, 20)!;
    for (let reading = 0; reading < 10; reading += 1) await client.query({ name: 'kept', text, values: [...values] });
    const { rows } = await client.query<{ generic_plans: string }>(
      "SELECT generic_plans FROM pg_prepared_statements WHERE name = 'kept'",
    );
    expect(Number(rows[0]?.generic_plans)).toBeGreaterThan(0);
    expect(keptPage({ ...WITHOUT_FILTER, status: 'registered' }, { after: null, since: null }, 20)).toBeNull();
    expect(keptPage(WITHOUT_FILTER, { after: null, since: null }, 21)).toBeNull();
    expect(keptPage(WITHOUT_FILTER, { after: END, since: null }, 20)).toBeNull();
  });
});
