import type { Baseline } from '#fiscal-domain';
import type { Intent } from '#ledger';
import { newId, type Clock } from '#runtime';
import type { LaneInHand } from './lane-in-hand.js';
import { beginRepeatGuard, beginSendGuard } from './lane-timing.js';
import type { OpenAttempt, WaitingReceipt } from './ports.js';

/** An intent that is about to be written, and the attempt that it will be. */
export interface NewIntent {
  intent: Intent;
  attempt: OpenAttempt;
  /** The send guard, from this moment on. */
  isFresh: () => boolean;
}

/** Makes intents. Their guards begin before the statement leaves. */
export class NewIntents {
  constructor(private readonly clock: Clock) {}

  begin(
    lane: LaneInHand,
    receipt: WaitingReceipt,
    { request, baseline }: { request: Buffer; baseline: Baseline },
  ): NewIntent {
    const isFresh = beginSendGuard(this.clock);
    const attemptId = newId('att');
    const { id: receiptId, document, traceParent = null } = receipt;
    // Of the register as the attempt finds it; which document of ours is the last stands with the lane.
    const { own: _own, ...found } = baseline;
    return {
      intent: { attemptId, receiptId, deviceId: lane.device.id, baseline: found, request, laneLock: lane.laneLock },
      attempt: {
        ...{ id: attemptId, receiptId, baseline: found, request, document, traceParent },
        ...{ createdAt: this.clock.now(), ageMs: 0, refusedAgoMs: null },
      },
      isFresh,
    };
  }

  /** Of a repetition under a known key: begun before the register is asked which keys it has. */
  beginKeysGuard(): () => boolean {
    return beginRepeatGuard(this.clock);
  }
}
