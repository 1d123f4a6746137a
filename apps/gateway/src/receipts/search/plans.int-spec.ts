// Promise: no filter of the list reads the table: each is answered by the index that docs/receipts-search.md names.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { createTestDatabase, indexNames, superuserOf, type TestDatabase } from '#database/testing';
import { twoHalfYearsBefore, type ReceiptsSince } from '#ledger';
import { isByRegistration, isOfWholePlace, type ReceiptFilter } from './receipt-filter.js';
import { keptPage, pageStatement } from './search-receipts.js';
import {
  asTenant,
  insertPlaces,
  insertReceipts,
  visitedReceipts,
  WITHOUT_FILTER,
} from './testing/searched-receipts.js';

const RECEIPTS = 30_000;
const PAGE = join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'receipts-search.md');
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await superuserOf(database);
  await insertReceipts(client, RECEIPTS, { merchants: 100, devices: 1_000, branches: 500, cashiers: 500 });
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const span = [new Date('2026-01-05T00:00:00Z'), new Date('2026-01-05T06:00:00Z')] as const;

const FILTERS: Readonly<Record<string, Partial<ReceiptFilter>>> = {
  'no filter': {},
  external_id: { externalId: 'order-77' },
  'terminal_id, receipt_seq': { registration: { terminalId: 'UZ', receiptSeq: 701n } },
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
  [...readFileSync(PAGE, 'utf8').matchAll(/^\| ([^|]+) \| (`(?:receipts|external_id|registration)_[^|]+) \|$/gm)].map(
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
  await asTenant(client, 'mer_1');
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

describe('a page of a whole place', () => {
  /** What has much, and what has nothing, are read by the same plan: the worst is that it thinks of one alone. */
  const PAGES: Readonly<Record<string, Partial<ReceiptFilter>>> = {
    'of a merchant': {},
    'of a merchant that has nothing': { merchantId: 'mer_none' },
    'of a register': { deviceId: 'dev_101' },
    'of a register that has nothing': { deviceId: 'dev_none' },
    'of a branch': { branchId: 'brn_101' },
    'of a branch that has nothing': { branchId: 'brn_none' },
    'of a cashier': { cashierId: 'csh_101' },
    'of a cashier that has nothing': { cashierId: 'csh_none' },
    'of a register of another merchant, so nothing': { deviceId: 'dev_102' },
    'of a branch of another merchant, so nothing': { branchId: 'brn_102' },
    'of a cashier of another merchant, so nothing': { cashierId: 'csh_102' },
  };
  const COLUMNS = ['merchant_id', 'device_id', 'branch_id', 'cashier_id'];
  const LIMIT = 5;
  /** Of 30 that a register has and 300 of a merchant: what it shows, once as an id and once as a row, dead versions of it, and what is under way. */
  const MOST_VISITS = 20;

  /** Said of the partitions themselves: what is said of their table does not reach them. */
  async function sayDistinct(change: (column: string) => string): Promise<void> {
    await client.query('RESET ROLE');
    const { rows } = await client.query<{ name: string }>(
      "SELECT relid::regclass::text AS name FROM pg_partition_tree('receipts') WHERE isleaf",
    );
    for (const { name } of rows)
      await client.query(`ALTER TABLE ${name} ${COLUMNS.map((each) => `ALTER ${each} ${change(each)}`).join(', ')}`);
    await client.query('ANALYZE receipts');
  }

  beforeAll(async () => {
    await client.query('RESET ROLE');
    await insertPlaces(client, 'mer_1', {
      devices: ['dev_101', 'dev_none'],
      branches: ['brn_101', 'brn_none'],
      cashiers: ['csh_101', 'csh_none'],
    });
    await insertPlaces(client, 'mer_2', { devices: ['dev_102'], branches: ['brn_102'], cashiers: ['csh_102'] });
    // What is not known to be seen by all is not read from an index alone.
    await client.query(`SET session_replication_role = replica; UPDATE receipts SET updated_at = updated_at;
                        SET session_replication_role = origin; ANALYZE receipts`);
  });
  beforeEach(() => client.query('RESET ROLE'));
  afterAll(async () => {
    await client.query('RESET ROLE; DEALLOCATE ALL');
    await sayDistinct(() => 'RESET (n_distinct)');
  });

  describe.each([
    { merchants: 1, places: 1 },
    { merchants: 2, places: 2 },
    { merchants: 100, places: 1_000 },
    { merchants: 10_000, places: 10_000 },
    { merchants: 1_000, places: 10 },
  ])('by a plan for one of %j', ({ merchants, places }) => {
    beforeAll(() => sayDistinct((column) => `SET (n_distinct = ${column === 'merchant_id' ? merchants : places})`));

    test.each(Object.entries(PAGES))('%s', async (name, given) => {
      const filter = { ...WITHOUT_FILTER, ...given };
      for (const [since, after] of [
        [SINCE, null],
        [null, null],
        [SINCE, END],
        [null, END],
      ] as const) {
        const { text, values } = keptPage(filter, { after, since }, LIMIT);
        const before = await visitedReceipts(client);
        await asTenant(client, filter.merchantId);
        const { rowCount } = await client.query({ name: `${since === null}`, text, values: [...values] });
        expect([name, rowCount]).toEqual([name, name.endsWith('nothing') ? 0 : LIMIT]);
        const visited = (await visitedReceipts(client)) - before;
        expect([name, visited <= MOST_VISITS ? 'little' : visited]).toEqual([name, 'little']);
      }
    });
  });

  test.each(Object.entries(PAGES))('%s, it shows what a planned page does', async (_name, given) => {
    const filter = { ...WITHOUT_FILTER, ...given };
    const { text, values } = pageStatement(filter, { after: null, since: null }, 1_000);
    const { rows: whole } = await client.query<{ id: string }>(text, [...values]);
    const ends = [null, whole[2], whole[Math.floor(whole.length / 2)], whole.at(-1)].map((end) =>
      end ? { id: end.id, registeredAt: null } : null,
    );
    for (const after of ends)
      for (const since of [null, SINCE]) {
        const [planned, kept] = [pageStatement, keptPage].map((statement) => statement(filter, { after, since }, 7));
        const shown = async (sent: typeof planned): Promise<unknown[]> =>
          (await client.query({ text: sent?.text ?? '', values: [...(sent?.values ?? [])] })).rows;
        expect(await shown(kept)).toEqual(await shown(planned));
      }
  });

  test.each([['of a merchant'], ['of a register']])('%s, its plan is kept after five readings', async (name) => {
    await asTenant(client, 'mer_1');
    const { text, values } = keptPage({ ...WITHOUT_FILTER, ...PAGES[name] }, { after: null, since: SINCE }, 20);
    for (let reading = 0; reading < 10; reading += 1) await client.query({ name, text, values: [...values] });
    const { rows } = await client.query<{ generic_plans: string }>(
      'SELECT generic_plans FROM pg_prepared_statements WHERE name = $1',
      [name],
    );
    expect(Number(rows[0]?.generic_plans)).toBeGreaterThan(0);
  });

  test('one with another filter, or with two places, is none', () => {
    const isOne = (filter: Partial<ReceiptFilter>): boolean => isOfWholePlace({ ...WITHOUT_FILTER, ...filter });
    expect([{}, { deviceId: 'dev_101' }, { branchId: 'brn_101' }, { cashierId: 'csh_101' }].map(isOne)).toEqual([
      ...[true, true, true, true],
    ]);
    expect(isOne({ status: 'registered' })).toBe(false);
    expect(isOne({ deviceId: 'dev_101', type: 'refund' })).toBe(false);
    expect(isOne({ deviceId: 'dev_101', cashierId: 'csh_101' })).toBe(false);
    expect(isOne({ registeredFrom: span[0] })).toBe(false);
  });
});
