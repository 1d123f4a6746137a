import { provesAbsence, type Baseline, type Calibration, type ReceiptStatus, type Rejection } from '#fiscal-domain';
import {
  assertMove,
  canMoveAttempt,
  type AttemptState,
  type AttemptEvidence,
  type AttemptOfReceipt,
  type ClosedAndOpened,
  type CloseRegistered,
  type Intent,
  type LateAnswer,
  type LateRegistration,
} from '#ledger';
import { UNKNOWN_BASELINE, type DeviceStateName } from '../../../devices/register.js';
import { isDue } from '../../drain-lane.js';
import type { LaneLockHandle, LaneSnapshot } from '../../ports.js';
import type { Trace } from './chance.js';
import type { AttemptRow, DeviceRow, LaneRow, ReceiptRow } from './ledger-rows.js';
import type { Promises } from './promises.js';

const SETTLE_GRACE_MS = 10_000;

/**
 * The database as the relay's lanes use it: its rows, the conditional moves of libs/ledger and the unique indexes, each method one
 * statement. Two contract suites hold for it and for PostgreSQL: testing/lane-store-contract.ts, and that of libs/ledger.
 */
export class LaneLedger {
  readonly devices = new Map<string, DeviceRow>();
  readonly receipts = new Map<string, ReceiptRow>();
  readonly attempts = new Map<string, AttemptRow>();
  readonly unknown = new Set<ReceiptRow>();
  /** Accepted or sending. */
  unfinished = 0;
  /** Intents that were written with the result before. */
  together = 0;
  /** Advisory locks: number → session. */
  readonly locks = new Map<number, number>();
  private readonly lanes = new Map<string, LaneRow>();
  protected readonly accepted = new Map<string, ReceiptRow[]>();
  protected readonly openOnDevice = new Map<string, string>();
  protected readonly registrations = new Map<string, string>();
  private readonly attemptNames = new Map<string, string>();

  constructor(
    protected readonly clock: { readonly nowMs: number },
    protected readonly promises: Promises,
    private readonly trace: Trace,
  ) {}

  addDevice(device: DeviceRow, lockNumber: number): void {
    this.devices.set(device.id, device);
    this.accepted.set(device.id, []);
    this.lanes.set(device.id, {
      ...{
        deviceId: device.id,
        lockNumber,
        dueAtMs: null,
        failures: 0,
        baseline: null,
        lastKnown: null,
        calibration: null,
      },
      ...{ mustSettle: false, settlingRelay: null, settleUntilMs: null, updatedAtMs: this.clock.nowMs },
    });
  }

  lockNumberOf(deviceId: string): number | null {
    return this.lanes.get(deviceId)?.lockNumber ?? null;
  }

  laneOf(deviceId: string): LaneRow {
    return this.lanes.get(deviceId)!;
  }

  openAttemptOf(deviceId: string): AttemptRow | null {
    const id = this.openOnDevice.get(deviceId);
    return id === undefined ? null : this.attempts.get(id)!;
  }

  waitingOn(deviceId: string): number {
    return this.accepted.get(deviceId)!.length;
  }

  /** A short name that is the same in every run; attempt ids carry the wall clock. */
  nameOf(attemptId: string): string {
    return this.attemptNames.get(attemptId) ?? attemptId;
  }

  accept(receipt: ReceiptRow): void {
    this.receipts.set(receipt.id, receipt);
    this.unfinished += 1;
    this.moveIntoLane(receipt);
  }

  // --- the lane's statements

  read(relayId: string, deviceId: string, receipts: number): LaneSnapshot | null {
    const device = this.devices.get(deviceId);
    if (!device) return null;
    const lane = this.laneOf(deviceId);
    const now = this.clock.nowMs;
    const isOthers = lane.settlingRelay !== null && lane.settlingRelay !== relayId;
    const keptOffMs = isOthers ? (lane.settleUntilMs ?? now) - now + SETTLE_GRACE_MS : 0;
    const attempt = this.openAttemptOf(deviceId);
    return {
      device: {
        ...{ id: deviceId, merchantId: 'mer', state: device.state, baseUrl: '', apiKeySealed: NO_BYTES },
        ...{ linkKeyId: null, profile: device.profile },
      },
      isAdmitted: true,
      ...{ baseline: lane.baseline, lastKnown: lane.lastKnown, calibration: lane.calibration },
      ...{ mustSettle: lane.mustSettle, failures: lane.failures },
      waitMs: Math.ceil(Math.max((lane.dueAtMs ?? now) - now, 0, keptOffMs)),
      openAttempt: attempt && {
        ...{ id: attempt.id, receiptId: attempt.receiptId, baseline: attempt.baseline, request: attempt.request },
        document: this.receipts.get(attempt.receiptId)!.document,
        createdAt: new Date(attempt.createdAtMs),
        ageMs: now - attempt.createdAtMs,
        refusedAgoMs: attempt.refusedTo === relayId ? now - (attempt.refusedAtMs ?? now) : null,
      },
      waiting: this.accepted
        .get(deviceId)!
        .slice(0, receipts)
        .map(({ id, document, attempts }) => ({ id, document, mayBeRegistered: attempts.some(isUnproven) })),
    };
  }

  /** As release_lane asks. */
  isDue(relayId: string, lockNumber: number): boolean {
    for (const [deviceId, lane] of this.lanes)
      if (lane.lockNumber === lockNumber) return isDue(this.read(relayId, deviceId, 1));
    return false;
  }

  unprovenRequest(receiptId: string): Buffer | null {
    const last = this.receipts.get(receiptId)!.attempts.findLast(({ outcome }) => !wasNotSent(outcome));
    return last && isUnproven(last) ? last.request : null;
  }

  openAttempt(intent: Intent): 'opened' | 'withdrawn' | 'lane_occupied' {
    const receipt = this.receipts.get(intent.receiptId)!;
    if (receipt.status !== 'accepted' || receipt !== this.accepted.get(intent.deviceId)![0]) return 'withdrawn';
    const isTooLate = receipt.dispatchBeforeMs !== undefined && receipt.dispatchBeforeMs <= this.clock.nowMs;
    if (isTooLate && intent.mayBeThere !== true) {
      this.withdraw(receipt);
      return 'withdrawn';
    }
    if (this.openOnDevice.has(intent.deviceId)) return 'lane_occupied';
    this.attemptNames.set(intent.attemptId, `att-${this.attempts.size + 1}`);
    const attempt: AttemptRow = {
      ...{ id: intent.attemptId, receiptId: intent.receiptId, deviceId: intent.deviceId, state: 'open' },
      ...{ baseline: intent.baseline, request: intent.request, createdAtMs: this.clock.nowMs, refusedAtMs: null },
      ...{ refusedTo: null, outcome: null },
    };
    this.attempts.set(intent.attemptId, attempt);
    receipt.attempts.push(attempt);
    this.openOnDevice.set(intent.deviceId, intent.attemptId);
    this.leaveLane(receipt);
    receipt.openAttemptId = intent.attemptId;
    this.move(receipt, 'sending');
    return 'opened';
  }

  closeRegistered(close: CloseRegistered): 'closed' | 'already_closed' | 'sequence_taken' {
    const attempt = this.openOf(close);
    if (!attempt) return 'already_closed';
    const { terminalId, receiptSeq, fiscalSign } = close.registration;
    const place = `${terminalId}/${receiptSeq}`;
    if (this.registrations.has(place)) return 'sequence_taken';
    const receipt = this.closeAttempt(attempt, 'registered', { evidence: close.evidence });
    this.registrations.set(place, receipt.id);
    Object.assign(receipt, { terminalId, receiptSeq, fiscalSign });
    this.move(receipt, 'registered', `${place} by ${close.evidence}`);
    this.promises.registered(receipt, { terminalId, seq: receiptSeq });
    this.touch(close.deviceId, { baseline: close.baseline, lastKnown: close.lastKnown, failures: 0, dueAtMs: null });
    return 'closed';
  }

  closeAndOpen(close: CloseRegistered, next: Intent): ClosedAndOpened {
    const closed = this.closeRegistered(close);
    // Rolled back whole.
    if (closed === 'sequence_taken') return { closed: null, opened: null };
    if (closed === 'already_closed') return { closed, opened: null };
    const opened = this.openAttempt(next);
    if (opened === 'opened') this.together += 1;
    return { closed, opened };
  }

  recordLateAnswer({ receiptId, registration }: LateRegistration): LateAnswer {
    const receipt = this.receipts.get(receiptId)!;
    const { terminalId, receiptSeq, fiscalSign } = registration;
    if (receipt.status === 'registered' && receipt.terminalId === terminalId && receipt.receiptSeq === receiptSeq) {
      receipt.fiscalSign ??= fiscalSign;
      return 'same';
    }
    const isFree = !this.registrations.has(`${terminalId}/${receiptSeq}`);
    if (isFree && (receipt.status === 'unknown' || receipt.status === 'accepted')) {
      if (receipt.status === 'accepted') this.leaveLane(receipt);
      this.registrations.set(`${terminalId}/${receiptSeq}`, receipt.id);
      Object.assign(receipt, { terminalId, receiptSeq, fiscalSign });
      this.move(receipt, 'registered', 'by a late answer');
      this.promises.registered(receipt, { terminalId, seq: receiptSeq });
      return 'proved';
    }
    // With keys the attempt that is under way finds this same registration.
    if (!this.devices.get(receipt.deviceId)!.keyed) {
      this.promises.breaks(`${receipt.id}: duplicate suspected, it is ${receipt.status}`, receipt);
    }
    return 'duplicate_suspected';
  }

  closeRejected(
    which: AttemptOfReceipt,
    rejection: Rejection,
    evidence: AttemptEvidence,
    laneLock: LaneLockHandle,
  ): boolean {
    const attempt = this.openOf(which);
    if (!attempt || !this.holds(laneLock)) return false;
    const receipt = this.closeAttempt(attempt, 'rejected', { rejection, ...evidence });
    this.move(receipt, 'rejected', rejection.code);
    this.promises.givenUp(receipt);
    return true;
  }

  rejectUnsent({ receiptId, deviceId }: { receiptId: string; deviceId: string }, rejection: Rejection): boolean {
    const receipt = this.receipts.get(receiptId)!;
    if (receipt.status !== 'accepted' || receipt.deviceId !== deviceId || receipt.attempts.some(isUnproven))
      return false;
    this.leaveLane(receipt);
    this.move(receipt, 'rejected', rejection.code);
    this.promises.givenUp(receipt);
    return true;
  }

  closeNotRegistered(which: AttemptOfReceipt, evidence: AttemptEvidence, laneLock: LaneLockHandle): boolean {
    const attempt = this.openOf(which);
    if (!attempt || !this.holds(laneLock)) return false;
    const receipt = this.closeAttempt(attempt, 'not_registered', evidence);
    this.promises.calledBack(receipt, this.devices.get(receipt.deviceId)!.keyed);
    this.move(receipt, 'accepted');
    this.moveIntoLane(receipt);
    return true;
  }

  closeUnknown(which: AttemptOfReceipt, evidence: AttemptEvidence, options: { mustSettle: boolean }): boolean {
    const attempt = this.openOf(which);
    if (!attempt) return false;
    const receipt = this.closeAttempt(attempt, 'unknown', evidence);
    const lane = this.laneOf(attempt.deviceId);
    this.touch(attempt.deviceId, { mustSettle: lane.mustSettle || options.mustSettle });
    this.move(receipt, 'unknown', JSON.stringify(evidence['why'] ?? evidence['difference']));
    this.promises.unknown(receipt, attempt);
    return true;
  }

  noteRefusal(relayId: string, which: AttemptOfReceipt, evidence: AttemptEvidence): void {
    const attempt = this.openOf(which);
    if (!attempt) return;
    attempt.outcome = evidence;
    attempt.refusedAtMs = this.clock.nowMs;
    attempt.refusedTo = relayId;
  }

  postpone(deviceId: string, wait: { afterMs: number; reason: string; failures: number }): void {
    this.note(`${deviceId} waits ${Math.round(wait.afterMs)}: ${wait.reason}`);
    const dueAtMs = this.clock.nowMs + wait.afterMs;
    this.touch(deviceId, { dueAtMs, failures: wait.failures, settlingRelay: null, settleUntilMs: null });
  }

  beginSettle(relayId: string, deviceId: string, { afterMs, reason }: { afterMs: number; reason: string }): void {
    this.note(`${deviceId} ${relayId} settles ${Math.round(afterMs)}: ${reason}`);
    const until = this.clock.nowMs + afterMs;
    this.touch(deviceId, { dueAtMs: until, settlingRelay: relayId, settleUntilMs: until });
  }

  endSettle(deviceId: string, baseline: Baseline | null, laneLock: LaneLockHandle): void {
    if (!this.holds(laneLock)) return;
    this.note(`${deviceId} is settled at ${baseline?.reading?.sequence}`);
    const settled = { mustSettle: false, settlingRelay: null, settleUntilMs: null, dueAtMs: null };
    this.touch(deviceId, { ...(baseline && { baseline }), lastKnown: null, ...settled });
  }

  saveReading(deviceId: string, baseline: Baseline, calibration: Calibration | null): void {
    this.touch(deviceId, { baseline, lastKnown: null, calibration });
  }

  markShared(deviceId: string, reason: string): void {
    const device = this.devices.get(deviceId)!;
    if (device.profile.sharing === 'exclusive') this.note(`${deviceId} is shared: ${reason}`);
    device.profile = { ...device.profile, sharing: 'shared' };
  }

  setDeviceState(deviceId: string, state: DeviceStateName, reason: string | null): void {
    const device = this.devices.get(deviceId)!;
    if (device.state === state || device.state === 'disabled' || device.state === 'replaced') return;
    if (device.state === 'degraded' && state === 'online') return;
    device.state = state;
    this.note(`${deviceId} is ${state}: ${reason ?? ''}`);
  }

  saveIdentity(deviceId: string, baseline: Baseline): 'saved' | 'terminal_taken' {
    const { terminalId } = baseline;
    for (const device of this.devices.values()) {
      if (device.id !== deviceId && terminalId !== null && device.terminalId === terminalId) return 'terminal_taken';
    }
    const isNew = this.laneOf(deviceId).baseline === null;
    const keyedOnly = baseline.journalId === null;
    if (!keyedOnly) this.touch(deviceId, { baseline });
    const heldBack = isNew ? this.holdBackUnproven(deviceId, keyedOnly) : 0;
    if (keyedOnly && heldBack > 0) this.touch(deviceId, { baseline: { ...UNKNOWN_BASELINE, terminalId } });
    Object.assign(this.devices.get(deviceId)!, { terminalId, journalId: baseline.journalId });
    return 'saved';
  }

  holdBackUnproven(deviceId: string, keyedOnly = false): number {
    let heldBack = 0;
    for (const receipt of [...this.accepted.get(deviceId)!]) {
      const unproven = receipt.attempts.findLast(
        (attempt) => isUnproven(attempt) && (!keyedOnly || attempt.baseline.journalId !== null),
      );
      if (!unproven) continue;
      heldBack += 1;
      moveAttempt(unproven, 'unknown');
      this.takeOut(receipt, 'held back');
    }
    return heldBack;
  }

  protected takeOut(receipt: ReceiptRow, why: string): void {
    this.leaveLane(receipt);
    this.move(receipt, 'unknown', why);
  }

  overdueLanes(relayId: string, overdueMs: number, limit: number): string[] {
    const late = this.clock.nowMs - overdueMs;
    const found: string[] = [];
    for (const [deviceId, lane] of this.lanes) {
      if (found.length >= limit) break;
      const open = this.openAttemptOf(deviceId);
      const waiting = this.accepted.get(deviceId)![0];
      const since = Math.min(open?.createdAtMs ?? Infinity, waiting?.updatedAtMs ?? Infinity);
      const { state } = this.devices.get(deviceId)!;
      if (since === Infinity || state === 'disabled' || state === 'replaced') continue;
      const isMine = lane.settlingRelay === null || lane.settlingRelay === relayId;
      if (!isMine && (lane.settleUntilMs ?? 0) >= this.clock.nowMs - SETTLE_GRACE_MS) continue;
      if (lane.dueAtMs !== null && lane.dueAtMs >= late) continue;
      if (Math.max(since, lane.updatedAtMs) >= late || this.locks.has(lane.lockNumber)) continue;
      found.push(deviceId);
    }
    return found;
  }

  /** Null: it is closed, or another receipt's. */
  private openOf({ attemptId, receiptId }: AttemptOfReceipt): AttemptRow | null {
    const attempt = this.attempts.get(attemptId);
    return attempt?.state === 'open' && attempt.receiptId === receiptId ? attempt : null;
  }

  /** As pg_locks says. */
  private holds({ lockNumber, backendPid }: LaneLockHandle): boolean {
    return this.locks.get(lockNumber) === backendPid;
  }

  protected closeAttempt(attempt: AttemptRow, state: AttemptState, outcome: AttemptEvidence): ReceiptRow {
    moveAttempt(attempt, state);
    attempt.outcome = outcome;
    this.openOnDevice.delete(attempt.deviceId);
    const receipt = this.receipts.get(attempt.receiptId)!;
    receipt.openAttemptId = null;
    return receipt;
  }

  /** Never sent, and never to be. */
  protected withdraw(receipt: ReceiptRow): void {
    this.leaveLane(receipt);
    this.move(receipt, 'cancelled');
    this.promises.givenUp(receipt);
  }

  protected move(receipt: ReceiptRow, status: ReceiptStatus, why = ''): void {
    assertMove(receipt.status, status);
    this.unfinished += Number(isInLane(status)) - Number(isInLane(receipt.status));
    if (status === 'unknown') this.unknown.add(receipt);
    else this.unknown.delete(receipt);
    receipt.status = status;
    receipt.updatedAtMs = this.clock.nowMs;
    this.note(`${receipt.deviceId} ${receipt.id} ${status} ${why}`);
  }

  protected moveIntoLane(receipt: ReceiptRow): void {
    const lane = this.accepted.get(receipt.deviceId)!;
    let place = lane.length;
    while (place > 0 && lane[place - 1]!.place > receipt.place) place -= 1;
    lane.splice(place, 0, receipt);
  }

  protected leaveLane(receipt: ReceiptRow): void {
    const lane = this.accepted.get(receipt.deviceId)!;
    lane.splice(lane.indexOf(receipt), 1);
  }

  protected touch(deviceId: string, change: Partial<LaneRow>): void {
    Object.assign(this.laneOf(deviceId), change, { updatedAtMs: this.clock.nowMs });
  }

  protected note(line: string): void {
    this.trace.note(this.clock.nowMs, line);
  }
}

export function moveAttempt(attempt: AttemptRow, state: AttemptState): void {
  if (attempt.state !== state && !canMoveAttempt(attempt.state, state))
    throw new Error(`attempt ${attempt.id} cannot move from ${attempt.state} to ${state}`);
  attempt.state = state;
}

function isInLane(status: ReceiptStatus): boolean {
  return status === 'accepted' || status === 'sending';
}

function wasNotSent(outcome: AttemptEvidence | null): boolean {
  const answer = outcome?.['answer'] as { kind?: unknown } | undefined;
  return answer?.kind === 'not_sent';
}

/** As UNPROVEN_ATTEMPT of libs/database has it. */
export function isUnproven({ state, outcome }: AttemptRow): boolean {
  return state === 'unknown' || (state === 'not_registered' && !provesAbsence(outcome));
}

const NO_BYTES = Buffer.alloc(0);
