import { inSpan, readTraceParent, withoutTrace } from '#runtime';
import { checkRegister } from '../devices/check-register.js';
import { takenBy } from '../devices/lane-device.js';
import type { PreparedReceipt } from '../devices/register.js';
import { checkKeys } from './check-keys.js';
import { composeRequest, type ComposedRequest } from './compose-request.js';
import type { BegunSend, LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { LaneStore, SettledNotices, WaitingReceipt } from './ports.js';
import type { RecordOutcome } from './record-outcome.js';
import type { SendUnderIntent } from './send-under-intent.js';
import type { TakeBaseline } from './take-baseline.js';

/** How a receipt stands between those before and behind it. */
export interface Following {
  begun: BegunSend | null;
  upcoming: WaitingReceipt | null;
}

/**
 * One receipt to one register: connection → intent → bytes → result (docs/architecture.md).
 *
 * Crash windows, all healed by the open attempt that the next owner of the lane resolves before anything else:
 * after the intent's commit and before the bytes (the register has nothing), while they are on their way (unknown),
 * after the register's answer and before our commit (the register has it, we do not know). Where the result is committed with the
 * intent of the receipt behind it, the third of one receipt and the first of the next begin and end with the same commit.
 */
export class SendReceipt {
  constructor(
    private readonly store: LaneStore,
    private readonly setbacks: LaneSetbacks,
    private readonly baselines: TakeBaseline,
    private readonly outcomes: RecordOutcome,
    private readonly notices: SettledNotices,
    private readonly sending: SendUnderIntent,
  ) {}

  /**
   * In the trace of the request that the receipt came with.
   *
   * @param following `begun`: its intent, where that was written with the result before. `upcoming`: the receipt behind it
   */
  send(lane: LaneInHand, receipt: WaitingReceipt, { begun, upcoming }: Following): Promise<Step> {
    const parent = readTraceParent(receipt.traceParent);
    const attributes = { 'receipt.id': receipt.id, 'device.id': lane.device.id };
    return inSpan('lane send', { kind: 'consumer', parent, attributes }, async (span) => {
      const step = await (begun
        ? this.sending.sendBegun(lane, begun, upcoming)
        : this.sendNow(lane, receipt, upcoming));
      span.set({ step: step.kind });
      return step;
    });
  }

  private async sendNow(lane: LaneInHand, receipt: WaitingReceipt, upcoming: WaitingReceipt | null): Promise<Step> {
    // Accepted after the lanes were held, out of a payment that the copy had as open.
    if (receipt.isFromCopy && (await this.store.holdFromCopy(receipt.id))) {
      this.notices.notify(receipt.id);
      return { kind: 'reread' };
    }
    const composed = await this.compose(lane, receipt);
    if (composed.kind === 'unfit') return composed.step;
    if (composed.kind === 'refused') return this.outcomes.rejectUnsent(lane, receipt, composed.rejection);
    const { bytes: request } = composed;
    if (lane.baseline.journalId === null) {
      const setback = await this.baselines.take(lane);
      if (setback) return setback;
    }
    // The connection first: a register that is away costs no attempt, and a slow connect does not eat into the guard.
    const prepare = (): Promise<PreparedReceipt> => lane.register.prepareReceipt(request, receipt.id);
    // A register that knows the specification alone is sent no header beyond it.
    const prepared = await (lane.baseline.journalId === null ? withoutTrace(prepare) : prepare());
    if (prepared.kind === 'not_sent') return this.setbacks.unreachable(lane, prepared.reason);
    const isRepetition = receipt.mayBeRegistered && lane.baseline.journalId !== null;
    const areKeysFresh = isRepetition ? this.sending.beginKeysGuard() : null;
    if (areKeysFresh) {
      const keys = await checkKeys(lane, lane.baseline, this.setbacks);
      if (keys.kind === 'gone') {
        prepared.call.abandon();
        return keys.step;
      }
      lane.baseline = keys.baseline;
    }
    return this.sending.send(lane, receipt, { request, call: prepared.call, areKeysFresh }, upcoming);
  }

  /** What is known of a register may be old: a receipt ends by nothing but its present word. */
  private async compose(
    lane: LaneInHand,
    receipt: WaitingReceipt,
  ): Promise<ComposedRequest | { kind: 'unfit'; step: Step }> {
    const before = await this.maybeThere(lane, receipt);
    if (before !== null) return { kind: 'composed', bytes: before };
    const composed = composeRequest(receipt, lane.device);
    if (composed.kind === 'composed') return composed;
    const check = await checkRegister(lane.register, lane.baseline);
    if (check.kind !== 'same') return { kind: 'unfit', step: await this.setbacks.unfit(lane, check) };
    lane.device = { ...lane.device, ...takenBy(check.capabilities) };
    return composeRequest(receipt, lane.device);
  }

  /** What went out under the receipt's key and may be registered there: only the same bytes are the same document. */
  private async maybeThere({ baseline }: LaneInHand, { id, mayBeRegistered }: WaitingReceipt): Promise<Buffer | null> {
    return mayBeRegistered && baseline.journalId !== null ? this.store.unprovenRequest(id) : null;
  }
}
