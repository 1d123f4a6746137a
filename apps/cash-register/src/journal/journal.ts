import type { Registration } from '#fiscal-module';
import { REFUNDED_SEQ, type Sqlite } from './database.js';

/** A registered document as the journal keeps it. `payload` is the canonical JSON that the digest covers. */
export interface JournalEntry {
  readonly seq: number;
  readonly timeMs: number;
  readonly payload: string;
  readonly digest: string;
  /** 12 digits; `null` for advance and credit. */
  readonly sign: string | null;
  /** SHA-256 of the request that registered it; `null` when it came without a key. */
  readonly requestHash: string | null;
}

/** What a client may ask again by. */
export interface RequestMark {
  readonly idempotencyKey: string | null;
  readonly requestHash: string | null;
}

interface Row {
  seq: number;
  time_ms: number;
  payload: string;
  digest: string;
  sign: string | null;
  request_hash: string | null;
}

const COLUMNS = 'seq, time_ms, payload, digest, sign, request_hash';

/** The register's documents, append only. Rows are written inside the fiscal module's transaction. */
export class Journal {
  private readonly insert;
  private readonly bySeq;
  private readonly byKey;
  private readonly ofSale;

  constructor(private readonly db: Sqlite) {
    this.insert = db.prepare('INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.bySeq = db.prepare(`SELECT ${COLUMNS} FROM documents WHERE seq = ?`);
    this.byKey = db.prepare(`SELECT ${COLUMNS} FROM documents WHERE idempotency_key = ?`);
    this.ofSale = db.prepare(`SELECT ${COLUMNS} FROM documents WHERE ${REFUNDED_SEQ} = ? ORDER BY seq`);
  }

  append(registration: Registration, mark: RequestMark): void {
    const { seq, timeMs, payload, digest, sign } = registration;
    this.insert.run(seq, timeMs, payload, digest, sign, mark.idempotencyKey, mark.requestHash);
  }

  findBySeq(seq: number): JournalEntry | null {
    return toEntry(this.bySeq.get(seq) as Row | undefined);
  }

  findByKey(key: string): JournalEntry | null {
    return toEntry(this.byKey.get(key) as Row | undefined);
  }

  /** Refunds that name this sequence number, of whatever terminal. */
  refundsOf(seq: number): JournalEntry[] {
    return (this.ofSale.all(seq) as Row[]).map((row) => toEntry(row)).filter((entry) => entry !== null);
  }

  /** All documents in order, read as they are consumed. */
  *entries(): Generator<JournalEntry> {
    for (const row of this.db.prepare(`SELECT ${COLUMNS} FROM documents ORDER BY seq`).iterate()) {
      const entry = toEntry(row as Row);
      if (entry) yield entry;
    }
  }

  /** The newest documents, newest first. */
  newest(limit: number): JournalEntry[] {
    const rows = this.db.prepare(`SELECT ${COLUMNS} FROM documents ORDER BY seq DESC LIMIT ?`).all(limit);
    return rows.map((row) => toEntry(row as Row)).filter((entry) => entry !== null);
  }
}

function toEntry(row: Row | undefined): JournalEntry | null {
  if (!row) return null;
  return {
    seq: row.seq,
    timeMs: row.time_ms,
    payload: row.payload,
    digest: row.digest,
    sign: row.sign,
    requestHash: row.request_hash,
  };
}
