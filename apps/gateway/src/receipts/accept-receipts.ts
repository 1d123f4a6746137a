import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { MAX_GROUPED_ROWS, StatementPump } from '#database';
import { isDatabaseBusy, isDatabaseUnavailable, isRowContended, Problem } from '#runtime';
import { ReceiptRepository, type NewReceipt, type StoredIdentity } from './receipt.repository.js';

export type Acceptance =
  /** Committed by this call; `createdAt` is null when that was seen only afterwards. */
  | { kind: 'accepted'; id: string; createdAt: Date | null }
  /** The same request was stored before; its receipt is the answer. */
  | { kind: 'replay'; id: string }
  /** The key or external id is taken by another body, or they name two different receipts. */
  | { kind: 'mismatch'; detail: string }
  /** Another transaction holds the key and has not decided yet. */
  | { kind: 'in_flight' };

interface Waiting {
  row: NewReceipt;
  resolve: (acceptance: Acceptance) => void;
  reject: (error: unknown) => void;
}

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
 * Crash window: the connection may die after COMMIT was sent and before its answer. The group is then written once
 * more **with the same ids**; a row that had been committed conflicts with itself, is read back and recognised by its
 * id as accepted by this very call. A process that dies there answers nobody, and the caller's retry with the same
 * key finds the row.
 */
@Injectable()
export class AcceptReceipts {
  private readonly waiting: Waiting[] = [];
  private readonly pump = new StatementPump(
    () => this.waiting.length,
    () => this.write(this.waiting.splice(0, MAX_GROUPED_ROWS).sort(byKey)),
  );

  constructor(private readonly receipts: ReceiptRepository) {}

  /** Resolves when the row is on disk or refused; rejects when PostgreSQL cannot say. */
  accept(row: NewReceipt): Promise<Acceptance> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ row, resolve, reject });
      this.pump.soon();
    });
  }

  private async write(group: readonly Waiting[]): Promise<void> {
    try {
      await this.writeTogether(group).catch(async (error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error;
        // The COMMIT may have arrived. Ask once more before 503 is said of rows that may be on disk.
        await delay(RECONNECT_PAUSE_MS);
        await this.writeTogether(group);
      });
    } catch (error) {
      if (isDatabaseUnavailable(error) || isTableLocked(error)) group.forEach((each) => settleFailed(each, error));
      else await this.writeAlone(group);
    }
  }

  private async writeTogether(group: readonly Waiting[]): Promise<void> {
    const inserted = await this.receipts.insertGroup(group.map((each) => each.row));
    const losers = group.filter((each) => !inserted.has(each.row.id));
    const stored = losers.length > 0 ? await this.receipts.findIdentities(losers.map(({ row }) => row)) : [];
    for (const { row, resolve } of group) {
      const createdAt = inserted.get(row.id);
      resolve(createdAt ? { kind: 'accepted', id: row.id, createdAt } : judgeConflict(row, stored));
    }
  }

  /** One bad row (a lock held elsewhere, a deadlock victim) must not cost its neighbours: everybody for himself. */
  private async writeAlone(group: readonly Waiting[]): Promise<void> {
    const queue = [...group];
    const worker = async (): Promise<void> => {
      for (let each = queue.shift(); each; each = queue.shift()) {
        try {
          await this.writeTogether([each]);
        } catch (error) {
          settleFailed(each, error);
        }
      }
    };
    await Promise.all(Array.from({ length: ALONE_AT_ONCE }, worker));
  }
}

/** The whole table is held (a migration): each row alone would wait as long as all of them did together. */
function isTableLocked(error: unknown): boolean {
  return isDatabaseBusy(error) && !isRowContended(error, 'receipts');
}

function settleFailed(each: Waiting, error: unknown): void {
  if (!isDatabaseBusy(error)) each.reject(error);
  // Another transaction is writing this very key.
  else if (isRowContended(error, 'receipts')) each.resolve({ kind: 'in_flight' });
  else
    each.reject(
      new Problem('service_unavailable', 'The database is overloaded; nothing was stored.', { cause: error }),
    );
}

/** What a row that was not inserted means: its own earlier commit, a replay, or somebody else's key. */
export function judgeConflict(row: NewReceipt | StoredIdentity, stored: readonly StoredIdentity[]): Acceptance {
  if (stored.some((other) => other.id === row.id)) return { kind: 'accepted', id: row.id, createdAt: null };
  const byKey = stored.find((other) => sameKey(row, other));
  const byExternalId = stored.find((other) => sameExternalId(row, other));
  const found = byKey ?? byExternalId;
  // The holder of the key rolled back between our two statements: the caller may simply try again.
  if (!found) return { kind: 'in_flight' };
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

function sortKey(row: NewReceipt): string {
  return `${row.clientId}\n${row.operation}\n${row.idempotencyKey ?? ''}\n${row.externalId ?? ''}\n${row.id}`;
}

function byKey(a: Waiting, b: Waiting): number {
  const left = sortKey(a.row);
  const right = sortKey(b.row);
  return left < right ? -1 : left > right ? 1 : 0;
}
