// Promise: what a lane writes in one statement with another lane moves the rows exactly as the simulation assumes.
import { isDeepStrictEqual } from 'node:util';
import { LaneRepository } from './lane.repository.js';
import type { LaneStore } from './ports.js';
import { closeAndOpenContract } from './testing/close-and-open-contract.js';
import { countGroups } from './testing/count-groups.js';
import { LaneRows } from './testing/lane-rows.js';
import { laneStoreContract } from './testing/lane-store-contract.js';
import { rigOf } from './testing/lane-store-rig.js';
import { sendingAgainContract } from './testing/sending-again-contract.js';

/** Each by a unique index: the group was refused as a whole, and each wrote by itself. */
const REFUSED: readonly unknown[] = ['sequence_taken', 'lane_occupied', { closed: null, opened: null }];

let rows: LaneRows;
let groups: () => number;

beforeAll(async () => {
  rows = await LaneRows.start();
  groups = countGroups(rows.prisma);
});

afterAll(() => rows?.stop());

/** A store of this relay that writes each result and each intent with an intent of another lane. */
function inCompany(relayId: string): LaneStore {
  // A new one: a lane that was refused writes by itself for a while.
  const store = new LaneRepository(rows.prisma, relayId);
  const beside = async <T>(entry: Promise<T>): Promise<T> => {
    const before = groups();
    // Of a receipt that is not there: nothing of it is written.
    expect(await store.openAttempt({ ...rows.intent('rcp_none'), deviceId: 'dev_none' })).toBe('withdrawn');
    const answer = await entry;
    if (!REFUSED.some((refused) => isDeepStrictEqual(refused, answer))) expect(groups()).toBeGreaterThan(before);
    return answer;
  };
  return {
    ...store,
    openAttempt: (intent) => beside(store.openAttempt(intent)),
    closeRegistered: (close) => beside(store.closeRegistered(close)),
    closeAndOpen: (close, next) => beside(store.closeAndOpen(close, next)),
  };
}

const rig = rigOf(
  () => rows,
  (_store, relayId) => inCompany(relayId),
);
laneStoreContract(rig);
sendingAgainContract(rig);
closeAndOpenContract(rig);
