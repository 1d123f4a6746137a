import { decideAnswer } from '#fiscal-domain';
import { newId, type Clock } from '#runtime';
import type { PreparedReceipt } from '../devices/register.js';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import { beginRepeatGuard, beginSendGuard } from './lane-timing.js';
import type { LaneStore, OpenAttempt, SettledNotices, WaitingReceipt } from './ports.js';
import type { RecordOutcome } from './record-outcome.js';
import type { SendTurn, SendTurns } from './send-turns.js';

/** All but the intent is there. */
export interface ReadyToSend {
  request: Buffer;
  /** On an open connection. */
  call: Extract<PreparedReceipt, { kind: 'ready' }>['call'];
  /** Of a repetition under a known key. Null: it is none. */
  areKeysFresh: (() => boolean) | null;
}

/** The part of sending that has to be quick: intent → first byte, with as many lanes at a time as are in time. */
export class SendInTurn {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly outcomes: RecordOutcome,
    private readonly notices: SettledNotices,
    private readonly turns: SendTurns,
    private readonly clock: Clock,
  ) {}

  /** Begun before the register is asked which keys it has. */
  beginKeysGuard(): () => boolean {
    return beginRepeatGuard(this.clock);
  }

  async send(lane: LaneInHand, receipt: WaitingReceipt, ready: ReadyToSend): Promise<Step> {
    const { call, areKeysFresh } = ready;
    const turn = await this.turns.take({ isUrgent: areKeysFresh !== null });
    try {
      if (areKeysFresh?.() ?? true) return await this.fromIntent(lane, receipt, ready, turn);
      call.abandon();
      return await this.setbacks.ownDelay(lane, 'the turn to send came too late');
    } finally {
      turn.end('unused');
    }
  }

  /** The turn ends with the first byte: the register's answer may take long. */
  private async fromIntent(
    lane: LaneInHand,
    receipt: WaitingReceipt,
    { request, call, areKeysFresh }: ReadyToSend,
    turn: SendTurn,
  ): Promise<Step> {
    const isIntentFresh = beginSendGuard(this.clock);
    const attemptId = newId('att');
    const { baseline } = lane;
    const intent = {
      attemptId,
      receiptId: receipt.id,
      deviceId: lane.device.id,
      baseline,
      request,
      laneLock: lane.laneLock,
    };
    const opened = await this.store.openAttempt(intent).catch((error: unknown) => {
      call.abandon();
      throw error;
    });
    if (opened !== 'opened') {
      call.abandon();
      // The lock session ends by itself, and the next one takes no lane before it has compared the database's identity.
      if (opened === 'lane_not_held') return { kind: 'wait', afterMs: 1_000 };
      // What was read before is no longer true: going on with it could send the receipts behind it first.
      if (opened === 'withdrawn') this.notices.notify(receipt.id);
      return { kind: 'reread' };
    }
    const { document } = receipt;
    const attempt: OpenAttempt = {
      id: attemptId,
      receiptId: receipt.id,
      baseline,
      request,
      document,
      createdAt: this.clock.now(),
      ageMs: 0,
      refusedAgoMs: null,
      traceParent: receipt.traceParent ?? null,
    };
    const answer = await call.send(() => {
      const isInTime = isIntentFresh();
      turn.end(isInTime ? 'in_time' : 'late');
      return isInTime && (areKeysFresh?.() ?? true) && lane.laneLock.isHeld();
    });
    const outcome = decideAnswer({ baseline, isRefund: document.type === 'refund' }, answer);
    return this.outcomes.record(lane, { attempt, answer }, outcome);
  }
}
