// Promise: a merchant finds all of its own receipts by what they are, page by page, each once, and never another's.
import pg from 'pg';
import { encodeTime } from 'ulid';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { writeReceipt, type TestReceipt } from './testing/receipt-rows.js';
import { insertPlaces } from './testing/searched-receipts.js';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
afterAll(() => fixture.stop());

const write = (given: Partial<TestReceipt>): Promise<string> =>
  writeReceipt(fixture.prisma, { merchantId: fixture.merchantId, ...given });

/** A register of the merchant. */
async function ownDevice(): Promise<string> {
  const client = new pg.Client({ connectionString: fixture.database.adminUrl });
  await client.connect();
  const device = newId('dev');
  await insertPlaces(client, fixture.merchantId, { devices: [device], branches: [], cashiers: [] });
  await client.end();
  return device;
}

interface ListAnswer {
  status: number;
  ids: string[];
  next: string | null;
  code: string;
  pointers: string[];
}

async function list(query: string, token = fixture.token): Promise<ListAnswer> {
  const response = await fetch(`${fixture.base}/v1/receipts?${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const body = (await response.json()) as {
    data?: { id: string }[];
    next_cursor?: string;
    code: string;
    errors?: { pointer: string }[];
  };
  return {
    status: response.status,
    ids: (body.data ?? []).map(({ id }) => id),
    next: body.next_cursor ?? null,
    code: body.code,
    pointers: (body.errors ?? []).map(({ pointer }) => pointer),
  };
}

async function all(query: string, limit = 3): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const page = await list(`${query}&limit=${limit}${cursor}`);
    expect(page.status).toBe(200);
    ids.push(...page.ids);
    if (page.next === null) return ids;
    cursor = `&cursor=${page.next}`;
  }
}

test('every filter finds what fits, whatever its status, newest first', async () => {
  const device = await ownDevice();
  const mine = { deviceId: device };
  const sale = await write({ ...mine, externalId: 'order-1', totalTiyin: 500, cashierId: 'csh_a', branchId: 'brn_a' });
  const waiting = await write({ ...mine, status: 'accepted', totalTiyin: 600, cashierId: 'csh_a', branchId: 'brn_b' });
  const rejected = await write({ ...mine, status: 'rejected', totalTiyin: 700, cashierId: 'csh_b', branchId: 'brn_a' });
  const unknown = await write({ ...mine, status: 'unknown', totalTiyin: 800, cashierId: 'csh_b', branchId: 'brn_b' });
  const refund = await write({ ...mine, type: 'refund', totalTiyin: 900, cashierId: 'csh_b', branchId: 'brn_b' });
  const find = (query: string): Promise<string[]> => all(`device_id=${device}&${query}`);
  expect(await find('')).toEqual([refund, unknown, rejected, waiting, sale]);
  expect(await all('external_id=order-1')).toEqual([sale]);
  expect(await find('status=accepted')).toEqual([waiting]);
  expect(await find('status=rejected')).toEqual([rejected]);
  expect(await find('status=unknown')).toEqual([unknown]);
  expect(await find('status=registered')).toEqual([refund, sale]);
  expect(await find('type=refund')).toEqual([refund]);
  expect(await find('cashier_id=csh_a')).toEqual([waiting, sale]);
  expect(await find('branch_id=brn_a')).toEqual([rejected, sale]);
  expect(await find('total_min=600&total_max=800')).toEqual([unknown, rejected, waiting]);
  expect(await find('cashier_id=csh_b&type=sale&total_min=800')).toEqual([unknown]);
});

test('branches and cashiers are also found by the code that the merchant gave them', async () => {
  const branchId = newId('brn');
  const { merchantId } = fixture;
  await fixture.prisma.branch.create({ data: { id: branchId, merchantId, code: 'bazaar', name: 'B' } });
  const id = await write({ branchId });
  expect(await all('branch_id=bazaar')).toEqual([id]);
  expect(await all(`branch_id=${branchId}`)).toEqual([id]);
  expect(await all('branch_id=elsewhere')).toEqual([]);
});

test('times: from is within, to is not; registered ones come in the order of their registration', async () => {
  const device = await ownDevice();
  const at = (createdAt: string, registeredAt: string): Promise<string> => {
    const id = `rcp_${encodeTime(Date.parse(createdAt), 10).toLowerCase()}${'0'.repeat(16)}`;
    return write({ id, deviceId: device, createdAt, registeredAt });
  };
  const first = await at('2023-08-29T00:00:00Z', '2023-08-31T00:00:00Z');
  const second = await at('2023-08-30T00:00:00Z', '2023-08-30T00:00:01Z');
  const find = (query: string): Promise<string[]> => all(`device_id=${device}&${query}`, 1);
  expect(await find('created_from=2023-08-29T00:00:00Z&created_to=2023-08-30T00:00:00Z')).toEqual([first]);
  expect(await find('created_from=2023-08-30T00:00:00Z&created_to=2023-08-30T00:00:00.001Z')).toEqual([second]);
  expect(await find('created_from=2023-08-29T05:00:00%2B05:00')).toEqual([second, first]);
  expect(await find('registered_from=2023-08-30T00:00:01Z')).toEqual([first, second]);
  expect(await find('registered_to=2023-08-31T00:00:00Z')).toEqual([second]);
});

test('pages hold each receipt once, also while new ones arrive and old ones are settled', async () => {
  const device = await ownDevice();
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1) {
    ids.push(await write({ deviceId: device, status: index % 2 === 0 ? 'accepted' : 'registered' }));
  }
  const seen: string[] = [];
  for (let cursor = ''; ;) {
    const page = await list(`device_id=${device}&limit=5${cursor}`);
    seen.push(...page.ids);
    await write({ deviceId: device });
    await fixture.prisma.$executeRaw`
      UPDATE receipts SET status = 'cancelled' WHERE device_id = ${device} AND status = 'accepted'`;
    if (page.next === null) break;
    cursor = `&cursor=${page.next}`;
  }
  expect(seen).toEqual([...ids].reverse());
});

test.each([1, 2, 5, 20])(
  'pages of %d go on over half-years, and count what was refunded in any of them',
  async (limit) => {
    const device = await ownDevice();
    const DAY = 86_400_000;
    const daysAgo = [2_000, 900, 899, 400, 200, 199, 198, 100, 0];
    const at = (days: number): { id: string; createdAt: string } => {
      const moment = Date.now() - days * DAY;
      return {
        id: `rcp_${encodeTime(moment, 10).toLowerCase()}${newId('x').slice(-16)}`,
        createdAt: new Date(moment).toISOString(),
      };
    };
    const ids: string[] = [];
    for (const days of daysAgo) ids.unshift(await write({ deviceId: device, ...at(days) }));
    // Of the one before the last, of one of each later step, then and now: a part each.
    const sale = ids[1]!;
    for (const [refundOf, then] of [
      [sale, 99],
      [ids[6]!, 890],
      [ids[8]!, 1_990],
    ] as const)
      for (const days of [then, 0]) await write({ type: 'refund', refundOf, totalTiyin: 1_000, ...at(days) });
    expect(await all(`device_id=${device}`, limit)).toEqual(ids);
    const oldest = new Date(Date.now() - 899.5 * DAY).toISOString();
    expect(await all(`device_id=${device}&created_from=${oldest}`, limit)).toEqual(ids.slice(0, 7));
    expect(await all(`device_id=${device}&created_to=${oldest}`, limit)).toEqual(ids.slice(7));
    const response = await fetch(`${fixture.base}/v1/receipts?device_id=${device}&limit=9`, {
      headers: { authorization: `Bearer ${fixture.token}` },
    });
    const { data } = (await response.json()) as { data: { id: string; refunded: { total: number } }[] };
    expect(data.map(({ id, refunded }) => [id, refunded.total])).toEqual(
      ids.map((id, nth) => [id, [1, 6, 8].includes(nth) ? 2_000 : 0]),
    );
  },
);

test('another merchant sees nothing of it, and cannot search by a foreign id', async () => {
  const device = await ownDevice();
  await write({ deviceId: device, externalId: 'mine' });
  const stranger = await fixture.createMerchant();
  const token = await fixture.createToken(stranger, ['receipts:read']);
  for (const query of ['', `device_id=${device}`, 'external_id=mine', 'status=registered', 'total_min=0']) {
    expect([query, await list(query, token)]).toEqual([query, expect.objectContaining({ status: 200, ids: [] })]);
  }
});

test.each([
  ['limit=0', '/limit'],
  ['limit=101', '/limit'],
  ['cursor=abc', '/cursor'],
  ['registered_from=2023-01-01T00:00:00Z&cursor=abc', '/cursor'],
  ['status=lost', '/status'],
  ['type=gift', '/type'],
  ['created_from=yesterday', '/created_from'],
  ['created_from=2023-02-30T00:00:00Z', '/created_from'],
  ['created_to=2023-01-01', '/created_to'],
  ['created_from=0001-01-01T00:00:00%2B05:00', '/created_from'],
  ['registered_to=9999-12-31T23:59:59-05:00', '/registered_to'],
  ['total_min=1.5', '/total_min'],
  ['total_max=9007199254740992', '/total_max'],
  ['total_max=-1', '/total_max'],
  ['device_id=%00', '/device_id'],
  ['external_id=', '/external_id'],
  ['terminal_id=UZ000000000001', '/receipt_seq'],
  ['receipt_seq=7', '/terminal_id'],
  ['terminal_id=UZ000000000001&receipt_seq=0', '/receipt_seq'],
  ['terminal_id=UZ000000000001&receipt_seq=99999999999999999', '/receipt_seq'],
  ['terminal_id=%00&receipt_seq=7', '/terminal_id'],
  ['status=accepted&status=unknown', '/status'],
  ['colour=red', '/colour'],
])('%s is refused, naming the field', async (query, pointer) => {
  expect(await list(query)).toMatchObject({ status: 422, pointers: [pointer] });
});

test('the document that a buyer has in hand is found by its terminal and number, and only by its seller', async () => {
  const terminalId = 'UZ230700000042';
  const sale = await write({ terminalId, receiptSeq: 4_711, externalId: 'in-hand' });
  const refund = await write({ terminalId, receiptSeq: 4_712, type: 'refund' });
  await write({ terminalId: 'UZ230700000043', receiptSeq: 4_711 });
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4711`)).toEqual([sale]);
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4712`)).toEqual([refund]);
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4713`)).toEqual([]);
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4711&external_id=in-hand`)).toEqual([sale]);
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4712&external_id=in-hand`)).toEqual([]);
  expect(await all(`terminal_id=${terminalId}&receipt_seq=4712&status=registered&type=sale`)).toEqual([]);
  const other = await fixture.createToken(await fixture.createMerchant(), ['receipts:read']);
  expect((await list(`terminal_id=${terminalId}&receipt_seq=4711`, other)).ids).toEqual([]);
});

test('needs receipts:read', async () => {
  const token = await fixture.createToken(fixture.merchantId, ['receipts:write']);
  expect((await list('', token)).status).toBe(403);
  expect((await list('', 'nonsense')).status).toBe(401);
});
