// Promise: the simulation's ledger moves as the rows in PostgreSQL do; what it proves is true of them.
import { DEFAULT_PROFILE } from '#fiscal-domain';
import { laneStoreContract, type LaneStoreRig } from '../testing/lane-store-contract.js';
import { sendingAgainContract } from '../testing/sending-again-contract.js';
import { Chance, Trace } from './testing/chance.js';
import { storeOver } from './testing/database-client.js';
import { documentOf } from './testing/documents.js';
import { Ledger } from './testing/ledger.js';
import { Promises } from './testing/promises.js';

const LOCK_NUMBER = 1;
const SESSION = 1_000;
const clock = { nowMs: 0 };
let ledger: Ledger;
let receipts = 0;

function addDevice(id: string, lockNumber: number): void {
  const profile = { ...DEFAULT_PROFILE, sharing: 'exclusive' as const };
  ledger.addDevice({ id, state: 'online', profile, terminalId: null, journalId: null, keyed: false }, lockNumber);
}

const apply = <T>(statement: () => T): Promise<T> => Promise.resolve().then(statement);

const rig: LaneStoreRig = {
  get ours() {
    return storeOver(ledger, 'rly_ours', apply);
  },
  get others() {
    return storeOver(ledger, 'rly_others', apply);
  },
  grip: () => ({
    ...{ lockNumber: LOCK_NUMBER, backendPid: SESSION, serverStartedAt: '' },
    ...{ isHeld: () => true, release: () => Promise.resolve() },
  }),
  begin: () => {
    const trace = new Trace();
    ledger = new Ledger(clock, new Promises(clock, trace), trace);
    addDevice('dev_1', LOCK_NUMBER);
    ledger.locks.set(LOCK_NUMBER, SESSION);
    return Promise.resolve();
  },
  end: () => Promise.resolve(),
  addDevice: (id) => Promise.resolve(addDevice(id, LOCK_NUMBER + 1)),
  createReceipt: ({ deviceId = 'dev_1', status = 'accepted', dispatchInS } = {}) => {
    receipts += 1;
    const id = `rcp_${receipts}`;
    const row = {
      ...{
        id,
        deviceId,
        place: receipts,
        status: status as 'accepted',
        document: documentOf(id, new Chance(receipts)),
      },
      ...{ updatedAtMs: clock.nowMs, openAttemptId: null, terminalId: null, receiptSeq: null, fiscalSign: null },
      ...{ sentAgainByOperator: false, attempts: [] },
      ...(dispatchInS !== undefined && { dispatchBeforeMs: clock.nowMs + dispatchInS * 1_000 }),
    };
    if (status === 'accepted') ledger.accept(row);
    else ledger.receipts.set(id, row);
    return Promise.resolve(id);
  },
  receipt: (id) => Promise.resolve(ledger.receipts.get(id)!),
  attemptState: (id) => Promise.resolve(ledger.attempts.get(id)!.state),
  sendAgain: (receiptId) => Promise.resolve(ledger.sendAgain(ledger.receipts.get(receiptId)!)),
  passTime: (ms) => {
    clock.nowMs += ms;
    return Promise.resolve();
  },
  loseLock: () => {
    ledger.locks.clear();
    return Promise.resolve();
  },
  overdue: (overdueMs, limit) => Promise.resolve(ledger.overdueLanes('rly_ours', overdueMs, limit)),
};

laneStoreContract(rig);
sendingAgainContract(rig);
