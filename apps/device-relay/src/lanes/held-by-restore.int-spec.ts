// Promise: what a restore held and released again goes to its register whole: with the bytes it was sent before, else composed anew.
import { HELD_BY_RESTORE } from '#database';
import { LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});
afterAll(() => rows?.stop());
beforeEach(() => rows.clear());

const HELD = `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
              VALUES ($1, $2, $3, $4, 'not_registered', '{}', $5, $6, now(), '{"compared": []}')`;

test('a receipt that was held without a sending has no bytes: it is composed anew, never sent empty', async () => {
  const receiptId = await rows.createReceipt();
  await rows.sql.query(HELD, ['att_held', receiptId, rows.deviceId, 1, '', HELD_BY_RESTORE]);
  const lane = await rows.ours.read(rows.deviceId, 10);
  expect(lane?.waiting[0]).toMatchObject({ id: receiptId, mayBeRegistered: true });
  expect(await rows.ours.unprovenRequest(receiptId)).toBeNull();
});

test('one that was sent before has the bytes of that sending', async () => {
  const receiptId = await rows.createReceipt();
  await rows.sql.query(HELD, ['att_sent', receiptId, rows.deviceId, 1, 'bytes', 'rly']);
  await rows.sql.query(HELD, ['att_held', receiptId, rows.deviceId, 2, '', HELD_BY_RESTORE]);
  expect((await rows.ours.unprovenRequest(receiptId))?.toString()).toBe('bytes');
});
