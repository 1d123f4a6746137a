// Promise: the rows in PostgreSQL move exactly as the simulation assumes; what is proven there holds here.
import pg from 'pg';
import { PrismaService } from '#database';
import type { ClosedAndOpened, CloseRegistered } from '#ledger';
import { LaneRepository } from './lane.repository.js';
import { closeAndOpenContract } from './testing/close-and-open-contract.js';
import { BASELINE, LaneRows } from './testing/lane-rows.js';
import { laneStoreContract } from './testing/lane-store-contract.js';
import { rigOf } from './testing/lane-store-rig.js';
import { sendingAgainContract } from './testing/sending-again-contract.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

const rig = rigOf(() => rows);

laneStoreContract(rig);
sendingAgainContract(rig);
closeAndOpenContract(rig);

// What a simulated store cannot show: two transactions of one server that meet at a row.
describe('the result with the next intent, beside a cancellation', () => {
  let patient: PrismaService;
  let canceller: pg.Client;

  // The rig's own hooks stand at the top of the file (laneStoreContract).
  beforeEach(async () => {
    const { url, ownerUrl } = rows.database;
    // A slow machine may hold the locks of a test for long.
    const patience = { lockTimeoutMs: 90_000, statementTimeoutMs: 120_000 };
    patient = new PrismaService({ url, poolSize: 2, applicationName: 'patient', ...patience });
    canceller = new pg.Client({ connectionString: ownerUrl });
    await canceller.connect();
  });

  afterEach(async () => {
    await canceller.end();
    await patient.$disconnect();
  });

  const bothBy = (database: PrismaService, attemptId: string, nextId: string): Promise<ClosedAndOpened> =>
    new LaneRepository(database, 'rly_ours').closeAndOpen(registration(attemptId), rows.intent(nextId));
  const cancelNext = (nextId: string): Promise<unknown> =>
    canceller.query(`UPDATE receipts SET status = 'cancelled' WHERE id = $1`, [nextId]);

  test('a next receipt that another transaction has locked is not waited for: the result is recorded alone', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    const next = await rows.createReceipt();
    await canceller.query('BEGIN');
    await cancelNext(next);
    // Held until it has come back: were it waited for, this would never end well.
    expect(await bothBy(rows.prisma, attemptId, next)).toEqual({ closed: 'closed', opened: 'withdrawn' });
    await canceller.query('ROLLBACK');
    expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered' });
    expect(await rows.receipt(next)).toMatchObject({ status: 'accepted' });
    expect((await rows.ours.read(rows.deviceId, 10))?.openAttempt).toBeNull();
  });

  test('a cancellation that commits after the statement began, and before it takes the receipt: no attempt for it', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    const next = await rows.createReceipt();
    await canceller.query('BEGIN');
    await canceller.query('SELECT FROM attempts WHERE id = $1 FOR UPDATE', [attemptId]);
    await cancelNext(next);
    const both = bothBy(patient, attemptId, next);
    // It closes the attempt before it takes the next receipt: it has its snapshot when it waits.
    await canceller.query(COMMIT_WHEN_WAITED_FOR);
    expect(await both).toEqual({ closed: 'closed', opened: 'withdrawn' });
    expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered' });
    expect(await rows.receipt(next)).toMatchObject({ status: 'cancelled' });
    expect(await rows.one('SELECT count(*)::int AS n FROM attempts WHERE receipt_id = $1', next)).toEqual({ n: 0 });
  });
});

/** Waits on the server, so that a slow test process holds up nothing. */
const COMMIT_WHEN_WAITED_FOR = `
  DO $$ BEGIN
    FOR round IN 1..6000 LOOP
      IF EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid) THEN RETURN; END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    RAISE 'no statement waits for this transaction';
  END $$; COMMIT`;

function registration(attemptId: string): CloseRegistered {
  return {
    ...{
      attemptId,
      receiptId: rows.receiptOf(attemptId),
      deviceId: rows.deviceId,
      evidence: 'answer',
      baseline: BASELINE,
      lastKnown: null,
    },
    registration: {
      ...{ terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign', verificationUrl: 'https://ofd.example/41' },
      ...{ transactionTimeMs: Date.UTC(2026, 0, 5), ofdSent: false, ofdError: null, recordedFields: [] },
      shiftNumber: null,
    },
  };
}
