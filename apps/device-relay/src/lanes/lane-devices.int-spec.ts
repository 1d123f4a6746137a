// Promise: a lane that meets a register sees what a person has decided until then, and no one waits for it in a circle.
import { PrismaService } from '#database';
import { sendAgain } from '#ledger';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { LaneRepository } from './lane.repository.js';
import { BASELINE, LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

beforeEach(async () => {
  await rows.clear();
  await rows.holdLane();
});

afterEach(() => rows.session.end());

test('a receipt that is sent again at the moment at which its lane meets a register waits for a person once more', async () => {
  const id = await rows.createReceipt();
  const intent = rows.intent(id);
  await rows.ours.openAttempt(intent);
  await rows.ours.closeUnknown(intent, { why: 'no answer' }, { mustSettle: false });
  let meeting: Promise<unknown> = Promise.resolve();
  await rows.prisma.$transaction(async (tx) => {
    await tx.$executeRaw`UPDATE attempts SET state = 'not_registered', outcome = '{"resolution": {}}' WHERE id = ${intent.attemptId}`;
    expect(await sendAgain(tx, id)).toBe(true);
    meeting = rows.ours.saveIdentity(rows.deviceId, { ...BASELINE, journalId: 'journal' }, ['journal']);
    await waits(rows);
  });
  expect(await meeting).toBe('saved');
  const { rows: found } = await rows.sql.query('SELECT status FROM receipts WHERE id = $1', [id]);
  expect(found).toEqual([{ status: 'unknown' }]);
});

test('a person who changes a device and the lane that meets its register do not wait for each other in a circle', async () => {
  let meeting: Promise<unknown> = Promise.resolve();
  await rows.prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM devices WHERE id = ${rows.deviceId} FOR UPDATE`;
    meeting = rows.ours.saveIdentity(rows.deviceId, { ...BASELINE, journalId: 'journal' }, ['journal']);
    await waits(rows);
    await tx.$queryRaw`SELECT device_id FROM lanes WHERE device_id = ${rows.deviceId} FOR UPDATE`;
  });
  expect(await meeting).toBe('saved');
});

test.each([
  ['without keys', BASELINE],
  ['with keys', { ...BASELINE, journalId: 'journal' }],
])('a lane in which much waits meets a register %s in more time than a sale has', async (_name, baseline) => {
  await rows.sql.query(
    `
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id, document, total_tiyin,
                          vat_total_tiyin)
    SELECT first_id_at('rcp', '2026-02-01') || lpad(n::text, 16, '0'), 'mer_1', 'cli_1', 'receipts', '', 'sale', 'accepted', n, $1, 'brn_1', '{}', 1, 0
      FROM generate_series(1, 20000) AS n`,
    [rows.deviceId],
  );
  await rows.sql.query(`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
    SELECT replace(id, 'rcp', 'att'), id, device_id, 1, 'not_registered', '{}', '', 'r', now(), '{"proof": {"kind": "not_registered"}}' FROM receipts`);
  await rows.sql.query('ANALYZE receipts, attempts');
  const hasty = new PrismaService({
    url: rows.database.url,
    poolSize: 2,
    applicationName: 'test',
    lockTimeoutMs: 400,
    statementTimeoutMs: 60,
  });
  try {
    await hasty.$queryRaw`SELECT 1`;
    const lane = new LaneRepository(hasty, 'rly_ours', { meeting: rows.prisma });
    // What is short may be cut off, too, on a busy machine; what is long always is.
    await untilTrue(
      async () => (await lane.saveIdentity(rows.deviceId, baseline, []).catch(() => 'cancelled')) === 'saved',
      'the register is met',
    );
  } finally {
    await hasty.$disconnect();
  }
});

/** Until a session of the relay waits for a lock. */
async function waits({ sql }: LaneRows): Promise<void> {
  const isThere = async (): Promise<boolean> =>
    (
      await sql.query(
        'SELECT FROM pg_locks k JOIN pg_stat_activity s USING (pid) WHERE NOT k.granted AND s.datname = current_database()',
      )
    ).rowCount !== 0;
  await untilTrue(isThere, 'it waits for the other one');
}
