import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';

/**
 * Opens the shift beneath a receipt that met F-002. "Already open" counts as open: a cashier at the register was faster,
 * and the message of F-003 and F-005 names no code of its own for it, so the next answer to the receipt itself shows it.
 */
export async function openShift(lane: LaneInHand, setbacks: LaneSetbacks): Promise<Step> {
  const answer = await lane.register.openShift();
  switch (answer.kind) {
    case 'ok':
      return setbacks.shiftOpened(lane);
    case 'refused':
      if (answer.code === 'E-002') return setbacks.refused(lane, 'expired', `${answer.code}: ${answer.message}`);
      if (answer.code === 'F-003' || answer.code === 'F-005')
        return setbacks.retryLater(lane, `${answer.code}: ${answer.message}`);
      return setbacks.refused(lane, 'blocked', `${answer.code}: ${answer.message}`);
    case 'unreachable':
      return setbacks.unreachable(lane, `POST /z-report/open: ${answer.reason}`);
    case 'unclear':
      return setbacks.retryLater(lane, `POST /z-report/open: ${answer.reason}`);
  }
}
