import type { Baseline, Calibration, Registration } from '#fiscal-domain';
import type { LastKnown } from '#ledger';
import type { LaneDevice, PreparedReceipt, Register } from '../devices/register.js';
import type { LaneLockHandle, OpenAttempt } from './ports.js';
import type { SendTurn } from './send-turns.js';

/** A lane whose lock this process holds, while it works on it. */
export interface LaneInHand {
  /** As it last introduced itself, from that moment on. */
  device: LaneDevice;
  readonly register: Register;
  readonly laneLock: LaneLockHandle;
  /** As the register's, for a caller that waits a moment at most: the lane keeps its place meanwhile, and may go on without it. */
  prepareAtOnce: Register['prepareReceipt'];
  /** The register as of its last answer; moves with every registration. */
  baseline: Baseline;
  /** Registers without extensions only. */
  lastKnown: LastKnown | null;
  calibration: Calibration | null;
  failures: number;
  /** Waits without holding the lane's place for longer than a moment. */
  patiently<T>(wait: () => Promise<T>): Promise<T>;
  /** This relay was asked to stop: nothing is begun any more that may be left to the next one. */
  isStopping(): boolean;
}

/** A receipt whose intent is written: nothing but its bytes is missing. */
export interface BegunSend {
  attempt: OpenAttempt;
  /** On an open connection. */
  call: Extract<PreparedReceipt, { kind: 'ready' }>['call'];
  /** The send guard of its intent. */
  isFresh: () => boolean;
  /** Of a repetition under a known key. Null: it is none. */
  areKeysFresh: (() => boolean) | null;
  turn: SendTurn;
  /** Its connection was taken before the result of the receipt before it was recorded: the register may have closed it since. */
  isKept: boolean;
}

/** What the drain does after a step. */
export type Step =
  /** The receipt has left the lane: take the next one. `begun`: its intent was written with the result of this one. */
  | { kind: 'next'; begun?: BegunSend }
  /** Something changed under our hands, or the same receipt may be tried again: read the lane anew. */
  | { kind: 'reread' }
  /** Nothing more to do here before this time has passed (already on the lane's row). */
  | { kind: 'wait'; afterMs: number }
  /** Until a person or a check moves the device. */
  | { kind: 'stop' };

/** What the lane goes on from when this has been recorded. */
export function baselineAfter({ baseline }: LaneInHand, registration: Registration): Baseline {
  const { terminalId, receiptSeq: sequence } = registration;
  return { ...baseline, terminalId, sequence, ...ownAfter(baseline, registration) };
}

/** The last document of ours at a register with a journal. */
export function ownAfter({ journalId }: Baseline, registration: Registration): Pick<Baseline, 'own'> {
  const { receiptSeq, transactionTimeMs } = registration;
  return journalId === null ? {} : { own: { receiptSeq, transactionTimeMs } };
}
