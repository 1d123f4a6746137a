// Promise: a double registration, a second open attempt or a stolen lane cannot be recorded, whatever the program does.
import pg from 'pg';
import type { Registration } from '#fiscal-domain';
import { LANE_LOCK_SPACE, type CloseRegistered, type LateRegistration } from '#ledger';
import { LaneRepository } from './lane.repository.js';
import { backendPidOf, BASELINE, LaneRows } from './testing/lane-rows.js';

const REGISTRATION: Registration = {
  ...{ terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign', verificationUrl: 'https://ofd.example/41' },
  ...{ transactionTimeMs: Date.UTC(2026, 0, 5), ofdSent: false, ofdError: 'T-001' },
  ...{ recordedFields: ['commission'], shiftNumber: 7 },
};

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

describe('the guards of the database, tried with direct SQL', () => {
  // Of indexes of a month, which have names of their own.
  const NOT_UNIQUE = { code: '23505', detail: expect.stringMatching(/^Key \(receipt_id\)=/) as string };
  const INSERT = `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
                  VALUES ($1, $2, $3, $4, $5::attempt_state, '{}', '\\x00', 'rly')`;

  test('a second open attempt on a device', async () => {
    const [first, second] = [await rows.createReceipt(), await rows.createReceipt()];
    await rows.sql.query(INSERT, ['att_a', first, rows.deviceId, 1, 'open']);
    const again = rows.sql.query(INSERT, ['att_b', second, rows.deviceId, 1, 'open']);
    await expect(again).rejects.toThrow('attempts_one_open_per_device');
  });

  test('a second open attempt of a receipt, on another device', async () => {
    await rows.createDevice('dev_2');
    const receipt = await rows.createReceipt();
    await rows.sql.query(INSERT, ['att_a', receipt, rows.deviceId, 1, 'open']);
    const again = rows.sql.query(INSERT, ['att_b', receipt, 'dev_2', 2, 'open']);
    await expect(again).rejects.toMatchObject(NOT_UNIQUE);
  });

  test('a second registration of a receipt', async () => {
    const receipt = await rows.createReceipt();
    await rows.sql.query(INSERT, ['att_a', receipt, rows.deviceId, 1, 'registered']);
    const again = rows.sql.query(INSERT, ['att_b', receipt, rows.deviceId, 2, 'registered']);
    await expect(again).rejects.toMatchObject(NOT_UNIQUE);
    await rows.sql.query(INSERT, ['att_c', receipt, rows.deviceId, 2, 'open']);
    const moved = rows.sql.query(`UPDATE attempts SET state = 'registered' WHERE id = 'att_c'`);
    await expect(moved).rejects.toMatchObject(NOT_UNIQUE);
  });

  test('a terminal and sequence that another receipt has', async () => {
    const register = `UPDATE receipts SET status = 'registered', terminal_id = 'UZ1', receipt_seq = 7, registered_at = now()
                       WHERE id = $1`;
    const [first, second] = [await rows.createReceipt(), await rows.createReceipt()];
    await rows.sql.query(register, [first]);
    await expect(rows.sql.query(register, [second])).rejects.toThrow('receipts_one_per_registration');
  });

  test('registered without its numbers, or numbers without being registered', async () => {
    const receipt = await rows.createReceipt();
    const bare = rows.sql.query(`UPDATE receipts SET status = 'registered' WHERE id = $1`, [receipt]);
    await expect(bare).rejects.toThrow('receipts_registered_are_fiscal');
    const early = rows.sql.query(
      `UPDATE receipts SET terminal_id = 'UZ1', receipt_seq = 1, registered_at = now() WHERE id = $1`,
      [receipt],
    );
    await expect(early).rejects.toThrow('receipts_registered_are_fiscal');
  });

  test('two live devices with one terminal', async () => {
    await rows.createDevice('dev_2');
    await rows.sql.query(`UPDATE devices SET terminal_id = 'UZ1' WHERE id = 'dev_1'`);
    const again = rows.sql.query(`UPDATE devices SET terminal_id = 'UZ1' WHERE id = 'dev_2'`);
    await expect(again).rejects.toThrow('devices_one_live_per_terminal');
  });
});

describe('the intent', () => {
  test('attempt and receipt move together, with the exact bytes', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    expect(await rows.receipt(receiptId)).toMatchObject({ status: 'sending' });
    const attempt = { state: 'open', number: 1, relay_id: 'rly_ours', receipt_id: receiptId, baseline: BASELINE };
    expect(await rows.attempt(attemptId)).toMatchObject(attempt);
    const snapshot = await rows.ours.read(rows.deviceId, 10);
    expect(snapshot?.openAttempt).toMatchObject({ id: attemptId, receiptId, baseline: BASELINE, refusedAgoMs: null });
    expect(snapshot?.openAttempt?.request.toString()).toBe(`bytes of ${receiptId}`);
  });

  test.each(['cancelled', 'awaiting_payment', 'unknown', 'rejected'])(
    'a receipt that is %s is withdrawn',
    async (status) => {
      const receiptId = await rows.createReceipt({ status });
      expect(await rows.ours.openAttempt(rows.intent(receiptId))).toBe('withdrawn');
      expect(await rows.receipt(receiptId)).toMatchObject({ status });
    },
  );

  test('a receipt that was moved to another device is withdrawn', async () => {
    await rows.createDevice('dev_2');
    const receiptId = await rows.createReceipt({ deviceId: 'dev_2' });
    expect(await rows.ours.openAttempt(rows.intent(receiptId))).toBe('withdrawn');
  });

  test('a receipt behind another one that waits is withdrawn: the order is the lane’s', async () => {
    const first = await rows.createReceipt();
    const second = await rows.createReceipt();
    expect(await rows.ours.openAttempt(rows.intent(second))).toBe('withdrawn');
    expect(await rows.receipt(second)).toMatchObject({ status: 'accepted' });
    expect(await rows.ours.openAttempt(rows.intent(first))).toBe('opened');
  });

  test('a receipt whose payment hold ran out is cancelled there', async () => {
    const late = await rows.createReceipt({ dispatchInS: -1 });
    expect(await rows.ours.openAttempt(rows.intent(late))).toBe('withdrawn');
    expect(await rows.receipt(late)).toMatchObject({ status: 'cancelled' });
    expect(await rows.events()).toEqual(['receipt.cancelled']);
    const early = await rows.createReceipt({ dispatchInS: 600 });
    expect(await rows.ours.openAttempt(rows.intent(early))).toBe('opened');
  });

  test('a refund is cancelled there when the module that sold is no longer in the register', async () => {
    const refundOf = async (terminalId: string): Promise<string> => {
      const id = await rows.createReceipt();
      const refundInfo = { terminalId, receiptSeq: 1, dateTime: '20260105T090000', fiscalSign: '1' };
      await rows.sql.query(
        `UPDATE receipts SET type = 'refund', document = document || jsonb_build_object('refundInfo', $2::jsonb) WHERE id = $1`,
        [id, JSON.stringify(refundInfo)],
      );
      return id;
    };
    const gone = await refundOf('UZ9');
    expect(await rows.ours.openAttempt(rows.intent(gone))).toBe('withdrawn');
    expect(await rows.receipt(gone)).toMatchObject({ status: 'cancelled' });
    expect(await rows.events()).toEqual(['refund.cancelled']);
    expect(await rows.ours.openAttempt(rows.intent(await refundOf('UZ1')))).toBe('opened');
  });

  test('on a lane with an open attempt nothing moves', async () => {
    await rows.createOpenAttempt();
    const next = await rows.createReceipt();
    expect(await rows.others.openAttempt(rows.intent(next))).toBe('lane_occupied');
    expect(await rows.receipt(next)).toMatchObject({ status: 'accepted' });
  });

  test('of two relays that open the same receipt at once one wins', async () => {
    for (let round = 0; round < 10; round += 1) {
      await rows.clear();
      const receiptId = await rows.createReceipt();
      const both = await Promise.all([
        rows.ours.openAttempt(rows.intent(receiptId)),
        rows.others.openAttempt(rows.intent(receiptId)),
      ]);
      expect(both.filter((result) => result === 'opened')).toHaveLength(1);
      expect(await rows.one(`SELECT count(*)::int AS n FROM attempts`)).toEqual({ n: 1 });
    }
  });

  test('attempts of a receipt are numbered', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.closeNotRegistered(attempt, {}, rows.laneLock);
    const second = rows.intent(attempt.receiptId);
    await rows.ours.openAttempt(second);
    expect(await rows.attempt(second.attemptId)).toMatchObject({ number: 2 });
  });
});

describe('closing as registered', () => {
  test('receipt, attempt, lane and event in one statement', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    await rows.ours.postpone(rows.deviceId, { afterMs: 60_000, reason: 'x', failures: 3 });
    expect(await rows.ours.closeRegistered(close(attemptId))).toBe('closed');
    const fiscal = {
      terminal_id: 'UZ1',
      receipt_seq: '41',
      fiscal_sign: 'sign',
      ofd_status: 'pending',
      ofd_error: 'T-001',
      recorded_fields: ['commission'],
      shift_number: 7,
    };
    const receipt = await rows.receipt(receiptId);
    expect(receipt).toMatchObject({ status: 'registered', evidence: 'answer', ...fiscal });
    expect(receipt['ofd_deadline_at']).toEqual(new Date(REGISTRATION.transactionTimeMs + 48 * 3_600_000));
    expect(await rows.attempt(attemptId)).toMatchObject({ state: 'registered' });
    expect(await rows.lane()).toMatchObject({ failures: 0, due_at: null, baseline: { sequence: 41 } });
    expect(await rows.events()).toEqual(['receipt.registered']);
  });

  test('how long it took counts for the service level, but not in a sandbox, where a value in the sale says it', async () => {
    const observed: number[] = [];
    const lane = new LaneRepository(rows.prisma, 'rly_ours', {
      observeRegistered: (seconds) => observed.push(seconds),
    });
    for (const id of [`rcp_test_${'0'.repeat(26)}`, undefined]) {
      const intent = rows.intent(await rows.createReceipt(id === undefined ? {} : { id }));
      expect(await lane.openAttempt(intent)).toBe('opened');
      const registration = { ...REGISTRATION, receiptSeq: id === undefined ? 42 : 41 };
      expect(await lane.closeRegistered({ ...close(intent.attemptId), registration })).toBe('closed');
      expect(observed).toHaveLength(id === undefined ? 1 : 0);
    }
  });

  test('a second time: already closed, nothing changes', async () => {
    const { attemptId } = await rows.createOpenAttempt();
    await rows.ours.closeRegistered(close(attemptId));
    expect(await rows.ours.closeRegistered(close(attemptId))).toBe('already_closed');
    expect(await rows.events()).toEqual(['receipt.registered']);
  });

  test('an attempt that was parked is already closed; the lane’s baseline stays', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.closeUnknown(attempt, { why: 'parked' }, { mustSettle: true });
    expect(await rows.ours.closeRegistered(close(attempt.attemptId))).toBe('already_closed');
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'unknown' });
    expect(await rows.lane()).toMatchObject({ baseline: null, must_settle: true });
  });

  test('a sequence that another receipt has: taken, everything stays as it was', async () => {
    const first = await rows.createOpenAttempt();
    await rows.ours.closeRegistered(close(first.attemptId));
    const second = await rows.createOpenAttempt();
    expect(await rows.ours.closeRegistered(close(second.attemptId))).toBe('sequence_taken');
    expect(await rows.receipt(second.receiptId)).toMatchObject({ status: 'sending', receipt_seq: null });
    expect(await rows.attempt(second.attemptId)).toMatchObject({ state: 'open' });
  });
});

describe('a promoted standby that the relay reaches while its lock session hangs on the server that is gone', () => {
  test('no intent is written there: that server does not know the lane lock', async () => {
    const receiptId = await rows.createReceipt();
    const elsewhere = { ...rows.laneLock, serverStartedAt: '2026-01-02 03:04:05.678901+00' };
    expect(await rows.ours.openAttempt({ ...rows.intent(receiptId), laneLock: elsewhere })).toBe('lane_not_held');
    expect(await rows.receipt(receiptId)).toMatchObject({ status: 'accepted' });
    expect(await rows.ours.openAttempt(rows.intent(receiptId))).toBe('opened');
  });
});

describe('an answer that comes after the attempt was closed', () => {
  const late = (receiptId: string, more: Partial<Registration> = {}): LateRegistration => {
    return { receiptId, deviceId: rows.deviceId, registration: { ...REGISTRATION, ...more } };
  };

  test('of an attempt that this database does not know proves its receipt, on the register that answered it', async () => {
    await rows.createDevice('dev_2');
    const receiptId = await rows.createReceipt({ deviceId: 'dev_2' });
    expect(await rows.ours.recordLateAnswer(late(receiptId))).toBe('proved');
    expect(await rows.receipt(receiptId)).toMatchObject({ status: 'registered', device_id: rows.deviceId });
  });

  test('of a receipt that this database does not know changes nothing', async () => {
    expect(await rows.ours.recordLateAnswer(late('rcp_lost'))).toBe('no_receipt');
    expect(await rows.events()).toEqual([]);
  });

  test('completes the sign of the same registration', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    const bare = { ...REGISTRATION, fiscalSign: null, verificationUrl: null, recordedFields: [], shiftNumber: null };
    await rows.ours.closeRegistered({ ...close(attemptId), registration: bare, evidence: 'counters' });
    expect(await rows.ours.recordLateAnswer(late(receiptId))).toBe('same');
    expect(await rows.receipt(receiptId)).toMatchObject({
      ...{ fiscal_sign: 'sign', evidence: 'counters', recorded_fields: ['commission'], shift_number: 7 },
    });
  });

  test('with another sequence: a duplicate is suspected, nothing is overwritten', async () => {
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    await rows.ours.closeRegistered(close(attemptId));
    expect(await rows.ours.recordLateAnswer(late(receiptId, { receiptSeq: 42 }))).toBe('duplicate_suspected');
    expect(await rows.receipt(receiptId)).toMatchObject({ receipt_seq: '41' });
    expect(await rows.events()).toEqual(['receipt.registered', 'receipt.duplicate_suspected']);
  });

  test('proves a receipt that was parked', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.closeUnknown(attempt, { why: 'parked' }, { mustSettle: false });
    expect(await rows.ours.recordLateAnswer(late(attempt.receiptId))).toBe('proved');
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({
      status: 'registered',
      receipt_seq: '41',
      evidence: 'answer',
      recorded_fields: ['commission'],
      shift_number: 7,
    });
  });

  test('proves a receipt that waits to be sent again, so that it is not', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.closeNotRegistered(attempt, {}, rows.laneLock);
    expect(await rows.ours.recordLateAnswer(late(attempt.receiptId))).toBe('proved');
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'registered' });
    expect(await rows.ours.read(rows.deviceId, 10)).toMatchObject({ openAttempt: null, waiting: [] });
  });

  test('while it is sent again: a duplicate is suspected', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.closeNotRegistered(attempt, {}, rows.laneLock);
    await rows.ours.openAttempt(rows.intent(attempt.receiptId));
    expect(await rows.ours.recordLateAnswer(late(attempt.receiptId))).toBe('duplicate_suspected');
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'sending' });
  });
});

describe('the other ends of an attempt', () => {
  const rejection = { code: 'E-013', rule: null, detail: 'no', line: 1 };

  test('rejected, once', async () => {
    const attempt = await rows.createOpenAttempt();
    expect(await rows.ours.closeRejected(attempt, rejection, { answer: {} }, rows.laneLock)).toBe(true);
    expect(await rows.ours.closeRejected(attempt, rejection, { answer: {} }, rows.laneLock)).toBe(false);
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'rejected', rejection });
    expect(await rows.events()).toEqual(['receipt.rejected']);
  });

  test('unknown, once, with its evidence; what must settle stays so', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.sql.query('UPDATE lanes SET must_settle = true');
    const evidence = { baseline: BASELINE, why: 'unknown' };
    expect(await rows.ours.closeUnknown(attempt, evidence, { mustSettle: false })).toBe(true);
    expect(await rows.ours.closeUnknown(attempt, evidence, { mustSettle: true })).toBe(false);
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'unknown' });
    expect(await rows.attempt(attempt.attemptId)).toMatchObject({ state: 'unknown', outcome: evidence });
    expect(await rows.lane()).toMatchObject({ must_settle: true });
    expect(await rows.events()).toEqual(['receipt.unknown']);
  });

  test('not registered: back to its place, ahead of those behind it', async () => {
    const attempt = await rows.createOpenAttempt();
    const behind = await rows.createReceipt();
    expect(await rows.ours.closeNotRegistered(attempt, { proof: 'x' }, rows.laneLock)).toBe(true);
    expect(await rows.ours.closeNotRegistered(attempt, { proof: 'x' }, rows.laneLock)).toBe(false);
    const snapshot = await rows.ours.read(rows.deviceId, 10);
    expect(snapshot?.waiting.map(({ id }) => id)).toEqual([attempt.receiptId, behind]);
  });

  test('a refusal is stored with its time by the database’s clock', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.ours.noteRefusal(attempt, { refused: 'F-001' });
    const { rows: kept } = await rows.sql.query<{ at: string }>(`SELECT outcome ->> 'refused_at' AS at FROM attempts`);
    for (const { at } of kept) expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const noted = await rows.ours.read(rows.deviceId, 1);
    expect(noted?.openAttempt?.refusedAgoMs).toBeGreaterThanOrEqual(0);
    expect(noted?.openAttempt?.refusedAgoMs).toBeLessThan(60_000);
    expect((await rows.others.read(rows.deviceId, 1))?.openAttempt?.refusedAgoMs).toBeNull();
    await rows.sql.query(
      `UPDATE attempts SET outcome = outcome || jsonb_build_object('refused_at', now() - interval '1 hour')`,
    );
    const later = await rows.ours.read(rows.deviceId, 1);
    expect(Math.round((later?.openAttempt?.refusedAgoMs ?? 0) / 60_000)).toBe(60);
  });
});

describe('what only the holder of the lane lock may do', () => {
  test.each<[string, (session: pg.Client) => Promise<unknown>]>([
    ['it was released', (held) => held.query('SELECT pg_advisory_unlock_all()')],
    ['the session is gone', (held) => held.end()],
  ])('calling back, rejecting and ending the settling fail when %s', async (_name, lose) => {
    const attempt = await rows.createOpenAttempt();
    await rows.sql.query('UPDATE lanes SET must_settle = true');
    await lose(rows.session);
    await rows.untilReleased(rows.laneLock);
    expect(await rows.ours.closeNotRegistered(attempt, {}, rows.laneLock)).toBe(false);
    const rejection = { code: 'E-013', rule: null, detail: 'no', line: null };
    expect(await rows.ours.closeRejected(attempt, rejection, {}, rows.laneLock)).toBe(false);
    expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'sending' });
    await rows.ours.endSettle(rows.deviceId, BASELINE, rows.laneLock);
    expect(await rows.lane()).toMatchObject({ must_settle: true, baseline: null });
  });

  test('nor when another session holds it', async () => {
    const attempt = await rows.createOpenAttempt();
    expect(
      await rows.ours.closeNotRegistered(attempt, {}, { ...rows.laneLock, backendPid: rows.laneLock.backendPid + 1 }),
    ).toBe(false);
    expect(
      await rows.ours.closeNotRegistered(attempt, {}, { ...rows.laneLock, lockNumber: rows.laneLock.lockNumber + 1 }),
    ).toBe(false);
    expect(await rows.ours.closeNotRegistered(attempt, {}, rows.laneLock)).toBe(true);
  });

  test('the same lock in another database is another lock', async () => {
    const attempt = await rows.createOpenAttempt();
    await rows.session.query('SELECT pg_advisory_unlock_all()');
    const url = new URL(rows.database.adminUrl);
    url.pathname = '/postgres';
    const elsewhere = new pg.Client({ connectionString: url.href });
    await elsewhere.connect();
    try {
      await elsewhere.query('SELECT pg_advisory_lock($1, $2)', [LANE_LOCK_SPACE, rows.laneLock.lockNumber]);
      const foreign = { ...rows.laneLock, backendPid: await backendPidOf(elsewhere) };
      expect(await rows.ours.closeNotRegistered(attempt, {}, foreign)).toBe(false);
    } finally {
      await elsewhere.end();
    }
  });
});

function close(attemptId: string): CloseRegistered {
  const baseline = { ...BASELINE, sequence: REGISTRATION.receiptSeq };
  return {
    attemptId,
    receiptId: rows.receiptOf(attemptId),
    deviceId: rows.deviceId,
    registration: REGISTRATION,
    evidence: 'answer',
    baseline,
    lastKnown: null,
  };
}
