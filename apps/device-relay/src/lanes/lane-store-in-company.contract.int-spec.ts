// Promise: what a lane writes in one statement with another lane moves the rows exactly as the simulation assumes.
import type { LaneRepository } from './lane.repository.js';
import type { LaneStore } from './ports.js';
import { closeAndOpenContract } from './testing/close-and-open-contract.js';
import { LaneRows } from './testing/lane-rows.js';
import { laneStoreContract } from './testing/lane-store-contract.js';
import { rigOf } from './testing/lane-store-rig.js';
import { sendingAgainContract } from './testing/sending-again-contract.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

/** The same store, where each result and each intent comes with an intent of another lane. */
function inCompany(store: LaneRepository): LaneStore {
  const beside = async <T>(entry: Promise<T>): Promise<T> => {
    // Of a receipt that is not there: nothing of it is written.
    expect(await store.openAttempt({ ...rows.intent('rcp_none'), deviceId: 'dev_none' })).toBe('withdrawn');
    return entry;
  };
  return {
    ...store,
    openAttempt: (intent) => beside(store.openAttempt(intent)),
    closeRegistered: (close) => beside(store.closeRegistered(close)),
    closeAndOpen: (close, next) => beside(store.closeAndOpen(close, next)),
  };
}

const rig = rigOf(() => rows, inCompany);
laneStoreContract(rig);
sendingAgainContract(rig);
closeAndOpenContract(rig);
