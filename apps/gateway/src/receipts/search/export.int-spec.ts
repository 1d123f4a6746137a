// Promise: an export is everything that the filter finds, in memory that does not grow, and keeps no snapshot; who leaves costs nothing.
import { get, type IncomingMessage } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import pg from 'pg';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { ExportReceipts } from './export-receipts.js';
import { SearchReceipts } from './search-receipts.js';
import { COLUMNS } from './spreadsheet-cells.js';
import { readXlsx } from '../../goods/sheets/testing/read-xlsx.js';
import { writeReceipt } from './testing/receipt-rows.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';

const MANY = 20_000;
let fixture: OperatorFixture;
let big: { merchantId: string; token: string };

beforeAll(async () => {
  fixture = await OperatorFixture.start();
  const merchantId = await fixture.createMerchant();
  big = { merchantId, token: await fixture.createToken(merchantId, ['receipts:read']) };
  const id = await writeReceipt(fixture.prisma, { merchantId, name: 'N'.repeat(400) });
  // Far more than the sockets between the two ends hold.
  await fixture.prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                          cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at)
    SELECT left(id, 20) || lpad(n::text, 10, '0'), merchant_id, client_id, operation, body_hash, type, status, lane_place,
           device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, 'UZ000000000099', n, registered_at
      FROM receipts, generate_series(2, ${MANY}::int) AS n WHERE id = ${id}`;
});
afterAll(() => fixture.stop());

function open(query: string, token = fixture.token): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get(`${fixture.base}/v1/receipts/export?${query}`, { headers, agent: false }, resolve).once('error', reject);
  });
}

async function sessions(): Promise<number> {
  const rows = await fixture.prisma.$queryRaw<{ n: number }[]>`
    SELECT count(*)::int4 AS n FROM pg_stat_activity
     WHERE application_name = 'gateway-export' AND datname = current_database()`;
  return rows[0]!.n;
}

test('what a person takes away stands on the trail with its filter, or is not handed out; a client leaves no record', async () => {
  const exports = fixture.app.get(ExportReceipts, { strict: false });
  const filter = await fixture.app
    .get(SearchReceipts, { strict: false })
    .filterOf(fixture.merchantId, { status: 'rejected' });
  const caller = { merchantId: fixture.merchantId, actor: 'usr_1', address: '203.0.113.9', requestId: 'req_1' };
  const query = { status: 'rejected', format: 'ndjson' } as const;
  const records = () => fixture.prisma.auditRecord.findMany({ where: { action: 'receipts.export' } });
  const take = async (sessionId: string | null, actor = caller.actor): Promise<void> =>
    void (await (await exports.open(filter, 'ndjson', { caller: { ...caller, sessionId, actor }, query })).toArray());
  await text(await open('status=rejected'));
  await take(null);
  expect(await records()).toEqual([]);
  await take('ses_1');
  expect(await records()).toMatchObject([{ actor: 'usr_1', targetId: fixture.merchantId, after: query }]);
  // What cannot be written down; more often than exports may run at a time.
  for (let time = 0; time < 4; time += 1) await expect(take('ses_1', 'usr_\u0000')).rejects.toThrow(/0x00/);
  await take(null);
  expect(await records()).toHaveLength(1);
});

test('the same receipts in every format, oldest first, texts harmless', async () => {
  const device = newId('dev');
  const common = { merchantId: fixture.merchantId, deviceId: device };
  const ids = [
    await writeReceipt(fixture.prisma, { ...common, externalId: '=cmd|calc', status: 'accepted' }),
    await writeReceipt(fixture.prisma, { ...common, name: 'Non, "issiq"', totalTiyin: 700, cashTiyin: 200 }),
    await writeReceipt(fixture.prisma, { ...common, status: 'rejected' }),
  ];
  const ndjson = await open(`device_id=${device}`);
  expect(ndjson.headers['content-type']).toBe('application/x-ndjson');
  const lines = (await text(ndjson)).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids);

  const csv = await open(`device_id=${device}&format=csv`);
  expect(csv.headers['content-disposition']).toBe('attachment; filename="receipts.csv"');
  // As bytes: a decoder would swallow the mark.
  const rows = (await buffer(csv)).toString().split('\r\n');
  expect(rows[0]).toBe(`\uFEFF${COLUMNS.map(({ name }) => name).join(',')}`);
  expect(rows[1]).toContain(",'=cmd|calc,");
  expect(rows[2]).toMatch(/,700,12000,200,500,mixed,.*"Non, ""issiq"" × 1"/);
  expect(rows.slice(1, -1).map((row) => row.split(',')[0])).toEqual(ids);

  const { sheets } = await readXlsx(await buffer(await open(`device_id=${device}&format=xlsx`)));
  expect(sheets[0]!.map(([id]) => id)).toEqual(['id', ...ids]);
  expect(sheets[0]![1]).toContain("'=cmd|calc");
  expect((await text(await open(`device_id=${device}&status=rejected&format=csv`))).split('\r\n')).toHaveLength(3);
});

test('taken at the speed of the reader, with no snapshot meanwhile, up to what there was at the beginning', async () => {
  const response = await open('', big.token);
  response.pause();
  await untilTrue(async () => (await sessions()) === 1);
  await writeReceipt(fixture.prisma, { merchantId: big.merchantId, id: newId('rcp') });
  // Pages are read until the sockets between the two ends are full.
  let state: unknown = null;
  await untilTrue(async () => {
    const before = state;
    state = await sessionState();
    return (
      before !== null && JSON.stringify(before) === JSON.stringify(state) && !JSON.stringify(state).includes('"active"')
    );
  });
  expect(state).toEqual([{ state: 'idle', snapshot: null, transaction: null, query: expect.any(String) }]);
  // The programs may not; the owner who keeps an archive may.
  const owner = new pg.Client({ connectionString: fixture.database.ownerUrl });
  await owner.connect();
  await owner.query('DELETE FROM receipts WHERE merchant_id = $1 AND receipt_seq = $2', [big.merchantId, MANY]);
  await owner.end();
  let count = 0;
  for await (const chunk of response) count += (chunk as Buffer).reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0);
  // Neither the one that was made meanwhile, nor the last one, which is gone.
  expect(count).toBe(MANY - 1);
  await untilTrue(async () => (await sessions()) === 0);
});

function sessionState(): Promise<unknown> {
  return fixture.prisma.$queryRaw`
    SELECT state, backend_xmin::text AS snapshot, xact_start::text AS transaction, query_start::text AS query FROM pg_stat_activity
     WHERE application_name = 'gateway-export' AND datname = current_database()`;
}

test('each once and in order, whatever the filter and however many have the same time', async () => {
  const merchantId = await fixture.createMerchant();
  const token = await fixture.createToken(merchantId, ['receipts:read']);
  const id = await writeReceipt(fixture.prisma, { merchantId });
  await fixture.prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                          cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at)
    SELECT left(id, 20) || lpad(n::text, 10, '0'), merchant_id, client_id, operation, body_hash, type,
           CASE WHEN n % 3 = 0 THEN 'accepted' ELSE status END, lane_place, device_id, branch_id, cashier_id, document, total_tiyin,
           vat_total_tiyin, CASE WHEN n % 3 > 0 THEN 'UZ000000000098' END, CASE WHEN n % 3 > 0 THEN n END,
           CASE WHEN n % 3 > 0 THEN registered_at - make_interval(secs => n % 7) END
      FROM receipts, generate_series(2, 1000) AS n WHERE id = ${id}`;
  const queries = {
    '': 1_000,
    'status=accepted': 333,
    'registered_from=2020-01-01T00:00:00Z': 667,
    'total_min=1': 1_000,
  };
  for (const [query, expected] of Object.entries(queries)) {
    const lines = (await text(await open(query, token))).trimEnd().split('\n');
    const found = lines.map(
      (line) => JSON.parse(line) as { id: string; registered_at?: string; fiscal?: { registered_at: string } },
    );
    expect([query, new Set(found.map((each) => each.id)).size, found.length]).toEqual([query, expected, expected]);
    const ids = found.map((each) => each.id);
    if (!query.startsWith('registered')) expect(ids).toEqual([...ids].sort());
  }
});

test.each(['ndjson', 'csv', 'xlsx'])('%s: a client that disconnects ends the session behind it', async (format) => {
  const response = await open(`format=${format}`, big.token);
  await new Promise((resolve) => response.once('data', resolve));
  response.destroy();
  await untilTrue(async () => (await sessions()) === 0);
});

test('429 for more exports of one merchant than its share; another merchant gets its own at once', async () => {
  const held = await Promise.all([1, 2].map(() => open('', big.token)));
  const refused = await open('', big.token);
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '10']);
  expect(JSON.parse(await text(refused))).toMatchObject({ code: 'too_many_requests' });
  const others = await open('');
  expect(others.statusCode).toBe(200);
  await text(others);
  for (const response of held) response.destroy();
  await untilTrue(async () => (await sessions()) === 0);
  // The server learns of the end before the gateway has cleared up behind it.
  await untilTrue(async () => {
    const again = await open('', big.token);
    again.destroy();
    return again.statusCode === 200;
  });
  await untilTrue(async () => (await sessions()) === 0);
});

test('bad queries are problems, not half a file; HEAD reads nothing', async () => {
  const bad = await open('format=pdf');
  expect(bad.statusCode).toBe(422);
  expect(JSON.parse(await text(bad))).toMatchObject({ errors: [{ pointer: '/format', code: 'invalid_value' }] });
  expect(bad.headers['content-disposition']).toBeUndefined();
  const paged = await open('limit=5');
  expect(JSON.parse(await text(paged))).toMatchObject({ errors: [{ pointer: '/limit', code: 'unknown_field' }] });
  const head = await fetch(`${fixture.base}/v1/receipts/export`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${big.token}` },
  });
  expect(head.status).toBe(200);
  expect(await sessions()).toBe(0);
});
