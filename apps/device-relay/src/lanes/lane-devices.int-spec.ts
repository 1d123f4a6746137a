// Promise: a lane that meets a register sees what a person has decided until then, and no one waits for it in a circle.
import { sendAgain } from '#ledger';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
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
