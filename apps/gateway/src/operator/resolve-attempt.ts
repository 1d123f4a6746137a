import { Injectable } from '@nestjs/common';
import { isUniqueViolation, type Prisma } from '#database';
import {
  closeFoundLate,
  closeParked,
  raiseLaneSequence,
  registerByOperator,
  rejectUnregistered,
  sendAgain,
  writeReceiptEvent,
} from '#ledger';
import { parseVerificationLink } from '#fiscal-domain';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { AuditedChange, type Changed } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { RefundDuplicate } from '../receipts/refunds/refund-duplicate.js';
import { checkRegistration, ownTerminals, type CheckedRegistration } from './check-registration.js';
import { foundLateIn } from './attempt-outcome.js';
import { documentDecided } from './decide-found-late.js';
import type { Decision, RegistrationClaim } from './decision.js';
import type { Evidence } from './lock-device.js';
import { TERMINAL_ID } from './operator-bodies.js';
import { OperatorRepository, type LockedAttempt } from './operator.repository.js';

export interface ResolveAttemptCommand {
  caller: Caller;
  attemptId: string;
  decision: Decision;
  /** What a person has compared, where many are decided at once. */
  evidence?: Evidence;
}

export interface ResolvedAttempt {
  receiptId: string;
  /** The refund of the document that is one too many; null: none was decided on, or none is possible. */
  refundId: string | null;
  /** Whose lane has something to do now. */
  ringFor: string | null;
}

/** What a decision made of the attempt, for the record, and what follows from it. */
interface Decided {
  after: Record<string, unknown>;
  refund: { id: string; deviceId: string } | null;
}

/** With what is known of the terminals that a person names. */
interface PlacedAttempt extends LockedAttempt {
  /** Another merchant's. */
  foreignTerminals: readonly string[];
}

const ENDED_DETAIL = 'An operator has decided that no register has it, and that it is not sent again.';

type Tx = Prisma.TransactionClient;

/**
 * POST /v1/operator/attempts/{id}/resolve: a person decides what no machine could prove. Attempt, receipt, event and
 * audit record change in one transaction. Two who decide at once meet on the attempt's row: the second finds it decided.
 */
@Injectable()
export class ResolveAttempt {
  constructor(
    private readonly changes: AuditedChange,
    private readonly rows: OperatorRepository,
    private readonly duplicates: RefundDuplicate,
    private readonly bell: LaneBell,
  ) {}

  /** @throws Problem 404; 409 attempt_open, already_resolved, lane_unsettled, sequence_taken; 422 when it contradicts the evidence */
  async execute({ caller, attemptId, decision, evidence }: ResolveAttemptCommand): Promise<ResolvedAttempt> {
    const resolved = await this.changes
      .execute(caller, async (tx) => {
        const attempt = await this.rows.lockAttempt(tx, caller.merchantId, attemptId);
        if (!attempt) throw new Problem('not_found', 'There is no attempt with this id.');
        refuseUnlessUndecided(attempt, decision);
        const placed = { ...attempt, ...(await this.placesOf(tx, attempt, decision)) };
        return changed(attempt, decision, await this.decide(tx, placed, { caller, decision, evidence }));
      })
      .catch((error: unknown) => {
        // receipts_one_per_registration_of_merchant: everything was rolled back.
        throw isUniqueViolation(error) ? sequenceTaken('/receipt_seq', error) : error;
      });
    // The crash window between commit and bell is the sweeper's.
    if (resolved.ringFor !== null) this.bell.ring(resolved.ringFor);
    return resolved;
  }

  private async decide(
    tx: Tx,
    attempt: PlacedAttempt,
    { caller, decision, evidence }: Omit<ResolveAttemptCommand, 'attemptId'>,
  ): Promise<Decided> {
    const recorded = {
      decision: decision.kind,
      reason: decision.reason,
      actor: caller.actor,
      at: new Date().toISOString(),
      ...(evidence && { evidence }),
    };
    if (isFoundLate(attempt)) return this.decideFoundLate(tx, attempt, { caller, decision, recorded });
    if (decision.kind === 'not_registered') {
      refuseWhileUnsettled(attempt, decision);
      if (!waitsToBeSentAgain(attempt)) await this.close(tx, attempt, 'not_registered', recorded);
      if (!decision.sendsAgain) return { after: await this.end(tx, attempt, decision, recorded), refund: null };
      if (!(await sendAgain(tx, attempt.receiptId))) throw alreadyResolved(attempt);
      await writeReceiptEvent(tx, attempt.receiptId, 'accepted', {
        attempt_id: attempt.id,
        evidence: 'operator',
      });
      const after = { ...recorded, confirm_unsettled: decision.confirmUnsettled, receipt_status: 'accepted' };
      return { after, refund: null };
    }
    const registration = checked(decision.claim, attempt, '');
    const surplus =
      decision.kind === 'duplicate'
        ? await this.checkedSurplus(tx, decision, { attempt, standing: registration })
        : null;
    const fiscal = fiscalFacts(registration);
    const isDuplicate = decision.kind === 'duplicate';
    const resolution = {
      ...recorded,
      ...fiscal,
      ...(decision.confirmTerminal && { confirm_terminal: true }),
      ...(isDuplicate && { surplus: fiscalFacts(surplus ?? registration) }),
    };
    await this.close(tx, attempt, 'registered', resolution);
    const { receiptId } = attempt;
    const deviceId = deviceOf(attempt, registration);
    if (!(await registerByOperator(tx, { receiptId, deviceId }, registration))) throw alreadyResolved(attempt);
    // Of two lanes in the order of their devices: two decisions that name them crosswise do not wait for each other.
    const placed = [registration, ...(surplus ? [surplus] : [])].map((named) => ({
      named,
      lane: deviceOf(attempt, named),
    }));
    for (const { named, lane } of placed.sort((left, right) => (left.lane < right.lane ? -1 : 1)))
      await raiseLaneSequence(tx, lane, named);
    const data = { attempt_id: attempt.id, evidence: 'operator' };
    await writeReceiptEvent(tx, attempt.receiptId, 'registered', { ...fiscal, ...data });
    const after = { ...resolution, receipt_status: 'registered' };
    if (!isDuplicate) return { after, refund: null };
    const suspected = { ...fiscalFacts(surplus ?? registration), ...data };
    await writeReceiptEvent(tx, attempt.receiptId, 'duplicate_suspected', suspected);
    const refund = await this.takeBack(tx, attempt, { caller, registration, surplus });
    return { after: { ...after, refund_id: refund?.id ?? null }, refund };
  }

  /**
   * Its receipt stays rejected or cancelled, which its client has been answered. The document of it is one too many and is taken back; or there is none any more, as a person
   * has seen to it at the register.
   */
  private async decideFoundLate(
    tx: Tx,
    attempt: PlacedAttempt,
    { caller, decision, recorded }: { caller: Caller; decision: Decision; recorded: Record<string, unknown> },
  ): Promise<Decided> {
    const { document, surplus } = documentDecided(attempt, foundLateIn(attempt.outcome), decision);
    const { terminalId, receiptSeq, deviceId } = document;
    if (surplus === null) {
      const gone = { terminal_id: terminalId, receipt_seq: receiptSeq, receipt_status: attempt.receiptStatus };
      const after = { ...recorded, send_again: false, ...gone };
      if (!(await closeFoundLate(tx, attempt.id, { document, resolution: after }))) throw alreadyResolved(attempt);
      return { after, refund: null };
    }
    if (await this.rows.isSequenceTaken(tx, attempt.merchantId, surplus)) throw sequenceTaken('/receipt_seq');
    const resolution = { ...recorded, surplus: fiscalFacts(surplus) };
    if (!(await closeFoundLate(tx, attempt.id, { document, resolution }))) throw alreadyResolved(attempt);
    await raiseLaneSequence(tx, deviceId, surplus);
    // One refund of each document: an attempt may have several.
    const key = `${attempt.id}/${terminalId}/${receiptSeq}`;
    const refund = await this.takeBack(tx, attempt, { caller, registration: surplus, surplus, key });
    return { after: { ...resolution, receipt_status: attempt.receiptStatus, refund_id: refund?.id ?? null }, refund };
  }

  /** Its register is gone for good, and no other one may be given what this one may have been asked for. */
  private async end(
    tx: Tx,
    attempt: PlacedAttempt,
    { confirmUnsettled }: Extract<Decision, { kind: 'not_registered' }>,
    recorded: Record<string, unknown>,
  ): Promise<Decided['after']> {
    const rejection = { code: 'receipt_refused', rule: null, detail: ENDED_DETAIL, line: null };
    if (!(await rejectUnregistered(tx, attempt.receiptId, rejection))) throw alreadyResolved(attempt);
    const data = { attempt_id: attempt.id, evidence: 'operator' };
    await writeReceiptEvent(tx, attempt.receiptId, 'rejected', { rejection, ...data });
    return { ...recorded, send_again: false, confirm_unsettled: confirmUnsettled, receipt_status: 'rejected' };
  }

  /**
   * After a restore a document may stand at a register that failover reached by settings which the copy does not have: at any of the merchant's.
   * Or in a module that came after the copy and has gone since, of which only a person knows. Of a register that has never been met a person
   * says what its module is.
   */
  private async placesOf(
    tx: Tx,
    attempt: LockedAttempt,
    decision: Decision,
  ): Promise<Pick<PlacedAttempt, 'otherTerminals' | 'foreignTerminals'>> {
    const { merchantId, deviceId, isFromCopy } = attempt;
    const otherTerminals = new Map(attempt.otherTerminals);
    const foreignTerminals: string[] = [];
    const own = ownTerminals(attempt);
    if (!isFromCopy && own.length > 0) return { otherTerminals, foreignTerminals };
    const mayBeForgotten = isFromCopy && decision.kind !== 'not_registered' && decision.confirmTerminal;
    for (const terminalId of terminalsNamed(decision)) {
      if (own.includes(terminalId) || otherTerminals.has(terminalId)) continue;
      const holder = await this.rows.holderOf(tx, merchantId, terminalId);
      if (holder === null) foreignTerminals.push(terminalId);
      else if (holder !== 'none') otherTerminals.set(terminalId, holder.deviceId);
      else if (mayBeForgotten) otherTerminals.set(terminalId, deviceId);
    }
    return { otherTerminals, foreignTerminals };
  }

  /** The document that is one too many is refunded at once, in the same transaction. */
  private takeBack(
    tx: Tx,
    { id: attemptId, receiptId }: LockedAttempt,
    { caller, registration, surplus, key = attemptId }: TakenBack,
  ): Promise<Decided['refund']> {
    const { merchantId, actor } = caller;
    const decided = { merchantId, actor, key, receiptId, isSurplus: surplus !== null };
    return this.duplicates.execute(tx, { ...decided, ...(surplus ?? registration) });
  }

  private async close(
    tx: Tx,
    attempt: LockedAttempt,
    state: 'registered' | 'not_registered',
    resolution: Record<string, unknown>,
  ): Promise<void> {
    if (!(await closeParked(tx, attempt.id, { state, resolution }))) throw alreadyResolved(attempt);
  }

  /** The document that is one too many must be another one, and of no other receipt. */
  private async checkedSurplus(
    tx: Tx,
    { surplus }: Extract<Decision, { kind: 'duplicate' }>,
    { attempt, standing }: { attempt: PlacedAttempt; standing: CheckedRegistration },
  ): Promise<CheckedRegistration | null> {
    if (surplus === null) return null;
    const registration = checked(surplus, attempt, '/surplus');
    if (registration.receiptSeq === standing.receiptSeq && registration.terminalId === standing.terminalId) {
      const detail = 'the surplus document must be another one than the registration that stands';
      throw Problem.at('/surplus/receipt_seq', 'duplicate', detail);
    }
    if (await this.rows.isSequenceTaken(tx, attempt.merchantId, registration))
      throw sequenceTaken('/surplus/receipt_seq');
    return registration;
  }
}

function refuseUnlessUndecided(attempt: LockedAttempt, decision: Decision): void {
  if (attempt.state === 'open') {
    throw new Problem('attempt_open', 'The register is still being asked; park the attempt to decide it yourself.');
  }
  if (isFoundLate(attempt)) return;
  // A late answer may have proved the receipt while the attempt still counts as unknown.
  const isUndecided = attempt.state === 'unknown' && attempt.receiptStatus === 'unknown';
  const endsWaiting = decision.kind === 'not_registered' && !decision.sendsAgain && waitsToBeSentAgain(attempt);
  if (!isUndecided && !endsWaiting) throw alreadyResolved(attempt);
  if (decision.kind !== 'not_registered' || decision.document === null) return;
  const detail =
    'receipt_seq does not belong to the decision not_registered: its register is not known to have a document of it';
  throw Problem.at('/receipt_seq', 'unknown_field', detail);
}

/** A register has answered for it although its receipt was ended, and no person has said yet what becomes of that document. */
function isFoundLate({ receiptStatus, outcome }: LockedAttempt): boolean {
  return (receiptStatus === 'rejected' || receiptStatus === 'cancelled') && foundLateIn(outcome).length > 0;
}

/** By a person's word, to a register that may be gone since, or had been already. */
function waitsToBeSentAgain({ state, receiptStatus, outcome }: LockedAttempt): boolean {
  return state === 'not_registered' && receiptStatus === 'accepted' && outcome?.['resolution'] !== undefined;
}

/**
 * On a register without keys a request that is still asleep (a phone's backlog, a relay that waits for its answer) would
 * register beside the one that we send again. A reading of the counters is taken after the settle time only, so where
 * there is one nothing sleeps any more. What is not sent again has no key that would meet it, on whatever register.
 */
function refuseWhileUnsettled(
  { baseline, reading, mustSettle, mayBeAsleep }: LockedAttempt,
  { confirmUnsettled, sendsAgain }: { confirmUnsettled: boolean; sendsAgain: boolean },
): void {
  const mayMeetIt = baseline.journalId === null && reading === null && mustSettle;
  if (confirmUnsettled || !(mayMeetIt || (!sendsAgain && mayBeAsleep))) return;
  const detail = sendsAgain
    ? 'The lost request may still reach the register, and sending again would register twice. Decide when the lane has ' +
      'settled, or answer for it with confirm_unsettled.'
    : 'The lost request may still reach the register, which would register what has been rejected. Decide when it has answered for its ' +
      'settle time, or answer for it with confirm_unsettled: it is gone for good.';
  throw new Problem('lane_unsettled', detail);
}

function alreadyResolved({ state, receiptStatus }: LockedAttempt): Problem {
  return new Problem('already_resolved', `The attempt is ${state}, its receipt ${receiptStatus}.`);
}

function sequenceTaken(pointer: string, cause?: unknown): Problem {
  const detail = 'This sequence of the terminal belongs to another receipt.';
  return new Problem('sequence_taken', detail, { errors: [{ pointer, code: 'sequence_taken', detail }], cause });
}

/** @throws Problem 422 */
function checked(claim: RegistrationClaim, attempt: PlacedAttempt, at: string): CheckedRegistration {
  const evidence = {
    ...attempt,
    otherTerminals: [...attempt.otherTerminals.keys()],
    startedAt: attempt.createdAt,
  };
  const check = checkRegistration(claim, evidence, { nowMs: Date.now(), at });
  if (check.kind === 'refused') throw Problem.fromErrors(check.faults);
  return check.registration;
}

/** What is no terminal's name is left to the check, and not asked of the database. */
function terminalsNamed(decision: Decision): string[] {
  if (decision.kind === 'not_registered') return [];
  const claims = decision.kind === 'duplicate' ? [decision.claim, decision.surplus] : [decision.claim];
  return claims.flatMap((claim) => {
    const url = claim?.verificationUrl ?? null;
    const link = url === null ? null : parseVerificationLink(url);
    const terminalId = link?.terminalId ?? claim?.terminalId ?? '';
    return TERMINAL_ID.test(terminalId) ? [terminalId] : [];
  });
}

/** Where the registration stands: after a restore it may be another register than the one of its lane. */
function deviceOf({ otherTerminals, deviceId }: PlacedAttempt, { terminalId }: CheckedRegistration): string {
  return otherTerminals.get(terminalId) ?? deviceId;
}

function fiscalFacts(registration: CheckedRegistration): Record<string, unknown> {
  return {
    terminal_id: registration.terminalId,
    receipt_seq: registration.receiptSeq,
    fiscal_sign: registration.fiscalSign,
    verification_url: registration.verificationUrl,
    registered_at: registration.registeredAt.toISOString(),
  };
}

interface TakenBack {
  caller: Caller;
  registration: CheckedRegistration;
  /** Null: the registration itself is one too many. */
  surplus: CheckedRegistration | null;
  /** Under which it is taken back once; the attempt, where it is left out. */
  key?: string;
}

function changed(attempt: LockedAttempt, decision: Decision, { after, refund }: Decided): Changed<ResolvedAttempt> {
  const isSentAgain = decision.kind === 'not_registered' && decision.sendsAgain;
  const ringFor = isSentAgain ? attempt.deviceId : (refund?.deviceId ?? null);
  return {
    result: { receiptId: attempt.receiptId, refundId: refund?.id ?? null, ringFor },
    action: 'attempt.resolve',
    targetId: attempt.id,
    before: { attempt_state: attempt.state, receipt_id: attempt.receiptId, receipt_status: attempt.receiptStatus },
    after,
  };
}
