import { inTransaction, type Sqlite } from '../journal/database.js';
import { NO_DIGEST, NO_SUMS, type Shift, type Sums, type ZReport } from '#fiscal-module';

/** The module's lifetime state, replaced as a whole with each operation. */
export interface ModuleState {
  readonly receiptSeq: number;
  readonly lastDigest: string;
  /** Empty before the first signed document. */
  readonly lastSign: string;
  readonly lastOperationMs: number;
  readonly sale: Sums;
  readonly refund: Sums;
}

interface SumColumns {
  sale_cash: number;
  sale_card: number;
  sale_vat: number;
  refund_cash: number;
  refund_card: number;
  refund_vat: number;
}

interface StateRow extends SumColumns {
  terminal_id: string;
  sign_key: Buffer;
  receipt_seq: number;
  last_digest: string;
  last_sign: string;
  last_operation_ms: number;
}

interface ShiftRow extends SumColumns {
  number: number;
  opened_ms: number;
  closed_ms: number | null;
  documents: number;
  sale_count: number;
  refund_count: number;
  payload: string | null;
  digest: string | null;
}

/** More than a document of 500 items. */
const ROOM_BYTES = 1_048_576;

const EMPTY_STATE: ModuleState = {
  receiptSeq: 0,
  lastDigest: NO_DIGEST,
  lastSign: '',
  lastOperationMs: 0,
  sale: NO_SUMS,
  refund: NO_SUMS,
};

/** The software module's memory: SQL only, no rules. Callers choose the transaction. */
export class ModuleStore {
  private readonly updateState;
  private readonly updateShift;
  private readonly addUnsent;

  constructor(private readonly db: Sqlite) {
    this.updateState = db.prepare(
      `UPDATE fiscal_module SET receipt_seq = ?, last_digest = ?, last_sign = ?, last_operation_ms = ?,
       sale_cash = ?, sale_card = ?, sale_vat = ?, refund_cash = ?, refund_card = ?, refund_vat = ?`,
    );
    this.updateShift = db.prepare(
      `UPDATE shifts SET documents = ?, sale_count = ?, sale_cash = ?, sale_card = ?, sale_vat = ?,
       refund_count = ?, refund_cash = ?, refund_card = ?, refund_vat = ? WHERE number = ?`,
    );
    this.addUnsent = db.prepare('INSERT INTO unsent_documents VALUES (?, ?)');
  }

  /** Terminal id and signing key, made once. The key is read by the module alone and leaves it on no call. */
  identity(make: () => { terminalId: string; key: Buffer }): { terminalId: string; key: Buffer } {
    const row = this.stateRow();
    if (row) return { terminalId: row.terminal_id, key: row.sign_key };
    const made = make();
    const { lastDigest, lastSign } = EMPTY_STATE;
    this.db
      .prepare('INSERT INTO fiscal_module VALUES (1, ?, ?, 0, ?, ?, 0, 0, 0, 0, 0, 0, 0)')
      .run(made.terminalId, made.key, lastDigest, lastSign);
    return made;
  }

  readState(): ModuleState {
    const row = this.stateRow();
    if (!row) return EMPTY_STATE;
    return {
      receiptSeq: row.receipt_seq,
      lastDigest: row.last_digest,
      lastSign: row.last_sign,
      lastOperationMs: row.last_operation_ms,
      sale: { cash: row.sale_cash, card: row.sale_card, vat: row.sale_vat },
      refund: { cash: row.refund_cash, card: row.refund_card, vat: row.refund_vat },
    };
  }

  writeState({ receiptSeq, lastDigest, lastSign, lastOperationMs, sale, refund }: ModuleState): void {
    this.updateState.run(
      ...[receiptSeq, lastDigest, lastSign, lastOperationMs],
      ...[sale.cash, sale.card, sale.vat, refund.cash, refund.card, refund.vat],
    );
  }

  /** Two transactions, so that the disk has taken it in between. One that a crash has left is taken away by the next. */
  tryRoom(): void {
    inTransaction(this.db, () => {
      this.db.prepare(`INSERT OR REPLACE INTO meta VALUES ('room', ?)`).run('x'.repeat(ROOM_BYTES));
    });
    inTransaction(this.db, () => {
      this.db.prepare(`DELETE FROM meta WHERE key = 'room'`).run();
    });
  }

  lastShift(): Shift | null {
    const row = this.db.prepare('SELECT * FROM shifts ORDER BY number DESC LIMIT 1').get() as ShiftRow | undefined;
    return row ? toShift(row) : null;
  }

  shifts(): (Shift & { zReport: ZReport | null })[] {
    const rows = this.db.prepare('SELECT * FROM shifts ORDER BY number').all() as ShiftRow[];
    return rows.map((row) => ({ ...toShift(row), zReport: toZReport(row) }));
  }

  insertShift(number: number, openedMs: number): void {
    this.db
      .prepare('INSERT INTO shifts VALUES (?, ?, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL)')
      .run(number, openedMs);
  }

  writeShift({ number, documents, saleCount, sale, refundCount, refund }: Shift): void {
    this.updateShift.run(
      ...[documents, saleCount, sale.cash, sale.card, sale.vat],
      ...[refundCount, refund.cash, refund.card, refund.vat, number],
    );
  }

  closeShift(number: number, closedMs: number, zReport: ZReport): void {
    this.db
      .prepare('UPDATE shifts SET closed_ms = ?, payload = ?, digest = ? WHERE number = ?')
      .run(closedMs, zReport.payload, zReport.digest, number);
    this.db.prepare('INSERT INTO unsent_z_reports VALUES (?, ?)').run(number, closedMs);
  }

  zReport(number: number): ZReport | null {
    const row = this.db.prepare('SELECT * FROM shifts WHERE number = ?').get(number) as ShiftRow | undefined;
    return row ? toZReport(row) : null;
  }

  markUnsent(seq: number, timeMs: number): void {
    this.addUnsent.run(seq, timeMs);
  }

  /** Sequence number → time of registration, oldest first. */
  unsentDocuments(): Map<number, number> {
    const rows = this.db.prepare('SELECT seq, time_ms FROM unsent_documents ORDER BY seq').all();
    return new Map((rows as { seq: number; time_ms: number }[]).map((row) => [row.seq, row.time_ms]));
  }

  unsentZReports(): number[] {
    const rows = this.db.prepare('SELECT number FROM unsent_z_reports ORDER BY number').all() as { number: number }[];
    return rows.map((row) => row.number);
  }

  removeUnsent(table: 'unsent_documents' | 'unsent_z_reports', numbers: readonly number[]): void {
    const column = table === 'unsent_documents' ? 'seq' : 'number';
    this.db
      .prepare(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`)
      .run(JSON.stringify(numbers));
  }

  private stateRow(): StateRow | undefined {
    return this.db.prepare('SELECT * FROM fiscal_module').get() as StateRow | undefined;
  }
}

function toShift(row: ShiftRow): Shift {
  return {
    number: row.number,
    openedMs: row.opened_ms,
    closedMs: row.closed_ms,
    documents: row.documents,
    saleCount: row.sale_count,
    sale: { cash: row.sale_cash, card: row.sale_card, vat: row.sale_vat },
    refundCount: row.refund_count,
    refund: { cash: row.refund_cash, card: row.refund_card, vat: row.refund_vat },
  };
}

function toZReport(row: ShiftRow): ZReport | null {
  if (row.payload === null || row.digest === null) return null;
  return { number: row.number, payload: row.payload, digest: row.digest };
}
