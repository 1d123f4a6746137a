import type { Baseline } from '#fiscal-domain';
import { ForAWhile, withoutTrace, type Clock } from '#runtime';
import type { Later } from '../shares/places.js';
import { composeRequest } from './compose-request.js';
import type { BegunSend, LaneInHand } from './lane-in-hand.js';
import type { NewIntent, NewIntents } from './new-intents.js';
import type { WaitingReceipt } from './ports.js';
import type { SendTurns } from './send-turns.js';

/**
 * A connection that is kept is there at once. Longer is not waited for: the answer in hand is recorded first, and the next
 * receipt goes its own way.
 */
const CONNECTED_WITHIN_MS = 100;
/** For so long nothing is prepared at a register whose connection was not there at once, or was closed meanwhile. */
const NOT_AGAIN_FOR_MS = 60_000;

/** The next receipt of a lane, as far as it can be without its intent. */
export interface PreparedNext {
  intent: NewIntent['intent'];
  begun: BegunSend;
  /** Its intent was not written. May be called twice. */
  abandon(): void;
}

/**
 * Prepares the next receipt while the answer to the one before is in hand, so that its intent is written with that one's result. Only
 * what is plain: anything that has to be asked or waited for is left to the receipt's own turn.
 */
export class PrepareNext {
  /** Devices at which nothing is prepared. */
  private readonly avoided: ForAWhile;

  constructor(
    private readonly turns: SendTurns,
    private readonly intents: NewIntents,
    clock: Pick<Clock, 'monotonicMs'>,
    private readonly later: Later,
  ) {
    this.avoided = new ForAWhile(NOT_AGAIN_FOR_MS, () => clock.monotonicMs());
  }

  /** This register has no connection at once, or closes kept ones: its receipts go their own way for a while. */
  avoid(deviceId: string): void {
    this.avoided.add(deviceId);
  }

  /** @param baseline after the result in hand. Null: it is not to be sent with it */
  async prepare(lane: LaneInHand, receipt: WaitingReceipt, baseline: Baseline): Promise<PreparedNext | null> {
    try {
      return await this.tryTo(lane, receipt, baseline);
    } catch {
      // The answer in hand goes first; the receipt's own turn meets the same error, and reports it.
      return null;
    }
  }

  private async tryTo(lane: LaneInHand, receipt: WaitingReceipt, baseline: Baseline): Promise<PreparedNext | null> {
    if (!isPlain(lane, receipt) || this.avoided.has(lane.device.id)) return null;
    const composed = composeRequest(receipt, lane.device);
    if (composed.kind === 'refused') return null;
    const { bytes: request } = composed;
    // The turn before the connection: where none is free, no connection is opened that would be given up.
    const turn = this.turns.takeNow();
    if (turn === null) return null;
    const call = await this.connect(lane, receipt, request).catch((error: unknown) => {
      turn.end('unused');
      throw error;
    });
    if (call === null || lane.isStopping() || !lane.laneLock.isHeld()) {
      call?.abandon();
      turn.end('unused');
      return null;
    }
    const { intent, attempt, isFresh } = this.intents.begin(lane, receipt, { request, baseline });
    return {
      intent,
      begun: { attempt, call, isFresh, areKeysFresh: null, turn, isKept: true },
      abandon: () => {
        call.abandon();
        turn.end('unused');
      },
    };
  }

  private async connect(lane: LaneInHand, receipt: WaitingReceipt, request: Buffer): Promise<BegunSend['call'] | null> {
    // The trace at hand is that of the receipt before.
    const preparing = withoutTrace(() => lane.prepareAtOnce(request, receipt.id));
    let isTooLate = false;
    let cancel = (): void => undefined;
    const late = new Promise<null>((resolve) => {
      cancel = this.later(CONNECTED_WITHIN_MS, () => {
        isTooLate = true;
        this.avoid(lane.device.id);
        resolve(null);
      });
    });
    const used = preparing.then((prepared): BegunSend['call'] | null => {
      cancel();
      if (prepared.kind === 'not_sent') return null;
      if (!isTooLate) return prepared.call;
      prepared.call.abandon();
      return null;
    });
    return Promise.race([used, late]);
  }
}

/** A register that knows its keys, and a receipt that it cannot have seen. What is traced is shown on its own. */
function isPlain({ baseline }: LaneInHand, receipt: WaitingReceipt): boolean {
  const { mayBeRegistered, isFromCopy = false, traceParent = null } = receipt;
  return baseline.journalId !== null && !mayBeRegistered && !isFromCopy && traceParent === null;
}
