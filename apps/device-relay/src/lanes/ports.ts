import type { StoredReceiptDocument } from '#database';
import type { Baseline, Calibration, LocalExtraInfo, Rejection } from '#fiscal-domain';
import type {
  AttemptEvidence,
  AttemptOfReceipt,
  Closed,
  ClosedAndOpened,
  CloseRegistered,
  Intent,
  LaneLock,
  LastKnown,
  LateAnswer,
  LateRegistration,
  Opened,
} from '#ledger';
import type { DeviceStateName, LaneDevice } from '../devices/register.js';

/** What the lane asks of the world. Two implementations each: the real one, and the simulation's. */

export interface OpenAttempt {
  id: string;
  receiptId: string;
  baseline: Baseline;
  /** The exact bytes that were or may have been sent. */
  request: Buffer;
  document: StoredReceiptDocument;
  /** When the intent was written. */
  createdAt: Date;
  /** By the database's clock. */
  ageMs: number;
  /**
   * Set when this relay was refused a repetition: how long ago, by the database's clock. The answer to another relay does
   * not count: its repetition may still be about to leave.
   */
  refusedAgoMs: number | null;
  /** As the receipt's. */
  traceParent?: string | null;
}

export interface WaitingReceipt {
  id: string;
  document: StoredReceiptDocument;
  /** How the gateway collected the money; absent where it did not. */
  extraInfo?: LocalExtraInfo | null;
  /** An earlier attempt ended without proof (a person sent it again): only its key keeps it from being doubled. */
  mayBeRegistered: boolean;
  /** It is older than a restore of the database, and no register has been compared for it. */
  isFromCopy?: boolean;
  /** Of the request for it, where that was sampled. */
  traceParent?: string | null;
}

/** Everything a drain needs to know, read in one go under the lane lock. */
export interface LaneSnapshot {
  device: LaneDevice;
  /** False: a register behind a link of which nothing is known yet. Whose it is is asked elsewhere (inspection/), and before that it sells nothing. */
  isAdmitted: boolean;
  /** The register's state when it last answered; null = nothing is known. */
  baseline: Baseline | null;
  lastKnown: LastKnown | null;
  calibration: Calibration | null;
  /** An attempt was parked whose request may still be asleep: settle before the next send. */
  mustSettle: boolean;
  /** Consecutive failures that sent nothing. */
  failures: number;
  /** Not to be worked on before; 0 = due. By the database's clock. */
  waitMs: number;
  openAttempt: OpenAttempt | null;
  /** Next accepted receipts by lane place. */
  waiting: WaitingReceipt[];
}

export interface LaneStore {
  /** Null: no such device. */
  lockNumberOf(deviceId: string): Promise<number | null>;
  read(deviceId: string, receipts: number): Promise<LaneSnapshot | null>;
  /**
   * The bytes of the receipt's last attempt, if nothing proves that the register does not have them. Only they replay under the
   * receipt's key: what would be composed today may differ, and the register would take it for another document.
   */
  unprovenRequest(receiptId: string): Promise<Buffer | null>;
  /**
   * The write-ahead intent: attempt row with the exact bytes, receipt `accepted → sending`, one transaction.
   * `withdrawn`: the receipt is no longer accepted here (cancelled, moved; cancelled by this call because its payment hold
   * ran out, unless it may be registered here already), or no longer the first of its lane, or another merchant holds the terminal by now. `lane_occupied`: an attempt is open.
   * `lane_not_held`: this is another server than the one on which the lane lock is held, or a person holds all lanes.
   */
  openAttempt(intent: Intent): Promise<Opened>;
  /**
   * `already_closed`: a successor resolved the attempt before. `sequence_taken`: another receipt holds this terminal's
   * sequence, so the register lies; nothing was changed.
   */
  closeRegistered(close: CloseRegistered): Promise<Closed>;
  /**
   * The result of one receipt and the intent of the next, in one commit: after a crash both are there or neither. The intent depends on
   * the result, and is refused as by `openAttempt`; the result is recorded all the same. Nothing was changed where the attempt was
   * closed already, or a unique index refused it (`closed: null`).
   */
  closeAndOpen(close: CloseRegistered, next: Intent): Promise<ClosedAndOpened>;
  /**
   * A receipt that is older than a restore becomes `unknown` where another register may have it, or its own one cannot be
   * asked by key. False: its own register answers for it.
   */
  holdFromCopy(receiptId: string): Promise<boolean>;
  /**
   * An answer whose attempt is closed already, or is not known here because the database was put back from a copy: completes,
   * proves or contradicts what was found meanwhile.
   */
  recordLateAnswer(answer: LateRegistration): Promise<LateAnswer>;
  /**
   * False, here and in `closeNotRegistered`, when the attempt is closed already or another receipt's, or the lane lock is no longer this
   * session's by the database's own word: a successor may be repeating the request at this moment, and succeed.
   */
  closeRejected(
    attempt: AttemptOfReceipt,
    rejection: Rejection,
    evidence: AttemptEvidence,
    laneLock: LaneLockHandle,
  ): Promise<boolean>;
  /**
   * A receipt that may not be sent as it is: `accepted → rejected`. False when it is no longer accepted on this device, or when an
   * earlier attempt may have left it in the register.
   */
  rejectUnsent(receipt: { receiptId: string; deviceId: string }, rejection: Rejection): Promise<boolean>;
  /** Back to `accepted`, for the same lane place. */
  closeNotRegistered(attempt: AttemptOfReceipt, evidence: AttemptEvidence, laneLock: LaneLockHandle): Promise<boolean>;
  closeUnknown(
    attempt: AttemptOfReceipt,
    evidence: AttemptEvidence,
    options: { mustSettle: boolean },
  ): Promise<boolean>;
  /** Stores, on the open attempt, that a repetition was refused just now. */
  noteRefusal(attempt: AttemptOfReceipt, evidence: AttemptEvidence): Promise<void>;
  /** Sets the lane's due time on the database's clock. */
  postpone(deviceId: string, wait: { afterMs: number; reason: string; failures: number }): Promise<void>;
  /** Names this relay as the one that waits out a settle time; others keep off until 10 s after it. */
  beginSettle(deviceId: string, afterMs: number, reason: string): Promise<void>;
  /**
   * The lane is settled: it goes on from this reading; null: from what it knows, which may be nothing. Only while the lane lock is still this session's: a successor may
   * have parked another attempt, whose settling this must not end.
   */
  endSettle(deviceId: string, baseline: Baseline | null, laneLock: LaneLockHandle): Promise<void>;
  saveReading(deviceId: string, baseline: Baseline, calibration: Calibration | null): Promise<void>;
  /** Another program sells there too: matches of counters prove nothing any more. */
  markShared(deviceId: string, reason: string): Promise<void>;
  /** Changes state and publishes it as an event; does nothing when it is that state already. */
  setDeviceState(deviceId: string, state: DeviceStateName, reason: string | null): Promise<void>;
  /**
   * What the register stated about itself; with extensions it is the lane's baseline as well. `terminal_taken`: another
   * live device of the merchant has this terminal. `claimed_elsewhere`: another merchant holds it. Then nothing was changed.
   */
  saveIdentity(deviceId: string, baseline: Baseline, capabilities: readonly string[]): Promise<IdentitySaved>;
}

export type IdentitySaved = 'saved' | 'terminal_taken' | 'claimed_elsewhere';

/** A lane lock in hand. */
export interface LaneLockHandle extends LaneLock {
  /** False as soon as this process knows that the session is gone, and while it has had no answer of it for seconds. */
  isHeld(): boolean;
  release(): Promise<void>;
  /**
   * Releases, then asks whether something is due there: what was committed before the call is seen. Null: it was not asked, the lane is to
   * be read.
   */
  releaseAndAsk(): Promise<boolean | null>;
}

export interface LaneLocks {
  /** Null when anybody, this process included, has it. */
  tryTake(lockNumber: number): Promise<LaneLockHandle | null>;
}

/** Notifies gateways that wait: these receipts have left the lane. Never throws; lost notices are healed by the reader. */
export interface SettledNotices {
  notify(receiptId: string): void;
}
