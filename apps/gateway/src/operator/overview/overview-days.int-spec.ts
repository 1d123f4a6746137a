// Promise: a day that is over is read once, by one gateway; after that the overview reads what was under way then, and is right all the same.
import pg from 'pg';
import { encodeTime } from 'ulid';
import type { PrismaService } from '#database';
import { testClient } from '#database/testing';
import { newId } from '#runtime';
import { writeReceipt } from '../../receipts/search/testing/receipt-rows.js';
import { OperatorFixture } from '../testing/operator-fixture.js';
import { NOON, platformReader, readAnew } from '../testing/read-anew.js';
import { dayStart, MAX_UNDER_WAY } from './receipt-sums.js';

const HOUR_MS = 3_600_000;

let fixture: OperatorFixture;
let prisma: PrismaService;
/** The superuser, whom no trigger holds. */
let owner: pg.Client;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
  prisma = testClient(fixture.database.url);
  owner = new pg.Client({ connectionString: fixture.database.adminUrl });
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
});
afterAll(async () => {
  await owner?.end();
  await prisma?.$disconnect();
  await fixture?.stop();
});

interface Given {
  merchantId: string;
  total: number;
  status?: string;
  daysAgo: number;
  branchId?: string;
}

async function write({
  merchantId,
  total,
  status = 'registered',
  daysAgo,
  branchId = 'brn_1',
}: Given): Promise<string> {
  const at = dayStart(NOON, daysAgo).getTime() + (daysAgo === 0 ? 1 : 12 * HOUR_MS);
  const id = `rcp_${encodeTime(at, 10).toLowerCase()}${newId('rcp').slice(-16)}`;
  const createdAt = new Date(at).toISOString();
  return writeReceipt(prisma, { merchantId, id, totalTiyin: total, status, createdAt, branchId });
}

async function register(id: string): Promise<void> {
  await owner.query(
    `UPDATE receipts SET status = 'registered', registered_at = now(), terminal_id = 'UZ000000000009', evidence = 'operator',
            receipt_seq = (SELECT coalesce(max(receipt_seq), 0) + 1 FROM receipts) WHERE id = $1`,
    [id],
  );
}

const keptDays = async (merchantId: string): Promise<number> =>
  (await owner.query('SELECT 1 FROM receipt_days WHERE merchant_id = $1', [merchantId])).rows.length;

test('a day that is over is kept; what was under way in it is counted as what it became', async () => {
  const merchantId = await fixture.createMerchant();
  const branchId = newId('brn');
  const past = await write({ merchantId, branchId, total: 1_000, daysAgo: 3 });
  const unknown = await write({ merchantId, branchId, total: 30, status: 'unknown', daysAgo: 3 });
  await write({ merchantId, branchId, total: 7, status: 'rejected', daysAgo: 3 });
  await write({ merchantId, branchId, total: 500, daysAgo: 0 });
  const first = await readAnew(fixture, merchantId);
  expect(first.last_30_days).toMatchObject({
    by_status: { unknown: { count: 1, total: 30 }, rejected: { count: 1, total: 7 } },
    sales: { count: 2, total: 1_500 },
  });
  expect(first.by_branch).toMatchObject([
    { last_30_days: { count: 2, total: 1_500 }, today: { count: 1, total: 500 } },
  ]);
  expect(await keptDays(merchantId)).toBe(29);
  // No program could do this. Who reads the day again sees it.
  await owner.query('UPDATE receipts SET total_tiyin = 9000000 WHERE id = $1', [past]);
  await register(unknown);
  const second = await readAnew(fixture, merchantId);
  expect(second.last_30_days).toMatchObject({
    by_status: { unknown: { count: 0, total: 0 }, rejected: { count: 1, total: 7 } },
    sales: { count: 3, total: 1_530 },
  });
  expect(second.by_branch).toMatchObject([{ last_30_days: { count: 3, total: 1_530 } }]);
  expect(second.days.at(-4)).toMatchObject({ registered: { count: 2, total: 1_030 }, rejected: 1 });
});

test('what no one asks for any more is dropped, and another merchant has days of its own', async () => {
  const [merchantId, other] = [await fixture.createMerchant(), await fixture.createMerchant()];
  await owner.query(
    `INSERT INTO receipt_days (merchant_id, day, sums, under_way_ids) VALUES ($1, '2020-01-01', '{}', '{}')`,
    [merchantId],
  );
  await write({ merchantId: other, total: 70, daysAgo: 3 });
  expect((await readAnew(fixture, merchantId)).last_30_days.sales).toEqual({ count: 0, total: 0 });
  expect((await readAnew(fixture, other)).last_30_days.sales).toEqual({ count: 1, total: 70 });
  const { rows } = await owner.query('SELECT 1 FROM receipt_days WHERE merchant_id = $1 AND day < $2', [
    merchantId,
    '2021-01-01',
  ]);
  expect(rows).toEqual([]);
});

test('a day with more under way than may be asked for one by one is not kept', async () => {
  const merchantId = await fixture.createMerchant();
  await write({ merchantId, total: 1, status: 'accepted', daysAgo: 4 });
  await owner.query(
    `INSERT INTO receipts SELECT (jsonb_populate_record(r, jsonb_build_object('id', left(r.id, 14) || lpad(n::text, 16, '0')))).*
       FROM receipts r, generate_series(1, $2) AS n WHERE r.merchant_id = $1`,
    [merchantId, MAX_UNDER_WAY],
  );
  const count = MAX_UNDER_WAY + 1;
  for (let turn = 0; turn < 2; turn += 1)
    expect((await readAnew(fixture, merchantId)).last_30_days.by_status.accepted).toEqual({ count, total: count });
  const kept = await owner.query(
    'SELECT 1 FROM receipt_days WHERE merchant_id = $1 AND cardinality(under_way_ids) > 0',
    [merchantId],
  );
  expect(kept.rows).toEqual([]);
  expect(await keptDays(merchantId)).toBe(28);
});

test('of all merchants a day is read again when what was under way in it has moved, and not before', async () => {
  const overview = platformReader(fixture);
  const merchantId = await fixture.createMerchant();
  const salesAfter = async (hours: number): Promise<number> => {
    const { by_merchant: merchants } = await overview.execute(() => false, new Date(NOON.getTime() + hours * HOUR_MS));
    return merchants.find(({ merchant_id: id }) => id === merchantId)?.last_30_days.total ?? 0;
  };
  // Days of their own: what other tests have under way is on others.
  const settled = await write({ merchantId, total: 1_000_000, daysAgo: 10 });
  const beside = await write({ merchantId, total: 1_000_000, daysAgo: 11 });
  const unknown = await write({ merchantId, total: 30, status: 'unknown', daysAgo: 11 });
  expect(await salesAfter(0)).toBe(2_000_000);
  // No program could do this. Who reads the day again sees it.
  for (const id of [settled, beside]) await owner.query('UPDATE receipts SET total_tiyin = 1 WHERE id = $1', [id]);
  expect(await salesAfter(2)).toBe(2_000_000);
  await register(unknown);
  expect(await salesAfter(2.5)).toBe(2_000_000);
  expect(await salesAfter(4)).toBe(1_000_031);
});
