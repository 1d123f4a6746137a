import type { CloseRegistered, LateAnswer } from '#ledger';
import type { Logger } from '#runtime';
import type { DeviceClocks } from './device-clocks.js';
import type { BegunSend, LaneInHand } from './lane-in-hand.js';
import type { LaneStore } from './ports.js';
import type { PreparedNext } from './prepare-next.js';

/** Pauses between tries to record what the register has answered; the last one again and again. */
const RECORD_AGAIN_MS = [100, 500, 1_000, 2_000] as const;

/** A registration that a register has answered and that the ledger does not have yet. */
export interface AnswerInHand {
  receiptId: string;
  close: CloseRegistered;
}

/** Keeps answers beyond the life of this process. */
export interface AnswerSpool {
  /** On disk when it resolves. */
  keep(answer: AnswerInHand): Promise<void>;
  drop(attemptId: string): Promise<void>;
}

export type Recorded =
  /** `begun`: the next receipt, whose intent was written with it. */
  | { kind: 'closed'; begun: BegunSend | null }
  | { kind: 'sequence_taken' }
  /** A successor or an operator had closed the attempt. */
  | { kind: 'late'; late: LateAnswer }
  /** This process stops; what was spooled is recorded by the next start. */
  | { kind: 'kept' };

type Late = Extract<Recorded, { kind: 'late' }>;

/** One try: of an attempt that was closed meanwhile, what it was closed with is completed, proven or contradicted. @throws when the database is away */
export async function recordOnce(
  store: Pick<LaneStore, 'closeRegistered' | 'recordLateAnswer'>,
  answer: AnswerInHand,
): Promise<{ kind: 'closed' } | { kind: 'sequence_taken' } | Late> {
  const closed = await store.closeRegistered(answer.close);
  if (closed === 'already_closed') return recordLate(store, answer);
  return { kind: closed };
}

async function recordLate(
  store: Pick<LaneStore, 'recordLateAnswer'>,
  { receiptId, close }: AnswerInHand,
): Promise<Late> {
  const { deviceId, registration } = close;
  const evidence = close.evidence === 'journal' ? 'journal' : 'answer';
  return { kind: 'late', late: await store.recordLateAnswer({ receiptId, deviceId, registration, evidence }) };
}

/** A successor closed the attempt while we were paused, or an operator did, or we ourselves without noticing. */
export function logLate(logger: Logger, { deviceId, attemptId }: AnswerInHand['close'], late: LateAnswer): void {
  const level = late === 'same' ? 'info' : 'error';
  logger[level](
    { device_id: deviceId, attempt_id: attemptId, late },
    'the attempt was closed before its answer was recorded',
  );
}

/**
 * Records registrations. A register without keys cannot give an answer a second time, so one that is in hand is kept: it is
 * tried again until it is recorded or this process stops. From the first failure on it is on the local disk as well.
 */
export class RecordAnswer {
  private readonly stopped: Promise<void>;
  private endWaiting: () => void = () => undefined;
  private stopping = false;

  constructor(
    private readonly store: Pick<LaneStore, 'closeRegistered' | 'closeAndOpen' | 'recordLateAnswer'>,
    private readonly spool: AnswerSpool,
    private readonly logger: Logger,
    private readonly pause: (ms: number) => Promise<void>,
    private readonly clocks: Pick<DeviceClocks, 'note'> | null = null,
  ) {
    this.stopped = new Promise((resolve) => (this.endWaiting = resolve));
  }

  /** What waits is tried once more and then left to the spool. */
  stop(): void {
    this.stopping = true;
    this.endWaiting();
  }

  /**
   * @param next the receipt behind it: with the first try its intent is written too. Whether such a try was lost with its answer does
   * not matter: what it wrote is found closed, and the next receipt as the lane's open attempt.
   */
  async record(lane: LaneInHand, answer: AnswerInHand, next: PreparedNext | null = null): Promise<Recorded> {
    const { deviceId, evidence, registration } = answer.close;
    // What a journal or counters have proven was registered at some other time, and a replayed answer was given earlier.
    if (evidence === 'answer') this.clocks?.note(deviceId, registration.transactionTimeMs);
    for (let failures = 0; ; failures += 1) {
      const isLastTry = this.stopping;
      try {
        const recorded =
          next !== null && failures === 0 ? await this.recordWith(next, answer) : await this.recordNow(answer);
        if (failures > 0) await this.drop(answer);
        return recorded;
      } catch (error) {
        this.logger.error({ err: error, attempt_id: answer.close.attemptId }, 'registered, but not recorded yet');
      }
      if (failures === 0) await this.keep(answer);
      if (isLastTry) return { kind: 'kept' };
      const pauseMs = RECORD_AGAIN_MS[Math.min(failures, RECORD_AGAIN_MS.length - 1)] ?? 0;
      await lane.patiently(() => Promise.race([this.pause(pauseMs), this.stopped]));
    }
  }

  /** One try. @throws when the database is away */
  async recordNow(answer: AnswerInHand): Promise<Exclude<Recorded, { kind: 'kept' }>> {
    const recorded = await recordOnce(this.store, answer);
    return recorded.kind === 'closed' ? { ...recorded, begun: null } : recorded;
  }

  /** One try, with the intent of the next. The lane is to see for itself why that one was not written. */
  private async recordWith(next: PreparedNext, answer: AnswerInHand): Promise<Exclude<Recorded, { kind: 'kept' }>> {
    let isBegun = false;
    try {
      const { closed, opened } = await this.store.closeAndOpen(answer.close, next.intent);
      isBegun = opened === 'opened';
      if (closed === 'closed') return { kind: 'closed', begun: isBegun ? next.begun : null };
      if (closed === 'already_closed') return await recordLate(this.store, answer);
    } finally {
      if (!isBegun) next.abandon();
    }
    return this.recordNow(answer);
  }

  /** Without the disk it is in memory alone; the log has all of it for a person. */
  private async keep(answer: AnswerInHand): Promise<void> {
    try {
      await this.spool.keep(answer);
    } catch (error) {
      this.logger.error({ err: error, answer }, 'an answer in hand could not be written to the spool');
    }
  }

  private async drop({ close: { attemptId } }: AnswerInHand): Promise<void> {
    try {
      await this.spool.drop(attemptId);
    } catch (error) {
      // It is recorded once more by the next start, which changes nothing.
      this.logger.warn({ err: error, attempt_id: attemptId }, 'a recorded answer stays in the spool');
    }
  }
}
