import { decideAnswer } from '#fiscal-domain';
import { baselineAfter, type BegunSend, type LaneInHand, type Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { NewIntents } from './new-intents.js';
import type { LaneStore, WaitingReceipt } from './ports.js';
import type { PrepareNext } from './prepare-next.js';
import type { RecordOutcome } from './record-outcome.js';
import type { SendTurn, SendTurns } from './send-turns.js';

/** All but the intent is there. */
export interface ReadyToSend {
  request: Buffer;
  /** On an open connection. */
  call: BegunSend['call'];
  /** Of a repetition under a known key. Null: it is none. */
  areKeysFresh: (() => boolean) | null;
}

/** The part of sending that has to be quick: intent → first byte, with as many lanes at a time as are in time. */
export class SendUnderIntent {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly outcomes: RecordOutcome,
    private readonly turns: SendTurns,
    private readonly intents: NewIntents,
    private readonly following: PrepareNext,
  ) {}

  /** Begun before the register is asked which keys it has. */
  beginKeysGuard(): () => boolean {
    return this.intents.beginKeysGuard();
  }

  /** @param upcoming the receipt behind it, whose intent may be written with its result */
  async send(
    lane: LaneInHand,
    receipt: WaitingReceipt,
    ready: ReadyToSend,
    upcoming: WaitingReceipt | null,
  ): Promise<Step> {
    const { call, areKeysFresh } = ready;
    const turn = await this.turns.take({ isUrgent: areKeysFresh !== null });
    try {
      if (!(areKeysFresh?.() ?? true)) {
        call.abandon();
        return await this.setbacks.ownDelay(lane, 'the turn to send came too late');
      }
      const begun = await this.writeIntent(lane, receipt, ready, turn);
      return 'kind' in begun ? begun : await this.sendBegun(lane, begun, upcoming);
    } finally {
      turn.end('unused');
    }
  }

  /** The turn ends with the first byte: the register's answer may take long. */
  async sendBegun(lane: LaneInHand, begun: BegunSend, upcoming: WaitingReceipt | null): Promise<Step> {
    const { attempt, call, isFresh, areKeysFresh, turn, isKept } = begun;
    const { baseline, document } = attempt;
    try {
      const answer = await call.send(() => {
        const isInTime = isFresh();
        turn.end(isInTime ? 'in_time' : 'late');
        return isInTime && (areKeysFresh?.() ?? true) && lane.laneLock.isHeld();
      });
      const outcome = decideAnswer({ baseline, isRefund: document.type === 'refund' }, answer);
      if (isKept && outcome.kind === 'not_sent' && outcome.reason !== 'guard') {
        this.following.avoid(lane.device.id);
        return await this.outcomes.recordClosedBefore({ attempt, answer }, lane);
      }
      const isExpected = outcome.kind === 'registered' && !outcome.foreignSales;
      const next =
        isExpected && upcoming !== null
          ? await this.following.prepare(lane, upcoming, baselineAfter(lane, outcome.registration))
          : null;
      return await this.outcomes.record(lane, { attempt, answer, next }, outcome);
    } finally {
      turn.end('unused');
    }
  }

  private async writeIntent(
    lane: LaneInHand,
    receipt: WaitingReceipt,
    { request, call, areKeysFresh }: ReadyToSend,
    turn: SendTurn,
  ): Promise<BegunSend | Step> {
    const { intent, attempt, isFresh } = this.intents.begin(lane, receipt, { request, baseline: lane.baseline });
    const mayBeThere = areKeysFresh !== null;
    const opened = await this.store.openAttempt({ ...intent, mayBeThere }).catch((error: unknown) => {
      call.abandon();
      throw error;
    });
    if (opened === 'opened') return { attempt, call, isFresh, areKeysFresh, turn, isKept: false };
    call.abandon();
    // The lock session ends by itself, and the next one takes no lane before it has compared the database's identity.
    if (opened === 'lane_not_held') return { kind: 'wait', afterMs: 1_000 };
    // What was read before is no longer true: going on with it could send the receipts behind it first.
    if (opened === 'withdrawn') this.outcomes.noteWithdrawn(receipt.id);
    return { kind: 'reread' };
  }
}
