// Promise: what an export of some days has, added up as docs/receipts-search.md says, is the turnover of the same days.
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { readXlsx } from '../../goods/sheets/testing/read-xlsx.js';
import { writeReceipt, type TestReceipt } from '../search/testing/receipt-rows.js';

let fixture: OperatorFixture;
let token: string;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
  const merchantId = await fixture.createMerchant();
  token = await fixture.createToken(merchantId, ['receipts:read']);
  const noon = { merchantId, registeredAt: '2026-03-01T07:00:00Z' };
  const write = (given: Partial<TestReceipt>): Promise<string> => writeReceipt(fixture.prisma, { ...noon, ...given });
  const sold = { totalTiyin: 100_001, vatTiyin: 10_714, cashTiyin: 1 };
  const refundOf = await write(sold);
  await write({ ...sold, type: 'refund', refundOf, operation: 'surplus' });
  await write({ totalTiyin: 700, vatTiyin: 75, cashTiyin: 300, type: 'refund', refundOf, operation: 'refunds' });
  await write({ totalTiyin: 900, vatTiyin: 96, type: 'refund', refundOf, operation: 'withdrawal' });
  await write({ totalTiyin: 5_000, type: 'advance' });
  await write({ totalTiyin: 6_000, type: 'credit' });
  // Accepted on the days before and after, and registered in the first and the last moment of this one.
  await write({ totalTiyin: 20, vatTiyin: 2, registeredAt: '2026-02-28T19:00:00Z', createdAt: '2026-02-28T18:00:00Z' });
  await write({ totalTiyin: 30, vatTiyin: 3, registeredAt: '2026-03-01T18:59:59.999Z' });
  await write({ totalTiyin: 40_000, registeredAt: '2026-03-01T19:00:00Z' });
  await write({ totalTiyin: 50_000, status: 'unknown' });
});
afterAll(() => fixture?.stop());

async function ask(path: string): Promise<Response> {
  return fetch(`${fixture.base}/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
}

interface Entry {
  type: string;
  isSurplus: boolean;
  sums: number[];
}

const SUMS = ['total', 'vat_total', 'cash', 'card'];

function entriesOf([head = [], ...rows]: string[][]): Entry[] {
  return rows.map((row) => {
    const cell = (name: string): string => row[head.indexOf(name)] ?? '';
    return { type: cell('type'), isSurplus: cell('surplus') === 'true', sums: SUMS.map((name) => Number(cell(name))) };
  });
}

async function exported(format: string): Promise<Entry[]> {
  const span = 'registered_from=2026-02-28T19:00:00Z&registered_to=2026-03-01T19:00:00Z';
  const answer = await ask(`receipts/export?${span}&format=${format}`);
  if (format === 'xlsx') {
    const { sheets } = await readXlsx(Buffer.from(await answer.arrayBuffer()));
    return entriesOf((sheets[0] ?? []).map((row) => row.map(String)));
  }
  const lines = (await answer.text()).replace('\uFEFF', '').trim().split(/\r?\n/);
  if (format === 'csv') return entriesOf(lines.map((line) => line.split(',')));
  return lines.map((line) => {
    const { type, surplus, total, vat_total, payment } = JSON.parse(line) as {
      type: string;
      surplus: boolean;
      total: number;
      vat_total: number;
      payment: { cash: number; card: number };
    };
    return { type, isSurplus: surplus, sums: [total, vat_total, payment.cash, payment.card] };
  });
}

test.each(['csv', 'xlsx', 'ndjson'])('%s', async (format) => {
  const { data } = (await (await ask('reports/turnover?by=day&from=2026-03-01&to=2026-03-01')).json()) as {
    data: Record<'sales' | 'refunds', Record<'count' | 'total' | 'vat' | 'cash' | 'card', number>>[];
  };
  const entries = await exported(format);
  const added = (wanted: string): number[] => {
    const counted = entries.filter(({ type, isSurplus }) => type === wanted && !isSurplus);
    return [counted.length, ...SUMS.map((_, at) => counted.reduce((sum, { sums }) => sum + (sums[at] ?? NaN), 0))];
  };
  const reported = ({ count, total, vat, cash, card }: (typeof data)[0]['sales']): number[] => [
    ...[count, total, vat, cash, card],
  ];
  expect(entries).toHaveLength(8);
  expect([added('sale'), added('refund')]).toEqual([reported(data[0]!.sales), reported(data[0]!.refunds)]);
  expect(reported(data[0]!.refunds)).toEqual([2, 1_600, 171, 1_200, 400]);
});
