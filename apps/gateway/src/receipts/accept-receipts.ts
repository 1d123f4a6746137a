import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { MAX_GROUPED_ROWS, StatementPump } from '#database';
import type { NewReceipt, StoredIdentity } from '#ledger';
import { Problem } from '#problems';
import {
  inSpan,
  isDatabaseBusy,
  isDatabaseUnavailable,
  isNotSent,
  isRowContended,
  isWriteRefused,
  startSpan,
  type Span,
} from '#runtime';
import { callerGone, type IsCallerGone } from '../http/caller-gone.js';
import { isLost, outcomeUnclear } from './outcome-unclear.js';
import { ReceiptRepository } from './receipt.repository.js';

export type Acceptance =
  /** Committed by this call; `createdAt` is null when that was seen only afterwards. */
  | { kind: 'accepted'; id: string; createdAt: Date | null }
  /** The same request was stored before; its receipt is the answer. */
  | { kind: 'replay'; id: string }
  /** The key or external id is taken by another body, or they name two different receipts. */
  | { kind: 'mismatch'; detail: string }
  /** Another transaction holds the key and has not decided yet. */
  | { kind: 'in_flight' };

/** Overrides of {@link AcceptLimits}, for injection. */
export const ACCEPT_LIMITS = Symbol('limits of accepting');

export interface AcceptLimits {
  /** Receipts that may wait for their turn; one more is refused at once. */
  maxWaiting?: number;
  /** How long it is tried to find out what became of a statement whose answer was lost. */
  settleMs?: number;
}

interface Waiting {
  row: NewReceipt;
  isCallerGone: IsCallerGone;
  queuedMs: number;
  /** It has left in a statement whose end is not known. */
  mayBeStored: boolean;
  /** Of its wait, where its request is sampled. */
  span: Span | null;
  resolve: (acceptance: Acceptance) => void;
  reject: (error: unknown) => void;
}

const MAX_WAITING = 5_000;
/** A receipt that has waited so long without leaving is refused: its caller is about to give up. */
const MAX_WAIT_MS = 5_000;
const SETTLE_MS = 6_000;
/** After so long without a further refusal nothing is said of writing: no receipt has come. */
const REFUSED_MS = 60_000;
/** Rows written alone at the same time after a group failed. */
const ALONE_AT_ONCE = 4;
/** Before a group whose connection died is written again with the same ids. */
const RECONNECT_PAUSE_MS = 150;

/**
 * Writes receipts that arrive together in one statement (docs/adr/0003-grouped-accept.md).
 *
 * Each statement takes all rows that wait at that moment; the group's size follows the load by itself. A row's
 * result is found by its id, never by position or count: `ON CONFLICT DO NOTHING` leaves losers out silently.
 *
 * Crash window: the connection may die after COMMIT was sent and before its answer. The group is then written again
 * **with the same ids** until PostgreSQL decides; a row that had been committed conflicts with itself, is read back and
 * recognised by its id as accepted by this very call. What cannot be decided in time is answered as unclear. A process
 * that dies there answers no caller, and the caller's retry with the same key finds the row.
 */
@Injectable()
export class AcceptReceipts {
  /** Since the program began: refused because too many waited, left out because their callers had gone, answered as unclear. */
  readonly counts = { refused: 0, dropped: 0, unclear: 0 };
  /** When the database last refused to write; null: it has written since, or never refused. */
  private refusedMs: number | null = null;
  private readonly waiting: Waiting[] = [];
  /** When the statements began whose rows are not decided: under way, or repeated since. */
  private readonly underWay = new Set<{ sinceMs: number }>();
  private readonly pump = new StatementPump(
    () => this.waiting.length,
    () => this.write(this.waiting.splice(0, MAX_GROUPED_ROWS)),
  );
  private readonly limits: Required<AcceptLimits>;

  constructor(
    private readonly receipts: ReceiptRepository,
    @Optional() @Inject(ACCEPT_LIMITS) { maxWaiting = MAX_WAITING, settleMs = SETTLE_MS }: AcceptLimits = {},
  ) {
    this.limits = { maxWaiting, settleMs };
  }

  /** Receipts that wait for their turn. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /** The database is there and takes no writes (a full disk, read-only), as the last minute has shown. */
  get isWriteRefused(): boolean {
    return this.refusedMs !== null && performance.now() - this.refusedMs < REFUSED_MS;
  }

  /** For how long the oldest has waited or been written that is not decided, milliseconds. */
  get oldestMs(): number {
    const nowMs = performance.now();
    const begun = [...this.underWay].map(({ sinceMs }) => sinceMs);
    const [first] = this.waiting;
    return nowMs - Math.min(nowMs, ...begun, ...(first ? [first.queuedMs] : []));
  }

  /** Resolves when the row is on disk or refused; rejects with a Problem that says whether it may be. */
  accept(row: NewReceipt, isCallerGone: IsCallerGone = () => false): Promise<Acceptance> {
    if (this.waiting.length >= this.limits.maxWaiting) return Promise.reject(this.refusal());
    const span = startSpan('receipt accept', { attributes: { 'receipt.id': row.id } });
    const accepted = new Promise<Acceptance>((resolve, reject) => {
      this.waiting.push({ row, isCallerGone, queuedMs: performance.now(), mayBeStored: false, span, resolve, reject });
      this.pump.schedule();
    });
    return span === null ? accepted : accepted.finally(() => span.end());
  }

  private refusal(): Problem {
    this.counts.refused += 1;
    return new Problem('service_unavailable', 'Too many receipts wait to be written; nothing was stored.', {
      retryAfterSeconds: 1,
    });
  }

  private async write(taken: readonly Waiting[]): Promise<void> {
    const group = this.withoutLate(taken);
    if (group.length === 0) return;
    const statement = { sinceMs: performance.now() };
    this.underWay.add(statement);
    const decided = (): void => void this.underWay.delete(statement);
    const failed = await this.writeTogether(group);
    if (!failed) return decided();
    const { rows, error } = failed;
    if (isLost(error)) for (const each of rows) each.mayBeStored = true;
    // Not in this turn of the pump: others need not wait for it.
    if (isDatabaseUnavailable(error)) return void this.settle(rows, error).finally(decided);
    decided();
    if (isTableLocked(error)) for (const each of rows) this.fail(each, error);
    else for (const each of await this.writeAlone(rows)) this.fail(each.row, each.error);
  }

  /** Nothing of these has left the process: those that no caller waits for are not written any more. */
  private withoutLate(taken: readonly Waiting[]): Waiting[] {
    const now = performance.now();
    return taken.filter((each) => {
      if (this.isDropped(each)) return false;
      if (now - each.queuedMs <= MAX_WAIT_MS) return true;
      each.reject(this.refusal());
      return false;
    });
  }

  private isDropped(each: Waiting): boolean {
    if (!each.isCallerGone()) return false;
    this.counts.dropped += 1;
    each.reject(each.mayBeStored ? outcomeUnclear(undefined) : callerGone());
    return true;
  }

  /** Writes again with the same ids until it is decided, or what is left of them is answered as unclear. */
  private async settle(rows: readonly Waiting[], failure: unknown): Promise<void> {
    const untilMs = performance.now() + this.limits.settleMs;
    let undecided = rows.map((row) => ({ row, error: failure }));
    do {
      await delay(RECONNECT_PAUSE_MS);
      const open = undecided.filter(({ row }) => !this.isDropped(row));
      const failed = await this.writeAgain(open.map(({ row }) => row));
      undecided = failed.filter(({ row }) => row.mayBeStored);
      // Of a row that has never left nothing can have been stored: no reason to wait.
      for (const { row, error } of failed) if (!row.mayBeStored) this.fail(row, error);
    } while (undecided.length > 0 && performance.now() < untilMs);
    for (const { row, error } of undecided) this.fail(row, error);
  }

  private async writeAgain(rows: readonly Waiting[]): Promise<Failed[]> {
    if (rows.length === 0) return [];
    const failed = await this.writeTogether(rows);
    if (!failed) return [];
    if (isLost(failed.error)) for (const each of failed.rows) each.mayBeStored = true;
    if (isDatabaseUnavailable(failed.error) || isTableLocked(failed.error))
      return failed.rows.map((row) => ({ row, error: failed.error }));
    return this.writeAlone(failed.rows);
  }

  /** @returns those that are not decided, and why; null when all are */
  private writeTogether(group: readonly Waiting[]): Promise<{ rows: readonly Waiting[]; error: unknown } | null> {
    // One statement for several requests: in none of their traces, and linked to each that is sampled.
    const links = group.map(({ span }) => span?.context ?? null);
    return inSpan('receipts insert', { parent: null, links, attributes: { 'receipts.count': group.length } }, () =>
      this.writeGroup(group),
    );
  }

  private async writeGroup(group: readonly Waiting[]): Promise<{ rows: readonly Waiting[]; error: unknown } | null> {
    let open = group;
    try {
      const inserted = await this.receipts.insertGroup(group.map((each) => each.row));
      this.refusedMs = null;
      open = group.filter(({ row, resolve }) => {
        const createdAt = inserted.get(row.id);
        if (createdAt) resolve({ kind: 'accepted', id: row.id, createdAt });
        return !createdAt;
      });
      if (open.length === 0) return null;
      const stored = await this.receipts.findIdentities(open.map(({ row }) => row));
      for (const { row, resolve } of open) resolve(judgeConflict(row, stored));
      return null;
    } catch (error) {
      if (isWriteRefused(error)) this.refusedMs = performance.now();
      return { rows: open, error };
    }
  }

  /** One bad row (a lock held elsewhere, a deadlock victim) must not cost its neighbours: each is written for itself. */
  private async writeAlone(group: readonly Waiting[]): Promise<Failed[]> {
    const queue = [...group];
    const failures: Failed[] = [];
    const worker = async (): Promise<void> => {
      for (let each = queue.shift(); each; each = queue.shift()) {
        const failed = await this.writeTogether([each]);
        if (!failed) continue;
        if (isLost(failed.error)) each.mayBeStored = true;
        failures.push({ row: each, error: failed.error });
      }
    };
    await Promise.all(Array.from({ length: ALONE_AT_ONCE }, worker));
    return failures;
  }

  private fail(each: Waiting, error: unknown): void {
    if (each.mayBeStored) {
      this.counts.unclear += 1;
      each.reject(outcomeUnclear(error));
    } else if (isNotSent(error)) {
      const detail = 'The database cannot be reached; nothing was stored.';
      each.reject(new Problem('database_unavailable', detail, { cause: error }));
    } else if (!isDatabaseBusy(error)) each.reject(error);
    // Another transaction is writing this very key.
    else if (isRowContended(error, 'receipts')) each.resolve({ kind: 'in_flight' });
    else {
      const detail = 'The database is overloaded; nothing was stored.';
      each.reject(new Problem('service_unavailable', detail, { cause: error }));
    }
  }
}

interface Failed {
  row: Waiting;
  error: unknown;
}

/** The whole table is held (a migration): each row alone would wait as long as all of them did together. */
function isTableLocked(error: unknown): boolean {
  return isDatabaseBusy(error) && !isRowContended(error, 'receipts');
}

/** What a row that was not inserted means: its own earlier commit, a replay, or another request's key. */
export function judgeConflict(row: NewReceipt | StoredIdentity, stored: readonly StoredIdentity[]): Acceptance {
  if (stored.some((other) => other.id === row.id)) return { kind: 'accepted', id: row.id, createdAt: null };
  const byKey = stored.find((other) => sameKey(row, other));
  const byExternalId = stored.find((other) => sameExternalId(row, other));
  const found = byKey ?? byExternalId;
  // The holder of the key rolled back between our two statements: the caller may simply try again.
  if (!found) return { kind: 'in_flight' };
  // A person's keys are its own at all its merchants; what was made at another one is no business of this one.
  if (found.merchantId !== row.merchantId)
    return { kind: 'mismatch', detail: 'You have used this idempotency key for another merchant; take another one.' };
  if (byKey && byExternalId && byKey.id !== byExternalId.id) {
    return { kind: 'mismatch', detail: 'The idempotency key and the external id name two different receipts.' };
  }
  if (!found.bodyHash.equals(row.bodyHash)) {
    const name = byKey ? 'idempotency key' : 'external id';
    return { kind: 'mismatch', detail: `This ${name} was used before with another body (receipt ${found.id}).` };
  }
  return { kind: 'replay', id: found.id };
}

function sameKey(row: StoredIdentity | NewReceipt, other: StoredIdentity): boolean {
  return (
    row.idempotencyKey !== null &&
    row.idempotencyKey === other.idempotencyKey &&
    row.clientId === other.clientId &&
    row.operation === other.operation
  );
}

function sameExternalId(row: StoredIdentity | NewReceipt, other: StoredIdentity): boolean {
  return row.externalId !== null && row.externalId === other.externalId && row.merchantId === other.merchantId;
}
