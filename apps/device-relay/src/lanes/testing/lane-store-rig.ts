import type { LaneRepository } from '../lane.repository.js';
import type { LaneStore } from '../ports.js';
import type { LaneRows } from './lane-rows.js';
import type { LaneStoreRig } from './lane-store-contract.js';

/**
 * The rows in PostgreSQL, for the contracts of lane stores.
 *
 * @param rows begun before the first test
 * @param storeOf how the repository is used
 */
export function rigOf(
  rows: () => LaneRows,
  storeOf: (store: LaneRepository, relayId: string) => LaneStore = (store) => store,
): LaneStoreRig {
  return {
    get ours() {
      return storeOf(rows().ours, 'rly_ours');
    },
    get others() {
      return storeOf(rows().others, 'rly_others');
    },
    laneLock: () => rows().laneLock,
    begin: async () => {
      await rows().clear();
      await rows().holdLane();
    },
    end: () => rows().session.end(),
    addDevice: (id) => rows().createDevice(id),
    createReceipt: (fields) => rows().createReceipt(fields),
    receipt: async (id) => {
      const { status, terminal_id, receipt_seq, fiscal_sign } = await rows().receipt(id);
      const receiptSeq = receipt_seq === null ? null : Number(receipt_seq);
      return { status, terminalId: terminal_id, receiptSeq, fiscalSign: fiscal_sign } as Awaited<
        ReturnType<LaneStoreRig['receipt']>
      >;
    },
    attemptState: async (id) => String((await rows().attempt(id))['state']),
    sendAgain: async (receiptId, attemptId) => {
      await rows().sql.query(
        `UPDATE attempts SET state = 'not_registered', outcome = outcome || '{"resolution": {}}' WHERE id = $1`,
        [attemptId],
      );
      await rows().sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [receiptId]);
    },
    passTime: (ms) => rows().passTime(ms),
    loseLock: async () => {
      await rows().session.query('SELECT pg_advisory_unlock_all()');
    },
    overdue: async (overdueMs, lanes) => (await rows().ours.overdueLanes({ overdueMs, after: '', lanes })).due,
  };
}
