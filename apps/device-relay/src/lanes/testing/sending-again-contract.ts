import type { Baseline, Rejection } from '#fiscal-domain';
import { BASELINE } from './lane-rows.js';
import type { LaneStoreRig } from './lane-store-contract.js';

const DEVICE = 'dev_1';
const REJECTION: Rejection = { code: 'field_unsupported', rule: null, detail: 'no', line: null };

/** What a receipt is before it is sent, again or not at all, in every lane store. Called beside laneStoreContract, whose hooks begin and end the rig. */
export function sendingAgainContract(rig: LaneStoreRig): void {
  describe('rejected unsent', () => {
    const reject = (receiptId: string, deviceId = DEVICE): Promise<boolean> =>
      rig.ours.rejectUnsent({ receiptId, deviceId }, REJECTION);
    const open = (receiptId: string, attemptId: string): Promise<string> =>
      rig.ours.openAttempt({
        ...{
          attemptId,
          receiptId,
          deviceId: DEVICE,
          baseline: BASELINE,
          request: Buffer.from('x'),
          laneLock: rig.laneLock(),
        },
      });
    const status = async (id: string): Promise<string> => (await rig.receipt(id)).status;

    test('once, on its own device alone, and never sent afterwards', async () => {
      const waiting = await rig.createReceipt();
      expect([await reject(waiting, 'dev_2'), await reject(waiting), await reject(waiting)]).toEqual([
        false,
        true,
        false,
      ]);
      expect(await status(waiting)).toBe('rejected');
      expect(await open(waiting, 'att_u1')).toBe('withdrawn');
    });

    test('not while it is being sent, nor when it may be registered', async () => {
      const id = await rig.createReceipt();
      expect(await open(id, 'att_u2')).toBe('opened');
      expect([await reject(id), await status(id)]).toEqual([false, 'sending']);
      await rig.ours.closeNotRegistered(
        { attemptId: 'att_u2', receiptId: id },
        { proof: { kind: 'unproven' } },
        rig.laneLock(),
      );
      expect([await reject(id), await status(id)]).toEqual([false, 'accepted']);
    });
  });

  describe('sent again by a person while nothing is known of the register', () => {
    const KEYED = { ...BASELINE, journalId: 'journal' };
    const status = async (id: string): Promise<string> => (await rig.receipt(id)).status;
    const sentAgain = async (attemptId: string, baseline = KEYED as Baseline): Promise<string> => {
      const id = await rig.createReceipt();
      await rig.ours.openAttempt({
        ...{ attemptId, receiptId: id, deviceId: DEVICE, baseline, laneLock: rig.laneLock() },
        request: Buffer.from(attemptId),
      });
      await rig.ours.closeUnknown({ attemptId, receiptId: id }, { why: 'no answer' }, { mustSettle: false });
      await rig.sendAgain(id, attemptId);
      return id;
    };

    test('it waits for a person again when the lane meets one with keys, and once only', async () => {
      const [id, other] = [await sentAgain('att_m1'), await rig.createReceipt()];
      expect(await rig.ours.saveIdentity(DEVICE, KEYED, ['journal'])).toBe('saved');
      expect([await status(id), await status(other)]).toEqual(['unknown', 'accepted']);
      expect((await rig.ours.read(DEVICE, 5))?.baseline).toEqual(KEYED);
      await rig.sendAgain(id, 'att_m1');
      expect(await rig.ours.saveIdentity(DEVICE, { ...KEYED, sequence: 9 }, ['journal'])).toBe('saved');
      expect(await status(id)).toBe('accepted');
    });

    test('it waits again when the lane meets one without keys, where it relied on keys, and once only', async () => {
      const [id, other] = [await sentAgain('att_m2'), await sentAgain('att_m3', BASELINE)];
      expect(await rig.ours.saveIdentity(DEVICE, BASELINE, [])).toBe('saved');
      expect([await status(id), await status(other)]).toEqual(['unknown', 'accepted']);
      await rig.sendAgain(id, 'att_m2');
      expect(await rig.ours.saveIdentity(DEVICE, BASELINE, [])).toBe('saved');
      expect(await status(id)).toBe('accepted');
    });

    test('the end of a settle time is no meeting', async () => {
      const id = await sentAgain('att_m4');
      await rig.ours.endSettle(DEVICE, null, rig.laneLock());
      expect((await rig.ours.read(DEVICE, 5))?.baseline).toBeNull();
      expect(await rig.ours.saveIdentity(DEVICE, KEYED, ['journal'])).toBe('saved');
      expect(await status(id)).toBe('unknown');
    });
  });

  test('a payment hold that ran out does not cancel what may stand in this register', async () => {
    const late = await rig.createReceipt({ dispatchInS: -1 });
    const [attemptId, request] = ['att_held', Buffer.from(late)];
    const intent = { attemptId, receiptId: late, deviceId: DEVICE, baseline: BASELINE, request };
    expect(await rig.ours.openAttempt({ ...intent, laneLock: rig.laneLock(), mayBeThere: true })).toBe('opened');
  });

  describe('the bytes that may be in the register', () => {
    const open = (receiptId: string, attemptId: string): Promise<string> =>
      rig.ours.openAttempt({
        ...{ attemptId, receiptId, deviceId: DEVICE, baseline: BASELINE, laneLock: rig.laneLock() },
        request: Buffer.from(attemptId),
      });

    test('are those of the last attempt, as long as nothing proves that they are not', async () => {
      const id = await rig.createReceipt();
      expect(await rig.ours.unprovenRequest(id)).toBeNull();
      await open(id, 'att_b1');
      await rig.ours.closeUnknown({ attemptId: 'att_b1', receiptId: id }, { why: 'no answer' }, { mustSettle: false });
      await rig.sendAgain(id, 'att_b1');
      expect((await rig.ours.unprovenRequest(id))?.toString()).toBe('att_b1');
      // Not one byte left: that says nothing of those before.
      expect(await open(id, 'att_b0')).toBe('opened');
      const unsent = { answer: { kind: 'not_sent', reason: 'guard' } };
      await rig.ours.closeNotRegistered({ attemptId: 'att_b0', receiptId: id }, unsent, rig.laneLock());
      expect((await rig.ours.unprovenRequest(id))?.toString()).toBe('att_b1');
      expect(await open(id, 'att_b2')).toBe('opened');
      const refused = { answer: { kind: 'refused', code: 'E-016' } };
      await rig.ours.closeNotRegistered({ attemptId: 'att_b2', receiptId: id }, refused, rig.laneLock());
      expect(await rig.ours.unprovenRequest(id)).toBeNull();
    });
  });
}
