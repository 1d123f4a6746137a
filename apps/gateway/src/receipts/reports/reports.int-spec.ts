// Promise: the sums of a period are those of its registered receipts by Tashkent's days, and no difference to a Z-report stays hidden.
import pg from 'pg';
import { Prisma } from '#database';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { inItsTurn } from './report-queries.js';
import { writeReceipt, type TestReceipt } from '../search/testing/receipt-rows.js';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
afterAll(() => fixture.stop());

interface Report {
  data: (Record<string, unknown> & { key: string; number: number; result: string })[];
  next_cursor: string | null;
  errors: { pointer: string; code: string }[];
}

async function ask(path: string, token = fixture.token): Promise<{ status: number; body: Report }> {
  const response = await fetch(`${fixture.base}/v1/reports/${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json()) as Report };
}

async function merchant(): Promise<{
  write: (given: Partial<TestReceipt>) => Promise<string>;
  token: string;
  id: string;
}> {
  const id = await fixture.createMerchant();
  const token = await fixture.createToken(id, ['receipts:read']);
  return { id, token, write: (given) => writeReceipt(fixture.prisma, { merchantId: id, ...given }) };
}

const nothing = { count: 0, total: 0, vat: 0, cash: 0, card: 0 };

test('turnover by day: Tashkent’s midnight divides, refunds go off, other states and types do not count', async () => {
  const { write, token } = await merchant();
  await write({ registeredAt: '2026-03-01T18:59:59.999Z', totalTiyin: 1_000, vatTiyin: 100, cashTiyin: 400 });
  await write({ registeredAt: '2026-03-01T19:00:00Z', totalTiyin: 2_000, vatTiyin: 200 });
  await write({ registeredAt: '2026-03-02T10:00:00Z', totalTiyin: 500, vatTiyin: 50, type: 'refund' });
  await write({ registeredAt: '2026-03-02T10:00:00Z', totalTiyin: 9_000, type: 'advance' });
  await write({ status: 'rejected', totalTiyin: 9_000 });
  await write({ registeredAt: '2026-03-02T19:00:00Z', totalTiyin: 7_000 });
  const { body } = await ask('turnover?by=day&from=2026-03-01&to=2026-03-02', token);
  expect(body).toEqual({
    by: 'day',
    from: '2026-03-01',
    to: '2026-03-02',
    next_cursor: null,
    data: [
      {
        key: '2026-03-01',
        sales: { count: 1, total: 1_000, vat: 100, cash: 400, card: 600 },
        refunds: nothing,
        net_total: 1_000,
        net_vat: 100,
      },
      {
        key: '2026-03-02',
        sales: { count: 1, total: 2_000, vat: 200, cash: 2_000, card: 0 },
        refunds: { count: 1, total: 500, vat: 50, cash: 500, card: 0 },
        net_total: 1_500,
        net_vat: 150,
      },
    ],
  });
});

test('turnover: what a register has once too often is no sale, and the refund that takes it back no refund', async () => {
  const { write, token } = await merchant();
  const refundOf = await write({ registeredAt: '2026-03-01T10:00:00Z', totalTiyin: 1_000, vatTiyin: 100 });
  const back = { type: 'refund', refundOf, totalTiyin: 1_000, vatTiyin: 100 };
  await write({ ...back, operation: 'surplus', registeredAt: '2026-03-01T11:00:00Z' });
  const rows = async (by: string): Promise<unknown> =>
    (await ask(`turnover?by=${by}&from=2026-03-01&to=2026-03-01`, token)).body.data;
  const sold = { sales: { count: 1, total: 1_000 }, refunds: { count: 0, total: 0 }, net_total: 1_000, net_vat: 100 };
  for (const by of ['day', 'device', 'branch', 'cashier', 'vat'])
    expect([by, await rows(by)]).toMatchObject([by, [sold]]);
});

test('turnover by device, branch, cashier and VAT rate; no other merchant’s', async () => {
  const { write, token } = await merchant();
  const at = { registeredAt: '2026-03-01T10:00:00Z' };
  await write({ ...at, deviceId: 'dev_a', branchId: 'brn_a', cashierId: 'csh_b', totalTiyin: 1_000 });
  await write({ ...at, deviceId: 'dev_b', branchId: 'brn_a', totalTiyin: 2_000, vatPercent: 0, vatTiyin: 0 });
  const report = async (by: string): Promise<unknown[]> =>
    (await ask(`turnover?by=${by}&from=2026-03-01&to=2026-03-01`, token)).body.data.map((row) => [
      row.key,
      row['net_total'],
    ]);
  expect(await report('device')).toEqual([
    ['dev_a', 1_000],
    ['dev_b', 2_000],
  ]);
  expect(await report('branch')).toEqual([['brn_a', 3_000]]);
  expect(await report('cashier')).toEqual([
    ['csh_1', 2_000],
    ['csh_b', 1_000],
  ]);
  expect(await report('vat')).toEqual([
    ['0', 2_000],
    ['12', 1_000],
  ]);
  const { data } = (await ask('turnover?by=vat&from=2026-03-01&to=2026-03-01', token)).body;
  expect(data[1]).toMatchObject({ sales: { count: 1, total: 1_000, vat: 12_000, cash: null, card: null } });
});

test.each([
  ['turnover', '/by'],
  ['turnover?by=hour', '/by'],
  ['turnover?by=day&from=2026-02-30', '/from'],
  ['turnover?by=day&from=2026-03-02&to=2026-03-01', '/from'],
  ['turnover?by=day&from=2024-01-01&to=2026-03-01', '/from'],
  ['reconciliation?from=tomorrow', '/from'],
  ['reconciliation?show=some', '/show'],
  ['reconciliation?cursor=x', '/cursor'],
])('%s is refused, naming the field', async (path, pointer) => {
  const { status, body } = await ask(path);
  expect([status, body.errors[0]?.pointer]).toEqual([422, pointer]);
});

test('sums that JSON cannot carry are refused, not rounded', async () => {
  const { write, token } = await merchant();
  const at = { registeredAt: '2026-03-01T10:00:00Z', totalTiyin: Number.MAX_SAFE_INTEGER, cashTiyin: 0 };
  await write(at);
  await write(at);
  const { status, body } = await ask('turnover?by=day&from=2026-03-01&to=2026-03-01', token);
  expect([status, (body as unknown as { code: string }).code]).toEqual([422, 'total_too_large']);
});

describe('reconciliation', () => {
  async function shift(
    merchantId: string,
    given: {
      number: number;
      saleCash?: number;
      saleCount?: number;
      refundCash?: number;
      refundCount?: number;
      sharing?: string;
      report?: boolean;
    },
  ): Promise<{ deviceId: string; terminalId: string }> {
    const device = await fixture.createDevice({ merchantId });
    const profile = { sharing: given.sharing ?? 'exclusive' };
    await fixture.prisma.device.update({ where: { id: device.deviceId }, data: { profile } });
    const id = newId('sht');
    const times = { openedAt: new Date('2026-03-01T04:00:00Z'), closedAt: new Date('2026-03-01T18:00:00Z') };
    await fixture.prisma.shift.create({ data: { id, merchantId, ...device, number: given.number, ...times } });
    const { saleCash = 0, saleCount = 0, refundCash = 0, refundCount = 0 } = given;
    const totals = {
      ...{ TotalSaleCash: saleCash, TotalSaleCard: 0, TotalSaleVAT: 0, TotalSaleCount: saleCount },
      ...{ TotalRefundCash: refundCash, TotalRefundCard: 0, TotalRefundVAT: 0, TotalRefundCount: refundCount },
    };
    if (given.report !== false)
      await fixture.prisma.zReport.create({ data: { shiftId: id, totals, ofdStatus: 'sent' } });
    return device;
  }

  const query = 'reconciliation?from=2026-03-01&to=2026-03-01';

  test('each closed shift against the receipts as they are now', async () => {
    const { id, write, token } = await merchant();
    const equal = await shift(id, { number: 1, saleCash: 1_000, saleCount: 1 });
    await write({ ...equal, totalTiyin: 1_000, vatTiyin: 0, registeredAt: '2026-03-01T10:00:00Z' });
    await write({ ...equal, totalTiyin: 5_000, type: 'advance', registeredAt: '2026-03-01T10:00:00Z' });
    await write({ ...equal, totalTiyin: 5_000, registeredAt: '2026-03-01T18:00:01Z' });
    const less = await shift(id, { number: 2, saleCash: 0, saleCount: 0 });
    await write({ ...less, totalTiyin: 700, vatTiyin: 0, registeredAt: '2026-03-01T04:00:00Z' });
    await write({ ...less, status: 'unknown' });
    await shift(id, { number: 3, saleCash: 300, saleCount: 1, sharing: 'shared' });
    await shift(id, { number: 4, report: false });
    const { data } = (await ask(query, token)).body;
    expect(data.map(({ number, result }) => [number, result])).toEqual([
      [4, 'no_z_report'],
      [3, 'foreign_sales'],
      [2, 'different'],
      [1, 'equal'],
    ]);
    expect(data[2]).toMatchObject({ difference: { sale_cash: -700, sale_count: -1 }, unknown_receipts: 1 });
    expect(data[3]).toMatchObject({
      difference: null,
      gateway: { sale_cash: 1_000, sale_count: 1 },
      unknown_receipts: 0,
    });
    expect(data[0]).toMatchObject({ z_report: null, difference: null });
    const different = (await ask(`${query}&show=different`, token)).body;
    expect(different.data.map(({ number }) => number)).toEqual([4, 2]);
    const first = (await ask(`${query}&show=different&limit=1`, token)).body;
    expect(first.data.map(({ number }) => number)).toEqual([4]);
    const rest = (await ask(`${query}&show=different&limit=1&cursor=${first.next_cursor}`, token)).body;
    expect([rest.data.map(({ number }) => number), rest.next_cursor]).toEqual([[2], null]);
    expect((await ask(`${query}&device_id=${less.deviceId}`, token)).body.data.map(({ number }) => number)).toEqual([
      2,
    ]);
  });

  test('what a register has once too often is a sale of the shift in which it was made, wherever it is taken back', async () => {
    const { id, write, token } = await merchant();
    const twice = { saleCash: 2_000, saleCount: 2 };
    const refunded = { refundCash: 1_000, refundCount: 1 };
    const sum = { totalTiyin: 1_000, vatTiyin: 0 };
    const surplusOf = async (
      shown: Parameters<typeof shift>[1],
      made: string,
      back: Partial<TestReceipt>,
    ): Promise<void> => {
      const device = await shift(id, shown);
      const refundOf = await write({ ...device, ...sum, registeredAt: '2026-03-01T10:00:00Z' });
      const refundInfo = { terminalId: device.terminalId, receiptSeq: 2, dateTime: made, fiscalSign: '1' };
      await write({ ...device, ...sum, type: 'refund', operation: 'surplus', refundOf, refundInfo, ...back });
    };
    await surplusOf({ number: 1, ...twice, ...refunded }, '20260301T150001', { registeredAt: '2026-03-01T11:00:00Z' });
    await surplusOf({ number: 2, ...twice }, '20260301T225959', { registeredAt: '2026-03-02T05:00:00Z' });
    await surplusOf({ number: 3, ...twice }, '20260301T090000', { status: 'rejected' });
    // Before the shift was opened; a refund of the merchant's own.
    const once = { saleCash: 1_000, saleCount: 1, ...refunded };
    await surplusOf({ number: 4, ...once }, '20260301T085959', { registeredAt: '2026-03-01T11:00:00Z' });
    await surplusOf({ number: 5, ...once }, '20260301T150001', {
      ...{ operation: 'refunds', registeredAt: '2026-03-01T11:00:00Z' },
    });
    const { data } = (await ask(query, token)).body;
    expect(data.map(({ number, result, difference }) => [number, result, difference])).toEqual(
      [5, 4, 3, 2, 1].map((number) => [number, 'equal', null]),
    );
  });

  test('in the second in which one shift ends and the next begins, the register says of which a receipt is', async () => {
    const { id, write, token } = await merchant();
    const first = await shift(id, { number: 7, saleCash: 1_000, saleCount: 1 });
    const times = { openedAt: new Date('2026-03-01T18:00:00Z'), closedAt: new Date('2026-03-01T18:00:00Z') };
    const next = newId('sht');
    await fixture.prisma.shift.create({ data: { id: next, merchantId: id, ...first, number: 8, ...times } });
    const totals = { TotalSaleCash: 300, TotalSaleCard: 0, TotalSaleVAT: 0, TotalSaleCount: 1 };
    const back = { TotalRefundCash: 0, TotalRefundCard: 0, TotalRefundVAT: 0, TotalRefundCount: 0 };
    await fixture.prisma.zReport.create({ data: { shiftId: next, totals: { ...totals, ...back }, ofdStatus: 'sent' } });
    const sold = { ...first, vatTiyin: 0 };
    await write({ ...sold, totalTiyin: 1_000, registeredAt: '2026-03-01T18:00:00.100Z', shiftNumber: 7 });
    await write({ ...sold, totalTiyin: 300, registeredAt: '2026-03-01T18:00:00.900Z', shiftNumber: 8 });
    const { data } = (await ask(query, token)).body;
    expect(data.map(({ number, result, difference }) => [number, result, difference])).toEqual([
      [8, 'equal', null],
      [7, 'equal', null],
    ]);
  });

  test('between its first and its last second a receipt is a shift’s, however its register counts shifts there', async () => {
    const { id, write, token } = await merchant();
    const device = await shift(id, { number: 7, saleCash: 1_000, saleCount: 1 });
    const sold = { ...device, vatTiyin: 0, totalTiyin: 1_000, shiftNumber: 8 };
    await write({ ...sold, registeredAt: '2026-03-01T17:59:59.900Z' });
    const { data } = (await ask(query, token)).body;
    expect(data.map(({ number, result, difference }) => [number, result, difference])).toEqual([[7, 'equal', null]]);
  });

  test('other days and other merchants’ shifts are not in it', async () => {
    const { id, token } = await merchant();
    const { deviceId } = await shift(id, { number: 1 });
    expect((await ask('reconciliation?from=2026-03-02&to=2026-03-03', token)).body.data).toEqual([]);
    const stranger = await merchant();
    expect((await ask(`${query}&device_id=${deviceId}`, stranger.token)).body.data).toEqual([]);
  });

  test('one report of a merchant is made at a time, whichever gateway makes it: 503 after five seconds, and no other merchant waits', async () => {
    const [busy, other] = [await merchant(), await merchant()];
    const period = 'from=2026-03-01&to=2026-03-01';
    for (const { id, write } of [busy, other]) {
      await write({ ...(await shift(id, { number: 1 })), registeredAt: '2026-03-01T10:00:00Z' });
    }
    const elsewhere = new pg.Client({ connectionString: fixture.database.url });
    await elsewhere.connect();
    try {
      // As the statement of another gateway holds it.
      const { text, values } = Prisma.sql`SELECT 1 WHERE ${inItsTurn(busy.id)}`;
      await elsewhere.query('BEGIN');
      await elsewhere.query(text, values);
      for (const path of [`turnover?by=vat&${period}`, `reconciliation?${period}`]) {
        expect((await ask(path, other.token)).status).toBe(200);
        const headers = { authorization: `Bearer ${busy.token}` };
        const refused = await fetch(`${fixture.base}/v1/reports/${path}`, { headers });
        expect([path, refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([path, 503, true]);
      }
    } finally {
      await elsewhere.end();
    }
    expect((await ask(`turnover?by=vat&${period}`, busy.token)).status).toBe(200);
  });
});

test('the first and the last day that can be named are days without receipts, and no fault of the service', async () => {
  const { token } = await merchant();
  for (const report of ['turnover?by=day&', 'reconciliation?'])
    for (const days of ['from=0001-01-01&to=0001-01-02', 'from=9999-12-01&to=9999-12-31'])
      expect([report, days, (await ask(`${report}${days}`, token)).status]).toEqual([report, days, 200]);
});
