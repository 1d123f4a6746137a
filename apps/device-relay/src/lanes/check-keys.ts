import type { Baseline } from '#fiscal-domain';
import { checkRegister } from '../devices/check-register.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';

export type KeyCheck = { kind: 'there'; baseline: Baseline } | { kind: 'gone'; step: Step };

/**
 * Whether the register still is the one that knows the keys it was sent: a cleared, restored or exchanged one has
 * forgotten them, and whatever is repeated there is registered a second time. To be asked on behalf of a connection that
 * is open already: a register that is exchanged afterwards starts anew, and its old connections are dead.
 */
export async function checkKeys(lane: LaneInHand, known: Baseline, setbacks: LaneSetbacks): Promise<KeyCheck> {
  const { own, journalId } = lane.baseline;
  const ours = own && journalId === known.journalId ? { ...known, own } : known;
  const check = await checkRegister(lane.register, ours);
  if (check.kind !== 'same') return { kind: 'gone', step: await setbacks.unfit(lane, check) };
  if (check.baseline.journalId !== null) return { kind: 'there', baseline: check.baseline };
  return { kind: 'gone', step: await setbacks.replaced(lane, 'the register lost its idempotency keys') };
}
