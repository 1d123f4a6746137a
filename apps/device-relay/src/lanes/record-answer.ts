import type { CloseRegistered, LateAnswer } from '#ledger';
import type { Logger } from '#runtime';
import type { LaneInHand } from './lane-in-hand.js';
import type { LaneStore } from './ports.js';

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
  | { kind: 'closed' | 'sequence_taken' }
  /** A successor or an operator had closed the attempt. */
  | { kind: 'late'; late: LateAnswer }
  /** This process stops; what was spooled is recorded by the next start. */
  | { kind: 'kept' };

/**
 * Records registrations. A register without keys cannot give an answer a second time, so one that is in hand is kept: it is
 * tried again until it is recorded or this process stops. From the first failure on it is on the local disk as well.
 */
export class RecordAnswer {
  private readonly stopped: Promise<void>;
  private endWaiting: () => void = () => undefined;
  private stopping = false;

  constructor(
    private readonly store: Pick<LaneStore, 'closeRegistered' | 'recordLateAnswer'>,
    private readonly spool: AnswerSpool,
    private readonly logger: Logger,
    private readonly pause: (ms: number) => Promise<void>,
  ) {
    this.stopped = new Promise((resolve) => (this.endWaiting = resolve));
  }

  /** What waits is tried once more and then left to the spool. */
  stop(): void {
    this.stopping = true;
    this.endWaiting();
  }

  async record(lane: LaneInHand, answer: AnswerInHand): Promise<Recorded> {
    for (let failures = 0; ; failures += 1) {
      const isLastTry = this.stopping;
      try {
        const recorded = await this.recordNow(answer);
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
  async recordNow({ receiptId, close }: AnswerInHand): Promise<Exclude<Recorded, { kind: 'kept' }>> {
    const closed = await this.store.closeRegistered(close);
    if (closed !== 'already_closed') return { kind: closed };
    const { deviceId, registration } = close;
    return { kind: 'late', late: await this.store.recordLateAnswer({ receiptId, deviceId, registration }) };
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
