// Promise: the rows in PostgreSQL move exactly as the simulation assumes; what is proven there holds here.
import { closeAndOpenContract } from './testing/close-and-open-contract.js';
import { LaneRows } from './testing/lane-rows.js';
import { laneStoreContract, type LaneStoreRig } from './testing/lane-store-contract.js';
import { sendingAgainContract } from './testing/sending-again-contract.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

const rig: LaneStoreRig = {
  get ours() {
    return rows.ours;
  },
  get others() {
    return rows.others;
  },
  laneLock: () => rows.laneLock,
  begin: async () => {
    await rows.clear();
    await rows.holdLane();
  },
  end: () => rows.session.end(),
  addDevice: (id) => rows.createDevice(id),
  createReceipt: (fields) => rows.createReceipt(fields),
  receipt: async (id) => {
    const { status, terminal_id, receipt_seq, fiscal_sign } = await rows.receipt(id);
    const receiptSeq = receipt_seq === null ? null : Number(receipt_seq);
    return { status, terminalId: terminal_id, receiptSeq, fiscalSign: fiscal_sign } as Awaited<
      ReturnType<LaneStoreRig['receipt']>
    >;
  },
  attemptState: async (id) => String((await rows.attempt(id))['state']),
  sendAgain: async (receiptId, attemptId) => {
    await rows.sql.query(
      `UPDATE attempts SET state = 'not_registered', outcome = outcome || '{"resolution": {}}' WHERE id = $1`,
      [attemptId],
    );
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [receiptId]);
  },
  passTime: (ms) => rows.passTime(ms),
  loseLock: async () => {
    await rows.session.query('SELECT pg_advisory_unlock_all()');
  },
  overdue: async (overdueMs, lanes) => (await rows.ours.overdueLanes({ overdueMs, after: '', lanes })).due,
};

laneStoreContract(rig);
sendingAgainContract(rig);
closeAndOpenContract(rig);
