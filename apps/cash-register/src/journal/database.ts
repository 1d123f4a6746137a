import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { StartFailure } from '#runtime';

export type Sqlite = Database.Database;

/** The data folder cannot be used; the message is one sentence for the console. */
export class DataFolderError extends StartFailure {
  override readonly name = 'DataFolderError';
}

const SCHEMA_VERSION = 1;

/**
 * One file holds everything that must agree: the fiscal module's state, the journal, the unsent marks. So one
 * transaction covers a document. A copy of the file is a copy of the register once the register has stopped: while it runs, the
 * newest transactions lie in `register.db-wal`.
 */
const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE fiscal_module (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  terminal_id TEXT NOT NULL, sign_key BLOB NOT NULL,
  receipt_seq INTEGER NOT NULL, last_digest TEXT NOT NULL, last_sign TEXT NOT NULL, last_operation_ms INTEGER NOT NULL,
  sale_cash INTEGER NOT NULL, sale_card INTEGER NOT NULL, sale_vat INTEGER NOT NULL,
  refund_cash INTEGER NOT NULL, refund_card INTEGER NOT NULL, refund_vat INTEGER NOT NULL
) STRICT;
CREATE TABLE shifts (
  number INTEGER PRIMARY KEY, opened_ms INTEGER NOT NULL, closed_ms INTEGER, documents INTEGER NOT NULL,
  sale_count INTEGER NOT NULL, sale_cash INTEGER NOT NULL, sale_card INTEGER NOT NULL, sale_vat INTEGER NOT NULL,
  refund_count INTEGER NOT NULL, refund_cash INTEGER NOT NULL, refund_card INTEGER NOT NULL, refund_vat INTEGER NOT NULL,
  payload TEXT, digest TEXT
) STRICT;
CREATE TABLE documents (
  seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, payload TEXT NOT NULL, digest TEXT NOT NULL, sign TEXT,
  idempotency_key TEXT, request_hash TEXT
) STRICT;
CREATE UNIQUE INDEX documents_key ON documents (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE unsent_documents (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL) STRICT;
CREATE TABLE unsent_z_reports (number INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL) STRICT;
`;

/** The sale that a document refunds, as it stands in its payload: `NULL` of a payload that was damaged, which the chain check reports. */
export const REFUNDED_SEQ = `(CASE WHEN json_valid(payload) THEN json_extract(payload, '$.refund_info.receiptSeq') END)`;
/** An index changes nothing of what is stored: programs of before keep it up, and go on with the folder. */
const INDEXES = `CREATE INDEX IF NOT EXISTS documents_refunds ON documents (${REFUNDED_SEQ}) WHERE ${REFUNDED_SEQ} IS NOT NULL`;

/**
 * Opens (or makes) the register's database in its data folder. The lock is exclusive for the life of the process: two
 * registers on one folder would each count their own next sequence number.
 * @param cachePages page cache in 4 KiB pages; small when one process serves many registers
 * @throws DataFolderError when the folder is in use, not writable or of a newer version
 */
export function openDatabase(folder: string, cachePages = 2_000): Sqlite {
  let db: Sqlite | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    db = new Database(join(folder, 'register.db'));
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma(`cache_size = ${String(cachePages)}`);
    migrate(db, folder);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof DataFolderError) throw error;
    throw new DataFolderError(sentenceFor(folder, error), { cause: error });
  }
}

/**
 * Closes and frees the folder for the next process. Prepared statements keep a closed connection and its lock alive
 * until they are collected; leaving WAL and reading once gives the lock back now.
 */
export function closeDatabase(db: Sqlite): void {
  db.pragma('journal_mode = DELETE');
  db.pragma('locking_mode = NORMAL');
  db.prepare('SELECT count(*) FROM meta').get();
  db.close();
}

function migrate(db: Sqlite, folder: string): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version > SCHEMA_VERSION) {
    throw new DataFolderError(`The data folder ${folder} was written by a newer version of this program.`);
  }
  if (version === 0) inTransaction(db, () => db.exec(`${SCHEMA} PRAGMA user_version = ${String(SCHEMA_VERSION)};`));
  try {
    db.exec(INDEXES);
  } catch (error) {
    // The register says what it lacks, and sends what it has. Without the index refunds are found more slowly.
    if (!isDiskFull(error)) throw error;
  }
}

/**
 * For an error of the disk or of SQLite while the folder was read: closes what can be closed.
 * @returns what to throw
 */
export function giveUpDatabase(db: Sqlite, folder: string, error: unknown): unknown {
  try {
    closeDatabase(db);
  } catch {
    // A file that cannot be read cannot be closed in order either; the first error says why.
    db.close();
  }
  const isOfDisk = !(error instanceof StartFailure) && typeof (error as { code?: unknown }).code === 'string';
  return isOfDisk ? new DataFolderError(sentenceFor(folder, error), { cause: error }) : error;
}

function sentenceFor(folder: string, error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (code === 'SQLITE_BUSY') return `The data folder ${folder} is in use by another running register.`;
  const reason = error instanceof Error ? error.message : String(error);
  return `The data folder ${folder} cannot be used: ${reason}.`;
}

/** No room for what had to be written. Other errors of the disk may come after it was. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'SQLITE_FULL';
}

interface TransactionStatements {
  begin: Database.Statement;
  commit: Database.Statement;
  rollback: Database.Statement;
}

/** Prepared once per database: parsing BEGIN and COMMIT anew each time costs a third of the write rate. */
const statements = new WeakMap<Sqlite, TransactionStatements>();

/** Runs `work` in one transaction that is durable when this returns. Any exception rolls everything back. */
export function inTransaction<T>(db: Sqlite, work: () => T): T {
  const { begin, commit, rollback } = transactionStatements(db);
  begin.run();
  try {
    const result = work();
    commit.run();
    return result;
  } catch (error) {
    if (db.inTransaction) rollback.run();
    throw error;
  }
}

function transactionStatements(db: Sqlite): TransactionStatements {
  let known = statements.get(db);
  if (!known) {
    known = { begin: db.prepare('BEGIN IMMEDIATE'), commit: db.prepare('COMMIT'), rollback: db.prepare('ROLLBACK') };
    statements.set(db, known);
  }
  return known;
}
