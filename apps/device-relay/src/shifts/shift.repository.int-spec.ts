// Promise: what a register of one merchant says of its shifts changes none of another one's, even where both say they are the same terminal.
import pg from 'pg';
import type { PrismaService } from '#database';
import { createTestDatabase, type TestDatabase, testClient } from '#database/testing';
import type { CurrentZReport } from '#fiscal-domain';
import { ShiftRepository } from './shift.repository.js';

const TERMINAL = 'UZ000000000001';

let database: TestDatabase;
let sql: pg.Client;
let prisma: PrismaService;
let shifts: ShiftRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  sql = new pg.Client({ connectionString: database.ownerUrl });
  await sql.connect();
  prisma = testClient(database.url, 2);
  shifts = new ShiftRepository(prisma);
  for (const n of [1, 2])
    await sql.query(`
      INSERT INTO merchants (id, code, name, tin) VALUES ('mer_${n}', 'm${n}', 'M', '300000000');
      INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_${n}', 'mer_${n}', 'b', 'B');
      INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, terminal_id)
      VALUES ('dev_${n}', 'mer_${n}', 'brn_${n}', 'Till', 'http://127.0.0.1:1', '\\x00', '${TERMINAL}')`);
});
afterAll(async () => {
  await prisma?.$disconnect();
  await sql?.end();
  await database?.drop();
});
beforeEach(() => sql.query('DELETE FROM z_reports; DELETE FROM shifts; DELETE FROM events'));

function seen(deviceId: string, number: number, closed: boolean): Promise<void> {
  const report: CurrentZReport = {
    Header: { TerminalID: TERMINAL, Number: number, OpenTime: '', CloseTime: '' },
    ...{ TotalSaleCash: 0, TotalSaleCard: 0, TotalSaleVAT: 0, TotalSaleCount: 0 },
    ...{ TotalRefundCash: 0, TotalRefundCard: 0, TotalRefundVAT: 0, TotalRefundCount: 0 },
  };
  const openedMs = Date.UTC(2026, 0, number, 4);
  const closedMs = closed ? openedMs + 3_600_000 : null;
  return shifts.observe({ deviceId, report, openedMs, closedMs, unsentNumbers: closed ? [number] : null });
}

const rows = async (): Promise<unknown[]> =>
  (
    await sql.query(`
      SELECT s.merchant_id, s.number, s.closed_at IS NOT NULL AS closed, z.ofd_status::text AS z
        FROM shifts s LEFT JOIN z_reports z ON z.shift_id = s.id ORDER BY s.merchant_id, s.number`)
  ).rows;

test('the same number is a shift of each', async () => {
  await seen('dev_1', 1, false);
  await seen('dev_2', 1, true);
  expect(await rows()).toEqual([
    { merchant_id: 'mer_1', number: 1, closed: false, z: null },
    { merchant_id: 'mer_2', number: 1, closed: true, z: 'pending' },
  ]);
  await seen('dev_1', 1, true);
  expect(await rows()).toMatchObject([{ merchant_id: 'mer_1', closed: true, z: 'pending' }, { merchant_id: 'mer_2' }]);
});

test('a later shift closes the merchant’s own earlier ones alone', async () => {
  await seen('dev_1', 1, false);
  await seen('dev_2', 5, false);
  expect(await rows()).toMatchObject([{ merchant_id: 'mer_1', number: 1, closed: false }, { merchant_id: 'mer_2' }]);
});

test('the OFD status of a terminal counts its own Z-reports alone', async () => {
  await seen('dev_1', 1, true);
  await seen('dev_2', 1, true);
  await shifts.markZReportsSent('dev_2', TERMINAL, []);
  expect(await rows()).toMatchObject([
    { merchant_id: 'mer_1', z: 'pending' },
    { merchant_id: 'mer_2', z: 'sent' },
  ]);
});

test('receipts of one say nothing about the shift of the other', async () => {
  await sql.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin,
                           vat_total_tiyin, terminal_id, receipt_seq, registered_at)
     VALUES ('rcp_1', 'mer_2', 'cli', 'receipts', '\\x00', 'sale', 'registered', 'dev_2', '{}', 1, 0, $1, 1, now())`,
    [TERMINAL],
  );
  expect(await shifts.hasOwnSince('dev_1', TERMINAL, 0)).toBe(false);
  expect(await shifts.hasOwnSince('dev_2', TERMINAL, 0)).toBe(true);
});

test('what a register has once too often is compared as the sale that it was, and as what takes it back', async () => {
  await seen('dev_1', 1, true);
  await seen('dev_2', 1, true);
  const receipt = (id: string, operation: string, refundInfo: object | null): Promise<unknown> =>
    sql.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin,
                             vat_total_tiyin, terminal_id, receipt_seq, registered_at)
       VALUES ($1, 'mer_1', 'cli', $2, '\\x00', $3::receipt_type, 'registered', 'dev_1', $4, 700, 75, $5, $6::bigint, '2026-01-01T04:30:00Z')`,
      [
        ...[id, operation, refundInfo === null ? 'sale' : 'refund'],
        JSON.stringify({ lines: [{}], payment: { cashTiyin: 500, cardTiyin: 200 }, refundInfo }),
        ...[TERMINAL, id.slice(-1)],
      ],
    );
  await receipt('rcp_11', 'receipts', null);
  await receipt('rcp_13', 'surplus', { terminalId: TERMINAL, receiptSeq: 12, dateTime: '20260101T091500' });
  await receipt('rcp_14', 'surplus', { terminalId: 'UZ000000000002', receiptSeq: 1, dateTime: '20260101T091500' });
  await receipt('rcp_15', 'surplus', { terminalId: TERMINAL, receiptSeq: 9, dateTime: '20260101T085959' });
  expect(await shifts.compareWaiting(10)).toBe(2);
  const { rows: compared } = await sql.query(
    'SELECT s.merchant_id, z.own FROM z_reports z JOIN shifts s ON s.id = z.shift_id ORDER BY 1',
  );
  expect(compared).toMatchObject([
    {
      merchant_id: 'mer_1',
      own: {
        ...{ saleCash: 1_000, saleCard: 400, saleVat: 150, saleCount: 2 },
        ...{ refundCash: 1_500, refundCard: 600, refundVat: 225, refundCount: 3 },
      },
    },
    { merchant_id: 'mer_2', own: { saleCount: 0, refundCount: 0 } },
  ]);
});
