// Promise: the simulation's ledger moves as the rows in PostgreSQL do; what it proves is true of them.
import { DEFAULT_PROFILE, type Registration, type Rejection } from '#fiscal-domain';
import type { CloseRegistered, Intent } from '#ledger';
import {
  ledgerContract,
  SITUATIONS,
  type Situation,
  type Verb,
} from '../../../../../libs/ledger/src/testing/ledger-contract.js';
import { closeAndOpenContract } from '../testing/close-and-open-contract.js';
import { BASELINE } from '../testing/lane-rows.js';
import { laneStoreContract, type LaneStoreRig } from '../testing/lane-store-contract.js';
import { sendingAgainContract } from '../testing/sending-again-contract.js';
import { Chance, Trace } from './testing/chance.js';
import { storeOver } from './testing/database-client.js';
import { documentOf } from './testing/documents.js';
import { Ledger } from './testing/gateway-ledger.js';
import type { ReceiptRow } from './testing/ledger-rows.js';
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
  laneLock: () => ({
    ...{ lockNumber: LOCK_NUMBER, backendPid: SESSION, serverStartedAt: '' },
    ...{ isHeld: () => true, release: () => Promise.resolve(), releaseAndAsk: () => Promise.resolve(null) },
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
  sendAgain: (receiptId) => Promise.resolve(void ledger.sendAgain(ledger.receipts.get(receiptId)!)),
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
closeAndOpenContract(rig);

const FISCAL = { terminalId: 'UZ1', receiptSeq: 41, fiscalSign: 'sign' };
const REGISTRATION: Registration = {
  ...{ ...FISCAL, verificationUrl: 'https://ofd.example/41', transactionTimeMs: 0, ofdSent: false, ofdError: null },
  ...{ recordedFields: [], shiftNumber: null },
};
const REJECTION: Rejection = { code: 'E-013', rule: null, detail: 'no', line: null };

function row(situation: Situation): ReceiptRow {
  receipts += 1;
  const id = `rcp_${receipts}`;
  return {
    ...{ id, deviceId: 'dev_1', place: receipts, status: SITUATIONS[situation] },
    ...{ document: documentOf(id, new Chance(receipts)), updatedAtMs: clock.nowMs, openAttemptId: null },
    ...{ terminalId: null, receiptSeq: null, fiscalSign: null, sentAgainByOperator: false, attempts: [] },
    ...{ isProviders: situation === 'awaiting_provider' },
  };
}

const intentOf = (receiptId: string, attemptId: string, baseline = BASELINE): Intent => ({
  ...{ attemptId, receiptId, deviceId: 'dev_1', baseline },
  ...{ request: Buffer.from('x'), laneLock: rig.laneLock() },
});
const open = (receiptId: string, attemptId: string, baseline = BASELINE): string =>
  ledger.openAttempt(intentOf(receiptId, attemptId, baseline));

/** A row in a lane, brought to where it is wanted by the lane's own statements. */
function bring(receipt: ReceiptRow, attemptId: string, situation: Situation, baseline = BASELINE): void {
  receipt.status = 'accepted';
  ledger.accept(receipt);
  if (situation === 'accepted') return;
  const attempt = { attemptId, receiptId: receipt.id };
  open(receipt.id, attemptId, baseline);
  const evidence = { baseline: BASELINE, why: 'a test' };
  if (situation === 'accepted_again' || situation === 'unknown')
    ledger.closeUnknown(attempt, evidence, { mustSettle: false });
  if (situation === 'accepted_again') ledger.sendAgain(receipt);
  const registration = { ...REGISTRATION, terminalId: 'UZ9', receiptSeq: 9 };
  if (situation === 'registered')
    ledger.closeRegistered({
      ...{
        ...attempt,
        deviceId: 'dev_1',
        registration,
        evidence: 'answer',
        baseline: BASELINE,
        lastKnown: null,
      },
    });
  if (situation === 'rejected') ledger.closeRejected(attempt, REJECTION, evidence, rig.laneLock());
}

const closeOf = (receiptId: string, attemptId: string): CloseRegistered => ({
  ...{ attemptId, receiptId, deviceId: 'dev_1', registration: REGISTRATION, evidence: 'answer', lastKnown: null },
  baseline: BASELINE,
});

const VERB: Record<Verb, (receipt: ReceiptRow, attemptId: string) => unknown> = {
  release: (receipt) => ledger.release(receipt),
  registerByProvider: (receipt) => ledger.registerByProvider(receipt, FISCAL),
  cancelReceipt: (receipt) => ledger.cancel(receipt),
  cancelUnpaid: (receipt) => ledger.cancelUnpaid(receipt),
  openAttempt: (receipt, attemptId) => open(receipt.id, `${attemptId}b`),
  rejectUnsent: (receipt) => ledger.rejectUnsent({ receiptId: receipt.id, deviceId: 'dev_1' }, REJECTION),
  closeRegistered: (receipt, attemptId) => ledger.closeRegistered(closeOf(receipt.id, attemptId)),
  closeAndOpen: (receipt, attemptId) => {
    const next = row('accepted');
    ledger.accept(next);
    return ledger.closeAndOpen(closeOf(receipt.id, attemptId), intentOf(next.id, `att_${next.id}`));
  },
  closeRejected: ({ id: receiptId }, attemptId) =>
    ledger.closeRejected({ attemptId, receiptId }, REJECTION, {}, rig.laneLock()),
  closeNotRegistered: ({ id: receiptId }, attemptId) =>
    ledger.closeNotRegistered({ attemptId, receiptId }, {}, rig.laneLock()),
  closeUnknown: ({ id: receiptId }, attemptId) =>
    ledger.closeUnknown({ attemptId, receiptId }, { why: 'a test' }, { mustSettle: false }),
  recordLateAnswer: ({ id }) =>
    ledger.recordLateAnswer({ receiptId: id, deviceId: 'dev_1', registration: REGISTRATION }),
  parkAttempt: (receipt) => ledger.park(receipt),
  parkAttemptsOfTerminal: (receipt) => ledger.park(receipt),
  holdCopied: (receipt) => ledger.holdCopied(receipt),
  holdBackUnproven: () => ledger.holdBackUnproven('dev_1'),
  sendAgain: (receipt) => ledger.sendAgain(receipt),
  rejectUnregistered: (receipt) => ledger.rejectUnregistered(receipt, REJECTION),
  registerByOperator: (receipt) => ledger.registerByOperator(receipt, FISCAL),
  releaseCompared: (receipt) => ledger.releaseCompared(receipt),
};

describe('every verb of the ledger', () => {
  ledgerContract({
    begin: () => rig.begin(),
    end: () => rig.end(),
    createIn: (situation, journalId) => {
      const receipt = row(situation);
      const attemptId = `att_${receipt.id}`;
      if (receipt.status === 'awaiting_payment') ledger.awaitPayment(receipt);
      else if (situation === 'cancelled') ledger.receipts.set(receipt.id, receipt);
      else bring(receipt, attemptId, situation, { ...BASELINE, journalId: journalId ?? null });
      return Promise.resolve({ receiptId: receipt.id, attemptId });
    },
    apply: (verb, { receiptId, attemptId }) => {
      VERB[verb](ledger.receipts.get(receiptId)!, attemptId);
      return Promise.resolve();
    },
    statusOf: (id) => Promise.resolve(ledger.receipts.get(id)!.status),
    mustSettle: () => Promise.resolve(ledger.laneOf('dev_1').mustSettle),
    eventsOf: () => Promise.resolve(null),
  });
});
