// Promise: of whatever was sold, taken back, refused, or made once too often, the overview and the turnover say the same, day by day and place by place.
import fc from 'fast-check';
import { encodeTime } from 'ulid';
import { newId } from '#runtime';
import { writeReceipt, type TestReceipt } from '../../receipts/search/testing/receipt-rows.js';
import { OperatorFixture } from '../testing/operator-fixture.js';
import { NOON, platformReader, readAnew } from '../testing/read-anew.js';
import { DAYS, dayName, dayStart } from './receipt-sums.js';

const HOUR_MS = 3_600_000;

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
afterAll(() => fixture?.stop());

interface Row {
  key: string;
  sales: { count: number; total: number };
  refunds: { count: number; total: number };
  net_total: number;
  net_vat: number;
}

/** All that the overview has 30 days of. */
async function turnover(by: 'day' | 'device' | 'branch', token: string): Promise<Row[]> {
  const [from, to] = [dayName(dayStart(NOON, DAYS - 1)), dayName(dayStart(NOON, 0))];
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${fixture.base}/v1/reports/turnover?by=${by}&from=${from}&to=${to}`, { headers });
  return ((await answer.json()) as { data: Row[] }).data;
}

interface Made {
  daysAgo: number;
  /** Share of the day that had passed. */
  at: number;
  what: { type?: string; operation?: string; status?: string };
  totalTiyin: number;
  vatTiyin: number;
  place: number;
  registeredAt?: string;
}

async function write(merchantId: string, { daysAgo, at, what, place, ...given }: Made): Promise<void> {
  const dayMs = daysAgo === 0 ? 11 * HOUR_MS : 24 * HOUR_MS;
  const ms = dayStart(NOON, daysAgo).getTime() + Math.floor(at * (dayMs - 1));
  const id = `rcp_${encodeTime(ms, 10).toLowerCase()}${newId('rcp').slice(-16)}`;
  const refundOf = what.type === 'refund' ? { refundOf: newId('rcp') } : {};
  const receipt: TestReceipt = {
    merchantId,
    id,
    createdAt: new Date(ms).toISOString(),
    ...given,
    ...what,
    ...refundOf,
  };
  await writeReceipt(fixture.prisma, { ...receipt, deviceId: `dev_${place}`, branchId: `brn_${place % 2}` });
}

const anyMade: fc.Arbitrary<Made> = fc.record({
  daysAgo: fc.integer({ min: 0, max: DAYS - 1 }),
  at: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  what: fc.constantFrom<Made['what']>(
    ...[{}, {}, { type: 'refund', operation: 'refunds' }, { type: 'refund', operation: 'withdrawal' }],
    ...[{ type: 'refund', operation: 'surplus' }, { type: 'advance' }, { type: 'credit' }],
    ...[{ status: 'rejected' }, { status: 'unknown' }, { type: 'refund', operation: 'refunds', status: 'cancelled' }],
  ),
  totalTiyin: fc.integer({ min: 1, max: 10 ** 12 }),
  vatTiyin: fc.integer({ min: 0, max: 10 ** 11 }),
  place: fc.integer({ min: 0, max: 3 }),
});

const none = { count: 0, total: 0 };
const countAndTotal = ({ count, total }: Row['sales']): Row['sales'] => ({ count, total });
const byKey = (rows: Iterable<[string, unknown]>): Record<string, unknown> => Object.fromEntries(rows);

test('random days of a shop add up to the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyMade, { minLength: 8, maxLength: 30 }), async (made) => {
      const merchantId = await fixture.createMerchant();
      const token = await fixture.createToken(merchantId, ['receipts:read']);
      for (const each of made) await write(merchantId, each);
      const days = new Map((await turnover('day', token)).map((row) => [row.key, row]));
      const overview = await readAnew(fixture, merchantId);
      expect(overview.days.map(({ day, registered, refunds }) => ({ day, registered, refunds }))).toEqual(
        overview.days.map(({ day }) => {
          const { sales = none, refunds = none } = days.get(day) ?? {};
          return { day, registered: countAndTotal(sales), refunds: countAndTotal(refunds) };
        }),
      );
      expect(overview.last_30_days.net).toBe([...days.values()].reduce((sum, row) => sum + row.net_total, 0));
      expect(overview.last_30_days.net_vat).toBe([...days.values()].reduce((sum, row) => sum + row.net_vat, 0));
      expect(byKey(overview.by_device.map((row) => [row.device_id, row.last_30_days]))).toEqual(
        byKey(sold(await turnover('device', token))),
      );
      expect(byKey(overview.by_branch.map((row) => [row.branch_id, row.last_30_days]))).toEqual(
        byKey(sold(await turnover('branch', token))),
      );
      // As many receipts as the list of registered ones has, whatever they are.
      expect(overview.last_30_days.by_status.registered.count).toBe(
        made.filter(({ what }) => what.status === undefined).length,
      );
    }),
    { numRuns: 6 },
  );
});

/** Those where nothing was sold are none of the overview's. */
function sold(rows: readonly Row[]): [string, unknown][] {
  return rows.filter(({ sales }) => sales.count > 0).map(({ key, sales }) => [key, countAndTotal(sales)]);
}

test('of all merchants as well: a refund that takes back what was made once too often takes nothing off', async () => {
  const refundsOf = async (): Promise<{ refunds: unknown; registered: number }> => {
    const { last_30_days: sums } = await platformReader(fixture).execute(() => false, NOON);
    return { refunds: sums.refunds, registered: sums.by_status.registered.count };
  };
  const merchantId = await fixture.createMerchant();
  const { refunds, registered } = await refundsOf();
  const what = { type: 'refund', operation: 'surplus' };
  await write(merchantId, { daysAgo: 3, at: 0.5, what, totalTiyin: 1_000, vatTiyin: 107, place: 0 });
  expect(await refundsOf()).toEqual({ refunds, registered: registered + 1 });
});

test('the VAT is that of the receipts whose sums stand beside it, also where they were accepted on one day and registered on the next', async () => {
  const merchantId = await fixture.createMerchant();
  const registeredAt = dayStart(NOON, 0).toISOString();
  await write(merchantId, { daysAgo: 1, at: 1, what: {}, totalTiyin: 1_120, vatTiyin: 120, place: 0, registeredAt });
  const { today, last_30_days: all } = await readAnew(fixture, merchantId);
  expect([today.net, today.net_vat, all.net, all.net_vat]).toEqual([0, 0, 1_120, 120]);
});

test('a day that a gateway without this sum has kept is read once more', async () => {
  const merchantId = await fixture.createMerchant();
  await write(merchantId, { daysAgo: 3, at: 0.5, what: {}, totalTiyin: 1_120, vatTiyin: 120, place: 0 });
  await readAnew(fixture, merchantId);
  await fixture.prisma.$executeRaw`
    UPDATE receipt_days SET sums = jsonb_set(sums, '{rows}', (SELECT coalesce(jsonb_agg(each - 'vat'), '[]') FROM jsonb_array_elements(sums -> 'rows') AS each))
     WHERE merchant_id = ${merchantId}`;
  for (let turn = 0; turn < 2; turn += 1)
    expect((await readAnew(fixture, merchantId)).last_30_days).toMatchObject({ net: 1_120, net_vat: 120 });
});
