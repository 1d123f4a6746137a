import type { Registration } from '#fiscal-domain';
import type { ClosedAndOpened, CloseRegistered, Intent } from '#ledger';
import { BASELINE } from './lane-rows.js';
import type { LaneStoreRig } from './lane-store-contract.js';

const DEVICE = 'dev_1';
const REGISTRATION: Registration = {
  ...{ terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign', verificationUrl: 'https://ofd.example/41' },
  ...{ transactionTimeMs: Date.UTC(2026, 0, 5), ofdSent: false, ofdError: null, recordedFields: [], shiftNumber: null },
};

/**
 * The result of one receipt and the intent of the next in one commit, in every lane store. Called beside laneStoreContract, whose
 * hooks begin and end the rig.
 */
export function closeAndOpenContract(rig: LaneStoreRig): void {
  describe('the result with the next intent', () => {
    /** Of the attempts that were opened here. */
    const receiptOf = new Map<string, string>();
    const intent = (receiptId: string, attemptId: string): Intent => {
      receiptOf.set(attemptId, receiptId);
      return {
        ...{ attemptId, receiptId, deviceId: DEVICE, laneLock: rig.laneLock() },
        baseline: { ...BASELINE, sequence: 41 },
        request: Buffer.from(receiptId),
      };
    };
    const close = (attemptId: string, more: Partial<Registration> = {}): CloseRegistered => ({
      ...{ attemptId, receiptId: receiptOf.get(attemptId) ?? '', deviceId: DEVICE, evidence: 'answer' },
      ...{ registration: { ...REGISTRATION, ...more }, baseline: { ...BASELINE, sequence: 41 }, lastKnown: null },
    });
    const both = (attemptId: string, nextId: string, more: Partial<Registration> = {}): Promise<ClosedAndOpened> =>
      rig.ours.closeAndOpen(close(attemptId, more), intent(nextId, `${attemptId}_next`));
    const status = async (id: string): Promise<string> => (await rig.receipt(id)).status;
    /** One that is being sent, and the receipt behind it. */
    const two = async (attemptId: string, next = {}): Promise<[first: string, next: string]> => {
      const first = await rig.createReceipt();
      expect(await rig.ours.openAttempt(intent(first, attemptId))).toBe('opened');
      return [first, await rig.createReceipt(next)];
    };

    test('both, with the exact bytes; a second time neither', async () => {
      const [first, next] = await two('att_n1');
      await rig.ours.postpone(DEVICE, { afterMs: 60_000, reason: 'x', failures: 3 });
      expect(await both('att_n1', next)).toEqual({ closed: 'closed', opened: 'opened' });
      expect(await rig.receipt(first)).toMatchObject({ status: 'registered', receiptSeq: 41, fiscalSign: 'sign' });
      expect(await rig.attemptState('att_n1')).toBe('registered');
      const lane = (await rig.ours.read(DEVICE, 10))!;
      expect(lane).toMatchObject({ failures: 0, waitMs: 0, baseline: { sequence: 41 }, waiting: [] });
      expect(lane.openAttempt).toMatchObject({ id: 'att_n1_next', receiptId: next, baseline: { sequence: 41 } });
      expect(lane.openAttempt?.request.toString()).toBe(next);
      expect(await both('att_n1', next)).toEqual({ closed: 'already_closed', opened: null });
      expect(await rig.ours.closeRegistered(close('att_n1'))).toBe('already_closed');
      expect([await status(first), await status(next)]).toEqual(['registered', 'sending']);
    });

    test.each([
      ['was cancelled', { status: 'cancelled' }, 'cancelled'],
      ['has a payment hold that ran out', { dispatchInS: -1 }, 'cancelled'],
    ])('the result alone when the next %s', async (_why, next, becomes) => {
      const [first, behind] = await two('att_n2', next);
      expect(await both('att_n2', behind)).toEqual({ closed: 'closed', opened: 'withdrawn' });
      expect([await status(first), await status(behind)]).toEqual(['registered', becomes]);
      expect((await rig.ours.read(DEVICE, 10))!.openAttempt).toBeNull();
    });

    test('the result alone when another stands before the next, or it is of another device', async () => {
      const [first, before] = await two('att_n3');
      const behind = await rig.createReceipt();
      expect(await both('att_n3', behind)).toEqual({ closed: 'closed', opened: 'withdrawn' });
      expect([await status(first), await status(before), await status(behind)]).toEqual([
        ...['registered', 'accepted', 'accepted'],
      ]);
      await rig.addDevice('dev_2');
      expect(await rig.ours.openAttempt(intent(before, 'att_n4'))).toBe('opened');
      const elsewhere = await rig.createReceipt({ deviceId: 'dev_2' });
      const closed = await both('att_n4', elsewhere, { receiptSeq: 42 });
      expect([closed.opened, await status(before), await status(elsewhere)]).toEqual([
        ...['withdrawn', 'registered', 'accepted'],
      ]);
    });

    test('neither when the attempt was closed before', async () => {
      const [first, next] = await two('att_n5');
      const evidence = { baseline: BASELINE, why: 'parked' };
      await rig.ours.closeUnknown({ attemptId: 'att_n5', receiptId: first }, evidence, { mustSettle: false });
      expect(await both('att_n5', next)).toEqual({ closed: 'already_closed', opened: null });
      expect([await status(first), await status(next)]).toEqual(['unknown', 'accepted']);
      expect(await rig.ours.read(DEVICE, 10)).toMatchObject({ openAttempt: null, baseline: null });
    });

    test('neither when another receipt has the sequence; the result alone says so', async () => {
      const [, second] = await two('att_n6');
      expect(await both('att_n6', second)).toMatchObject({ opened: 'opened' });
      const third = await rig.createReceipt();
      expect(await both('att_n6_next', third)).toEqual({ closed: null, opened: null });
      expect([await status(second), await status(third)]).toEqual(['sending', 'accepted']);
      expect(await rig.attemptState('att_n6_next')).toBe('open');
      expect(await rig.ours.closeRegistered(close('att_n6_next'))).toBe('sequence_taken');
    });

    test('of two at the same time that close the same attempt one does', async () => {
      const [, next] = await two('att_n7');
      const results = await Promise.all([both('att_n7', next), rig.others.closeRegistered(close('att_n7'))]);
      const isFirst = results[1] === 'already_closed';
      expect(results[0]).toEqual(
        isFirst ? { closed: 'closed', opened: 'opened' } : { closed: 'already_closed', opened: null },
      );
      expect(await status(next)).toBe(isFirst ? 'sending' : 'accepted');
    });
  });
}
