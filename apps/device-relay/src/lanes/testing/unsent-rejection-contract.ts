import type { Rejection } from '#fiscal-domain';
import { BASELINE } from './lane-rows.js';
import type { LaneStoreRig } from './lane-store-contract.js';

const DEVICE = 'dev_1';
const REJECTION: Rejection = { code: 'field_unsupported', rule: null, detail: 'no', line: null };

/** A receipt that ends without an attempt, in every lane store. Called beside laneStoreContract, whose hooks begin and end the rig. */
export function unsentRejectionContract(rig: LaneStoreRig): void {
  describe('rejected unsent', () => {
    const reject = (receiptId: string, deviceId = DEVICE): Promise<boolean> =>
      rig.ours.rejectUnsent({ receiptId, deviceId }, REJECTION);
    const open = (receiptId: string, attemptId: string): Promise<string> =>
      rig.ours.openAttempt({ attemptId, receiptId, deviceId: DEVICE, baseline: BASELINE, request: Buffer.from('x') });
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
      await rig.ours.closeNotRegistered('att_u2', { proof: { kind: 'unproven' } }, rig.grip());
      expect([await reject(id), await status(id)]).toEqual([false, 'accepted']);
    });
  });
}
