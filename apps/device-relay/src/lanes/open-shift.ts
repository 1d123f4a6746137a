import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';

/**
 * Opens the shift beneath a receipt that met F-002. "Already open" counts as open: somebody at the register was faster,
 * and the message of F-003 and F-005 names no code of its own for it, so the receipt itself tells by the next answer.
 */
export async function openShift(lane: LaneInHand, setbacks: LaneSetbacks): Promise<Step> {
  const answer = await lane.register.openShift();
  switch (answer.kind) {
    case 'ok':
      // At once, but only once: a register that says it opened and stays closed must not spin.
      if (lane.failures > 0) return setbacks.retryLater(lane, 'the shift is open, and the receipt met F-002 again');
      await setbacks.retryNow(lane, 'the shift was opened');
      return { kind: 'reread' };
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
