import type { Registration, Rejection } from '#fiscal-domain';
import type { AttemptOfReceipt, CloseRegistered } from '#ledger';
import type { LaneLockHandle, LaneStore, LaneSnapshot } from '../ports.js';
import { BASELINE } from './lane-rows.js';

/** A lane store with what a test needs around it: rows that the gateway writes, a clock, and the lane lock in hand. */
export interface LaneStoreRig {
  readonly ours: LaneStore;
  readonly others: LaneStore;
  /** Of `ours`, for dev_1. */
  laneLock(): LaneLockHandle;
  /** One device dev_1, exclusive, nothing else; the lock is held. */
  begin(): Promise<void>;
  end(): Promise<void>;
  addDevice(id: string): Promise<void>;
  createReceipt(fields?: { deviceId?: string; status?: string; dispatchInS?: number }): Promise<string>;
  receipt(id: string): Promise<StoredFiscal>;
  attemptState(id: string): Promise<string>;
  /** An operator's `not_registered` on a parked attempt. */
  sendAgain(receiptId: string, attemptId: string): Promise<void>;
  passTime(ms: number): Promise<void>;
  loseLock(): Promise<void>;
  overdue(overdueMs: number, limit: number): Promise<string[]>;
}

export interface StoredFiscal {
  status: string;
  terminalId: string | null;
  receiptSeq: number | null;
  fiscalSign: string | null;
}

const DEVICE = 'dev_1';
const REJECTION: Rejection = { code: 'E-013', rule: null, detail: 'no', line: null };
const REGISTRATION: Registration = {
  ...{ terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign', verificationUrl: 'https://ofd.example/41' },
  ...{ transactionTimeMs: Date.UTC(2026, 0, 5), ofdSent: false, ofdError: null, recordedFields: [], shiftNumber: null },
};
const EVIDENCE = { baseline: BASELINE, why: 'unknown' };

/** What every lane store must do, whether PostgreSQL or the simulation's ledger: the moves of LaneStore with their guards. */
export function laneStoreContract(rig: LaneStoreRig): void {
  let attempts = 0;
  beforeEach(() => rig.begin());
  afterEach(() => rig.end());

  const read = async (store = rig.ours): Promise<LaneSnapshot> => (await store.read(DEVICE, 10))!;
  const intend = async (receiptId: string, store = rig.ours) => {
    attempts += 1;
    const attempt = { attemptId: `att_c${attempts}`, receiptId };
    const request = Buffer.from(receiptId);
    const intent = { ...attempt, deviceId: DEVICE, baseline: BASELINE, request, laneLock: rig.laneLock() };
    return { attempt, opened: await store.openAttempt(intent) };
  };
  const sending = async (): Promise<AttemptOfReceipt> => {
    const { attempt, opened } = await intend(await rig.createReceipt());
    expect(opened).toBe('opened');
    return attempt;
  };
  const close = (attempt: AttemptOfReceipt, more: Partial<CloseRegistered> = {}): CloseRegistered => ({
    ...{ ...attempt, deviceId: DEVICE, evidence: 'answer', registration: REGISTRATION },
    ...{ baseline: { ...BASELINE, sequence: 41 }, lastKnown: null, ...more },
  });
  const status = async (id: string): Promise<string> => (await rig.receipt(id)).status;
  const expectWait = async (store: LaneStore, ms: number): Promise<void> => {
    const { waitMs } = await read(store);
    // A due time is kept in whole milliseconds: rounded up, "now" still lies ahead for a part of one.
    expect(waitMs).toBeLessThanOrEqual(ms + 1);
    expect(waitMs).toBeGreaterThanOrEqual(Math.max(ms - 15_000, 0));
  };

  describe('reading', () => {
    test('a device that is not there', async () => {
      expect(await rig.ours.read('dev_none', 10)).toBeNull();
      expect(await rig.ours.lockNumberOf('dev_none')).toBeNull();
      expect(await rig.ours.lockNumberOf(DEVICE)).toBe(rig.laneLock().lockNumber);
    });

    test('an empty lane', async () => {
      expect(await read()).toMatchObject({
        ...{ device: { id: DEVICE, state: 'online', profile: { sharing: 'exclusive' } }, isAdmitted: true },
        ...{ baseline: null, lastKnown: null, calibration: null, mustSettle: false, failures: 0, waitMs: 0 },
        ...{ openAttempt: null, waiting: [] },
      });
    });

    test('what waits, by place, no more than asked for; what does not wait is not there', async () => {
      for (const other of ['cancelled', 'rejected', 'unknown']) await rig.createReceipt({ status: other });
      const ids = [await rig.createReceipt(), await rig.createReceipt(), await rig.createReceipt()];
      const waiting = (await rig.ours.read(DEVICE, 2))!.waiting;
      expect(waiting.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      expect(waiting[0]).toMatchObject({ mayBeRegistered: false, document: { type: expect.any(String) } });
    });
  });

  describe('the intent', () => {
    test('opens once, with the exact bytes', async () => {
      const { receiptId, attemptId } = await sending();
      expect(await status(receiptId)).toBe('sending');
      const { openAttempt, waiting } = await read();
      expect(openAttempt).toMatchObject({ id: attemptId, receiptId, baseline: BASELINE, refusedAgoMs: null });
      expect(openAttempt?.request.toString()).toBe(receiptId);
      expect(waiting).toEqual([]);
      expect((await intend(receiptId)).opened).toBe('withdrawn');
    });

    test.each(['cancelled', 'unknown', 'rejected'])('not for a receipt that is %s', async (other) => {
      const id = await rig.createReceipt({ status: other });
      expect((await intend(id)).opened).toBe('withdrawn');
      expect(await status(id)).toBe(other);
    });

    test('not for a receipt of another device, nor for one behind another', async () => {
      await rig.addDevice('dev_2');
      expect((await intend(await rig.createReceipt({ deviceId: 'dev_2' }))).opened).toBe('withdrawn');
      const [first, second] = [await rig.createReceipt(), await rig.createReceipt()];
      expect((await intend(second)).opened).toBe('withdrawn');
      expect((await intend(first)).opened).toBe('opened');
    });

    test('not while an attempt is open, for any caller', async () => {
      await sending();
      const next = await rig.createReceipt();
      expect((await intend(next, rig.others)).opened).toBe('lane_occupied');
      expect(await status(next)).toBe('accepted');
    });

    test('a payment hold that ran out cancels; one that has not does not', async () => {
      const late = await rig.createReceipt({ dispatchInS: -1 });
      expect((await intend(late)).opened).toBe('withdrawn');
      expect(await status(late)).toBe('cancelled');
      expect((await intend(await rig.createReceipt({ dispatchInS: 600 }))).opened).toBe('opened');
    });
  });

  describe('registered', () => {
    test('receipt, attempt and lane together; due times and failures are over', async () => {
      const attempt = await sending();
      await rig.ours.postpone(DEVICE, { afterMs: 60_000, reason: 'x', failures: 3 });
      const lastKnown = { receiptSeq: 41, growth: null };
      expect(await rig.ours.closeRegistered(close(attempt, { lastKnown }))).toBe('closed');
      const stored = { status: 'registered', terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign' };
      expect(await rig.receipt(attempt.receiptId)).toMatchObject(stored);
      expect(await rig.attemptState(attempt.attemptId)).toBe('registered');
      const lane = { openAttempt: null, failures: 0, waitMs: 0, baseline: { sequence: 41 }, lastKnown };
      expect(await read()).toMatchObject(lane);
      expect(await rig.ours.closeRegistered(close(attempt))).toBe('already_closed');
    });

    test('not what was parked before: the lane stays as it is', async () => {
      const attempt = await sending();
      await rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: true });
      expect(await rig.ours.closeRegistered(close(attempt))).toBe('already_closed');
      expect(await status(attempt.receiptId)).toBe('unknown');
      expect(await read()).toMatchObject({ baseline: null, mustSettle: true });
    });

    test('not under a sequence that another receipt has; the same number of another terminal is another', async () => {
      await rig.ours.closeRegistered(close(await sending()));
      const second = await sending();
      expect(await rig.ours.closeRegistered(close(second))).toBe('sequence_taken');
      expect(await rig.receipt(second.receiptId)).toMatchObject({ status: 'sending', receiptSeq: null });
      expect(await rig.attemptState(second.attemptId)).toBe('open');
      const elsewhere = { ...REGISTRATION, terminalId: 'UZ2' };
      expect(await rig.ours.closeRegistered(close(second, { registration: elsewhere }))).toBe('closed');
    });
  });

  describe('a late answer', () => {
    const late = (receiptId: string, registration: Registration) => ({ receiptId, deviceId: DEVICE, registration });

    test('completes the same registration', async () => {
      const attempt = await sending();
      const bare = { ...REGISTRATION, fiscalSign: null, verificationUrl: null };
      await rig.ours.closeRegistered(close(attempt, { registration: bare, evidence: 'counters' }));
      expect(await rig.ours.recordLateAnswer(late(attempt.receiptId, REGISTRATION))).toBe('same');
      expect(await rig.receipt(attempt.receiptId)).toMatchObject({ fiscalSign: 'sign' });
      const other = { ...REGISTRATION, fiscalSign: 'other' };
      expect(await rig.ours.recordLateAnswer(late(attempt.receiptId, other))).toBe('same');
      expect(await rig.receipt(attempt.receiptId)).toMatchObject({ fiscalSign: 'sign' });
    });

    test.each(['unknown', 'accepted'])('proves a receipt that is %s', async (before) => {
      const attempt = await sending();
      if (before === 'unknown') await rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: false });
      else await rig.ours.closeNotRegistered(attempt, {}, rig.laneLock());
      expect(await status(attempt.receiptId)).toBe(before);
      expect(await rig.ours.recordLateAnswer(late(attempt.receiptId, REGISTRATION))).toBe('proved');
      expect(await rig.receipt(attempt.receiptId)).toMatchObject({ status: 'registered', receiptSeq: 41 });
      expect(await read()).toMatchObject({ openAttempt: null, waiting: [] });
    });

    test('contradicts another registration, and what is being sent again', async () => {
      const first = await sending();
      await rig.ours.closeRegistered(close(first));
      const other = { ...REGISTRATION, receiptSeq: 42 };
      expect(await rig.ours.recordLateAnswer(late(first.receiptId, other))).toBe('duplicate_suspected');
      expect(await rig.receipt(first.receiptId)).toMatchObject({ receiptSeq: 41 });
      const second = await sending();
      await rig.ours.closeNotRegistered(second, {}, rig.laneLock());
      await intend(second.receiptId);
      expect(await rig.ours.recordLateAnswer(late(second.receiptId, other))).toBe('duplicate_suspected');
      expect(await status(second.receiptId)).toBe('sending');
    });

    test('that names what another receipt has is no proof', async () => {
      await rig.ours.closeRegistered(close(await sending()));
      const attempt = await sending();
      await rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: false });
      expect(await rig.ours.recordLateAnswer(late(attempt.receiptId, REGISTRATION))).toBe('duplicate_suspected');
      expect(await rig.receipt(attempt.receiptId)).toMatchObject({ status: 'unknown', receiptSeq: null });
    });
  });

  describe('the other ends', () => {
    test('rejected, once', async () => {
      const attempt = await sending();
      expect(await rig.ours.closeRejected(attempt, REJECTION, {}, rig.laneLock())).toBe(true);
      expect(await rig.ours.closeRejected(attempt, REJECTION, {}, rig.laneLock())).toBe(false);
      expect(await status(attempt.receiptId)).toBe('rejected');
      expect((await read()).openAttempt).toBeNull();
    });

    test('not registered, once: back to its place', async () => {
      const attempt = await sending();
      const behind = await rig.createReceipt();
      expect(await rig.ours.closeNotRegistered(attempt, {}, rig.laneLock())).toBe(true);
      expect(await rig.ours.closeNotRegistered(attempt, {}, rig.laneLock())).toBe(false);
      expect((await read()).waiting.map(({ id }) => id)).toEqual([attempt.receiptId, behind]);
    });

    test('unknown, once; what must settle stays so', async () => {
      const attempt = await sending();
      expect(await rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: true })).toBe(true);
      expect(await rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: false })).toBe(false);
      expect(await status(attempt.receiptId)).toBe('unknown');
      await rig.ours.closeUnknown(await sending(), EVIDENCE, { mustSettle: false });
      expect(await read()).toMatchObject({ mustSettle: true, openAttempt: null });
    });

    test.each<[string, (attempt: AttemptOfReceipt) => Promise<boolean>]>([
      ['rejected', (attempt) => rig.ours.closeRejected(attempt, REJECTION, {}, rig.laneLock())],
      ['not registered', (attempt) => rig.ours.closeNotRegistered(attempt, {}, rig.laneLock())],
      ['unknown', (attempt) => rig.ours.closeUnknown(attempt, EVIDENCE, { mustSettle: true })],
    ])('%s: not as the attempt of another receipt', async (_end, end) => {
      const { attemptId, receiptId } = await sending();
      expect(await end({ attemptId, receiptId: await rig.createReceipt() })).toBe(false);
      expect(await status(receiptId)).toBe('sending');
      expect(await read()).toMatchObject({ mustSettle: false, openAttempt: { id: attemptId } });
    });

    test.each<[string, Record<string, unknown>, boolean]>([
      ['nothing was sent', { answer: { kind: 'not_sent', reason: 'guard' } }, false],
      ['the register refused it', { answer: { kind: 'refused', code: 'F-002' } }, false],
      ['the counters had not moved', { proof: { kind: 'not_registered' } }, false],
      ['a repetition was refused', { refused_again: { kind: 'device_refused' } }, true],
      ['the counters proved nothing', { proof: { kind: 'unproven' } }, true],
      ['no reason given', {}, true],
    ])('whether a called back receipt may be registered all the same: %s', async (_why, evidence, expected) => {
      const attempt = await sending();
      await rig.ours.closeNotRegistered(attempt, evidence, rig.laneLock());
      expect((await read()).waiting).toMatchObject([{ mayBeRegistered: expected }]);
    });

    test('a person’s word proves nothing, also of a register that had refused', async () => {
      const attempt = await sending();
      await rig.ours.closeUnknown(attempt, { ...EVIDENCE, answer: { kind: 'refused' } }, { mustSettle: false });
      await rig.sendAgain(attempt.receiptId, attempt.attemptId);
      expect((await read()).waiting).toMatchObject([{ id: attempt.receiptId, mayBeRegistered: true }]);
      const again = await intend(attempt.receiptId);
      await rig.ours.closeNotRegistered(again.attempt, { answer: { kind: 'not_sent' } }, rig.laneLock());
      expect((await read()).waiting).toMatchObject([{ mayBeRegistered: true }]);
    });

    test('a refusal is stored for the relay that received it, on an open attempt only', async () => {
      const attempt = await sending();
      await rig.ours.noteRefusal({ ...attempt, receiptId: 'rcp_other' }, { refused: 'F-001' });
      expect((await read()).openAttempt?.refusedAgoMs).toBeNull();
      await rig.ours.noteRefusal(attempt, { refused: 'F-001' });
      await rig.passTime(3_600_000);
      const refusedAgoMs = (await read()).openAttempt?.refusedAgoMs ?? 0;
      expect(Math.round(refusedAgoMs / 60_000)).toBe(60);
      expect(Math.round(((await read()).openAttempt?.ageMs ?? 0) / 60_000)).toBe(60);
      expect((await read(rig.others)).openAttempt?.refusedAgoMs).toBeNull();
      await rig.others.noteRefusal(attempt, { refused: 'F-001' });
      expect((await read()).openAttempt?.refusedAgoMs).toBeNull();
      await rig.ours.closeNotRegistered(attempt, { answer: { kind: 'refused' } }, rig.laneLock());
      await rig.ours.noteRefusal(attempt, { refused: 'F-001' });
      expect((await read()).waiting).toMatchObject([{ mayBeRegistered: false }]);
    });
  });

  describe('only the holder of the lock', () => {
    test.each(['another session', 'another lane', 'no session'])('and not %s', async (whose) => {
      const attempt = await sending();
      await rig.ours.beginSettle(DEVICE, 30_000, 'settling');
      const laneLock = { ...rig.laneLock() };
      if (whose === 'another session') laneLock.backendPid += 1;
      if (whose === 'another lane') laneLock.lockNumber += 1;
      if (whose === 'no session') await rig.loseLock();
      expect(await rig.ours.closeNotRegistered(attempt, {}, laneLock)).toBe(false);
      expect(await rig.ours.closeRejected(attempt, REJECTION, {}, laneLock)).toBe(false);
      await rig.ours.endSettle(DEVICE, BASELINE, laneLock);
      expect(await status(attempt.receiptId)).toBe('sending');
      expect(await read()).toMatchObject({ baseline: null });
      await expectWait(rig.others, 40_000);
      // What is certain may be recorded without it.
      expect(await rig.ours.closeRegistered(close(attempt))).toBe('closed');
    });
  });

  describe('due times', () => {
    test('postponed, for every relay, and then due', async () => {
      await rig.ours.postpone(DEVICE, { afterMs: 60_000, reason: 'away', failures: 2 });
      await expectWait(rig.ours, 60_000);
      await expectWait(rig.others, 60_000);
      expect(await read()).toMatchObject({ failures: 2 });
      await rig.passTime(61_000);
      await expectWait(rig.others, 0);
    });

    test('while one settles, others keep off until ten seconds later', async () => {
      await rig.ours.beginSettle(DEVICE, 30_000, 'settling');
      await expectWait(rig.ours, 30_000);
      await expectWait(rig.others, 40_000);
      await rig.passTime(31_000);
      await expectWait(rig.ours, 0);
      await expectWait(rig.others, 9_000);
      await rig.passTime(10_000);
      await expectWait(rig.others, 0);
    });

    test('postponing ends the settling by name, not what must settle', async () => {
      await rig.ours.closeUnknown(await sending(), EVIDENCE, { mustSettle: true });
      await rig.ours.beginSettle(DEVICE, 30_000, 'settling');
      await rig.ours.postpone(DEVICE, { afterMs: 0, reason: 'x', failures: 0 });
      await expectWait(rig.others, 0);
      expect((await read()).mustSettle).toBe(true);
    });

    test('the end of the settling clears all of it', async () => {
      await rig.ours.closeUnknown(await sending(), EVIDENCE, { mustSettle: true });
      await rig.ours.saveReading(DEVICE, BASELINE, { sequenceOffset: 1, tiyinPerUnit: 100 });
      await rig.ours.beginSettle(DEVICE, 30_000, 'settling');
      const baseline = { ...BASELINE, sequence: 44 };
      await rig.ours.endSettle(DEVICE, baseline, rig.laneLock());
      const calibration = { sequenceOffset: 1, tiyinPerUnit: 100 };
      const settled = { mustSettle: false, waitMs: 0, baseline, lastKnown: null, calibration };
      expect(await read(rig.others)).toMatchObject(settled);
    });
  });

  describe('what is known of the register', () => {
    test('a reading replaces what was known', async () => {
      const attempt = await sending();
      await rig.ours.closeRegistered(close(attempt, { lastKnown: { receiptSeq: 41, growth: null } }));
      await rig.ours.saveReading(DEVICE, BASELINE, null);
      expect(await read()).toMatchObject({ baseline: BASELINE, lastKnown: null, calibration: null });
    });

    test('shared, and never exclusive again by itself', async () => {
      await rig.ours.markShared(DEVICE, 'foreign sale');
      await rig.ours.markShared(DEVICE, 'foreign sale');
      expect(await read()).toMatchObject({ device: { profile: { sharing: 'shared' } } });
    });

    test('states; replaced and disabled are left by people only', async () => {
      await rig.ours.setDeviceState(DEVICE, 'blocked', 'F-001');
      expect(await read()).toMatchObject({ device: { state: 'blocked' } });
      await rig.ours.setDeviceState(DEVICE, 'replaced', 'another terminal');
      await rig.ours.setDeviceState(DEVICE, 'online', null);
      expect(await read()).toMatchObject({ device: { state: 'replaced' } });
    });

    test('a terminal belongs to one device; an unknown terminal to none', async () => {
      await rig.addDevice('dev_2');
      const unidentified = { ...BASELINE, terminalId: null };
      for (const id of [DEVICE, 'dev_2']) expect(await rig.ours.saveIdentity(id, unidentified, [])).toBe('saved');
      expect(await rig.ours.saveIdentity('dev_2', BASELINE, [])).toBe('saved');
      expect(await rig.ours.saveIdentity('dev_2', BASELINE, [])).toBe('saved');
      const keyed = { ...BASELINE, journalId: 'journal' };
      expect(await rig.ours.saveIdentity(DEVICE, keyed, ['journal'])).toBe('terminal_taken');
      expect((await read()).baseline).toBeNull();
    });

    test('with extensions it is the lane’s baseline as well', async () => {
      await rig.ours.saveIdentity(DEVICE, BASELINE, []);
      expect((await read()).baseline).toBeNull();
      const keyed = { ...BASELINE, journalId: 'journal' };
      await rig.ours.saveIdentity(DEVICE, keyed, ['journal']);
      expect((await read()).baseline).toEqual(keyed);
    });
  });

  describe('what the sweeper finds', () => {
    const found = (): Promise<string[]> => rig.overdue(2_000, 10);

    test('nothing that is new, in hand, settled by others, due later, stopped or done', async () => {
      await rig.passTime(600_000);
      expect(await found()).toEqual([]);
      const receiptId = await rig.createReceipt();
      await rig.passTime(600_000);
      expect(await found()).toEqual([]);
      await rig.loseLock();
      expect(await found()).toEqual([DEVICE]);
      await rig.others.beginSettle(DEVICE, 1_000, 'settling');
      await rig.passTime(9_000);
      expect(await found()).toEqual([]);
      await rig.passTime(3_000);
      expect(await found()).toEqual([DEVICE]);
      await rig.ours.postpone(DEVICE, { afterMs: 60_000, reason: 'x', failures: 0 });
      await rig.passTime(30_000);
      expect(await found()).toEqual([]);
      await rig.passTime(33_000);
      expect(await found()).toEqual([DEVICE]);
      await rig.ours.setDeviceState(DEVICE, 'blocked', 'F-001');
      expect(await found()).toEqual([DEVICE]);
      await rig.ours.setDeviceState(DEVICE, 'replaced', 'x');
      expect(await found()).toEqual([]);
      expect(await status(receiptId)).toBe('accepted');
    });

    test('a lane with nothing but an open attempt; one receipt that has waited is enough', async () => {
      await sending();
      await rig.loseLock();
      expect(await found()).toEqual([]);
      await rig.passTime(600_000);
      expect(await found()).toEqual([DEVICE]);
    });

    test('a lane whose receipts have waited longer than its open attempt', async () => {
      const first = await rig.createReceipt();
      await rig.createReceipt();
      await rig.loseLock();
      await rig.passTime(600_000);
      await intend(first);
      expect(await found()).toEqual([DEVICE]);
    });

    test('no more lanes than asked for', async () => {
      await rig.addDevice('dev_2');
      await rig.createReceipt();
      await rig.createReceipt({ deviceId: 'dev_2' });
      await rig.loseLock();
      await rig.passTime(600_000);
      expect((await found()).sort()).toEqual([DEVICE, 'dev_2']);
      expect(await rig.overdue(2_000, 1)).toHaveLength(1);
    });
  });
}
