// Promise: after a copy was put back, one command names each document that a register has and this database does not know.
import 'reflect-metadata';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PrismaService } from '#database';
import { planOf, recorded } from '#database/testing';
import { createLogger, NestLogger } from '#runtime';
import { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { RegisterGaps, type RegisterGap } from '../../apps/gateway/src/operator/restore/register-gaps.js';
import { Cli } from '../../apps/gateway/src/programs/cli/cli.js';
import { CliModule } from '../../apps/gateway/src/programs/cli/cli.module.js';
import { writeReceipt } from '../../apps/gateway/src/receipts/search/testing/receipt-rows.js';
import { testGatewaySettings } from '../../apps/gateway/src/testing/gateway-settings.js';

const logger = createLogger('test', 'silent');
const [BEFORE, SINCE, AFTER] = ['2026-05-03T07:59:00Z', '2026-05-03T13:00:00+05:00', '2026-05-03T09:30:00Z'];
const TERMINAL = 'UZ00000000000001';

let rows: LaneRows;
let app: INestApplicationContext;
let folder: string;

const run = (...args: string[]): Promise<Record<string, unknown>> =>
  app.get(Cli).run(args) as Promise<Record<string, unknown>>;
const gapsSince = async (since: string, ...more: string[]): Promise<RegisterGap[]> =>
  (await run('restore', 'gaps', '--since', since, ...more))['data'] as RegisterGap[];

beforeAll(async () => {
  rows = await LaneRows.start();
  folder = mkdtempSync(join(tmpdir(), 'fiscal-gaps-'));
  app = await NestFactory.createApplicationContext(CliModule.create(testGatewaySettings(rows.database), logger), {
    logger: new NestLogger(logger),
  });
});
afterAll(async () => {
  await app?.close();
  await rows?.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  await rows.clear();
  await rows.sql.query(`UPDATE devices SET terminal_id = $1, reading = NULL, reading_at = NULL, deleted_at = NULL`, [
    TERMINAL,
  ]);
});

async function registered(registeredAt: string, ...numbers: number[]): Promise<void> {
  for (const receiptSeq of numbers) {
    const at = { createdAt: registeredAt, registeredAt, terminalId: TERMINAL, receiptSeq };
    await writeReceipt(app.get(PrismaService), { merchantId: 'mer_1', ...at });
  }
}

async function registerCounts(receiptSeq: number, terminalId = TERMINAL): Promise<void> {
  await rows.sql.query(`UPDATE devices SET reading = $1, reading_at = '2026-05-03T10:00:00Z' WHERE id = 'dev_1'`, [
    JSON.stringify({ terminalId, receiptSeq }),
  ]);
}

const numbersOf = (gaps: RegisterGap[]): number[][] => gaps.map(({ from_seq, to_seq }) => [from_seq, to_seq]);

test('numbers between two documents, on both sides of the time, and after the last one', async () => {
  await registered(BEFORE, 98, 99);
  await registered(AFTER, 103, 104, 106);
  await registerCounts(108);
  const device = { device_id: 'dev_1', merchant_id: 'mer_1', terminal_id: TERMINAL, sharing: 'exclusive' };
  expect(await gapsSince(SINCE)).toEqual([
    {
      ...{ ...device, name: expect.any(String), from_seq: 100, to_seq: 102, documents: 3, read_at: null },
      after: { receipt_seq: 99, registered_at: BEFORE },
      before: { receipt_seq: 103, registered_at: AFTER },
    },
    expect.objectContaining({ from_seq: 105, to_seq: 105, documents: 1 }),
    expect.objectContaining({
      ...{ from_seq: 107, to_seq: 108, documents: 2, before: null, read_at: '2026-05-03T10:00:00Z' },
    }),
  ]);
});

test('what was missing before that time is not listed, nor what the register sold before it was added', async () => {
  await registered(BEFORE, 90, 95);
  await registered(AFTER, 96, 97);
  await registerCounts(97);
  expect(await gapsSince(SINCE)).toEqual([]);
  expect(numbersOf(await gapsSince('2026-05-03T07:00:00Z'))).toEqual([[91, 94]]);
});

test('nothing was sold here since: only the counter can say more; one of another module, or an older one, says nothing', async () => {
  await registered(BEFORE, 98, 99);
  expect(await gapsSince(SINCE)).toEqual([]);
  await registerCounts(101);
  expect(numbersOf(await gapsSince(SINCE))).toEqual([[100, 101]]);
  await registerCounts(101, 'UZ00000000000009');
  expect(await gapsSince(SINCE)).toEqual([]);
  await registered(AFTER, 103);
  // A reading from before the last sale lies within the numbers, and divides none of them.
  await registerCounts(101);
  expect(numbersOf(await gapsSince(SINCE))).toEqual([[100, 102]]);
});

test('a register that counts from the next document, and one whose clock went back', async () => {
  await rows.sql.query(
    `UPDATE lanes SET calibration = '{"sequenceOffset": 1, "tiyinPerUnit": 1}' WHERE device_id = 'dev_1'`,
  );
  await registered(AFTER, 100, 102);
  await registered(BEFORE, 101);
  await registerCounts(103);
  expect(await gapsSince(SINCE)).toEqual([]);
  await registerCounts(104);
  expect(numbersOf(await gapsSince(SINCE))).toEqual([[103, 103]]);
});

test('a number that another merchant sold on the terminal is not missing', async () => {
  await registered(AFTER, 100, 102);
  await writeReceipt(app.get(PrismaService), {
    ...{ merchantId: 'mer_2', registeredAt: AFTER, terminalId: TERMINAL, receiptSeq: 101 },
  });
  expect(await gapsSince(SINCE)).toEqual([]);
});

test('a register without documents here is named with all that its counter says, if that is known', async () => {
  await registered(BEFORE, 98, 99);
  await rows.sql.query(`UPDATE devices SET terminal_id = 'UZ00000000000007'`);
  expect(await gapsSince(SINCE)).toEqual([]);
  await registerCounts(0, 'UZ00000000000007');
  expect(await gapsSince(SINCE)).toEqual([]);
  await registerCounts(40, 'UZ00000000000007');
  expect(await gapsSince(SINCE)).toEqual([
    expect.objectContaining({
      ...{ device_id: 'dev_1', from_seq: 1, to_seq: 40, documents: 40, after: null, before: null },
      read_at: '2026-05-03T10:00:00Z',
    }),
  ]);
});

test('into a file; of one merchant; a time without its zone is refused', async () => {
  await registered(AFTER, 100, 102);
  const file = join(folder, 'gaps.jsonl');
  expect(await run('restore', 'gaps', '--since', SINCE, '--file', file)).toEqual({ file, gaps: 1 });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ from_seq: 101, to_seq: 101, documents: 1 });
  await expect(gapsSince(SINCE, '--merchant', 'unheard-of')).rejects.toThrow('There is no merchant "unheard-of"');
  for (const since of ['2026-05-03T13:00:00', 'yesterday', '2026-02-30T13:00:00Z'])
    await expect(gapsSince(since)).rejects.toThrow('--since must be a time such as');
});

test('costs what was sold at the register since, and not what others sold', async () => {
  await registered(BEFORE, 998, 999);
  await registered(AFTER, 1003);
  // Nine hundred long before, and thirty thousand at three other registers: PostgreSQL takes a register for one of many receipts.
  await rows.sql.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin,
                           vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence)
     SELECT 'rcp_p' || n, 'mer_1', 'cli_1', 'receipts', '', 'sale', 'registered', 'dev_1', '{}', 1, 0,
            CASE WHEN n <= 900 THEN $1 ELSE 'UZ000000000001' || n % 3 END, n,
            CASE WHEN n <= 900 THEN '2026-01-01T00:00:00Z' ELSE $2 END::timestamptz, 'answer'
       FROM generate_series(1, 30900) AS n`,
    [TERMINAL, AFTER],
  );
  // Entries of rows that other tests deleted count in what a bitmap reads; where there are few, a vacuum leaves them in the indexes.
  await rows.sql.query('VACUUM (ANALYZE, INDEX_CLEANUP ON) receipts, registration_claims');
  const { wholeTables, largest } = await planOf(
    rows.sql,
    recorded((prisma) => new RegisterGaps(prisma).list(new Date(SINCE), null).next()),
  );
  expect(wholeTables).not.toContain('receipts');
  expect(wholeTables).not.toContain('registration_claims');
  expect(largest).toBeLessThan(10);
});
