import { setTimeout as delay } from 'node:timers/promises';
import {
  daysKept,
  endRestored,
  inFamilies,
  LEAVING_PREFIX,
  LEAVING_TABLES,
  noteRemoved,
  noteWritten,
  removeArchived,
  scanRows,
  StoreUnavailable,
  tableOfArchive,
  unfinishedArchives,
  type ArchiveFiles,
  type ArchiveRow,
  type KeepDays,
  type LeavingTable,
  type Recorded,
  type RunStatement,
} from '#ledger';
import { firstIdAt, type Logger } from '#runtime';
import { withKeeperLock, type KeeperSession } from './keeper-session.js';
import { expectKnownPlace } from './known-place.js';
import { abandonUnfinished, Writing } from './writing.js';

/** Of advisory locks: "AR", and the keeper's own. */
const KEEPER_LOCK = [0x4152, 1] as const;
/** Sales come first: what takes longer is given up, and tried again later. */
const STATEMENT_TIMEOUT_MS = 15_000;
const LOCK_TIMEOUT_MS = 100;
const DAY_MS = 86_400_000;
/** Archives of one table that were begun and cannot be finished: with so many, no other is begun. */
const MOST_UNFINISHED = 5;
/** A payment with its receipts and all that hangs on it. */
const ROWS_OF_A_PAYMENT = 5;
/** Rows that were brought back stay for so long. */
export const RESTORED_DAYS = 30;

export interface ArchiveOptions {
  /** Days that a row is kept in the database. */
  keepDays: KeepDays;
  rowsAtOnce: number;
  maxRows: number;
  /** Characters of one archive, before compression; at most what its store takes. */
  maxCharacters: number;
  /** Between two statements. */
  pauseMs: number;
}

export const ARCHIVE_OPTIONS = { rowsAtOnce: 200, maxRows: 20_000, maxCharacters: Infinity, pauseMs: 50 };

interface Failure {
  table: LeavingTable;
  /** That was begun and could not be finished; null: none could be written. */
  archive: string | null;
  error: unknown;
}

/**
 * Moves old attempts, receipts and payments from the database into archives, one relay at a time. The order is that of what is durable: the archive's row, its
 * file, its manifest, then the rows leave, each as long as it is still what the file holds (docs/adr/0186-archive-of-attempts.md has the
 * crash windows).
 */
export class ArchiveKeeper {
  private readonly session: KeeperSession;
  /** Where the scan goes on: what has to stay is not read again in each round. */
  private readonly after: Record<LeavingTable, string> = { attempts: '', receipts: '', payments: '' };
  /** Read to their ends since the first of them was begun. */
  private readonly ended = new Set<LeavingTable>();
  /** Of the same time: said at its end, so that others leave at their pace. */
  private readonly failures: Failure[] = [];
  private isStopping = false;

  constructor(
    databaseUrl: string,
    private readonly files: ArchiveFiles,
    private readonly options: ArchiveOptions,
    private readonly logger: Logger,
  ) {
    this.session = {
      ...{ databaseUrl, name: 'archive-keeper', lock: KEEPER_LOCK },
      ...{ statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS },
    };
  }

  /** @returns whether there is more to do at once */
  async run(): Promise<boolean> {
    return (await withKeeperLock(this.session, this.logger, (run) => this.work(run))) ?? false;
  }

  /** The round under way ends soon; what it leaves is found by the next one. */
  stop(): void {
    this.isStopping = true;
    this.files.end();
  }

  private async work(run: RunStatement): Promise<boolean> {
    await expectKnownPlace(run, 'rows', this.files, this.logger);
    await endRestored(run, RESTORED_DAYS);
    await this.finishAll(run);
    if (await this.goOn(run)) return true;
    const errors = this.failures.splice(0).map(({ error }) => error);
    if (errors.length > 0)
      throw new AggregateError(errors, `not all old rows could be archived: ${errors.map(String).join('; ')}`);
    return false;
  }

  /**
   * One table after the other, each to its end: receipts without attempts are found behind all of these, and what stays of a table, be it a million
   * receipts of payments, is read once, however many archives the next one fills. One that fails keeps no other from leaving.
   */
  private async goOn(run: RunStatement): Promise<boolean> {
    for (const table of LEAVING_TABLES) {
      if (this.ended.has(table) || this.isStuck(table)) continue;
      try {
        if (await this.writeNext(run, table)) return true;
      } catch (error) {
        this.fail({ table, archive: null, error });
      }
      if (this.isStopping) return false;
      this.ended.add(table);
    }
    this.ended.clear();
    return false;
  }

  /** What these hold is still here, and would be written anew each time. */
  private isStuck(table: LeavingTable): boolean {
    return this.failures.filter((each) => each.table === table && each.archive !== null).length >= MOST_UNFINISHED;
  }

  /** One that fails keeps no other row from leaving, and is tried again when all tables have been read. */
  private async finishAll(run: RunStatement): Promise<void> {
    for (const archive of await unfinishedArchives(run)) {
      if (this.failures.some((failure) => failure.archive === archive.name)) continue;
      try {
        await this.finish(run, archive);
      } catch (error) {
        this.fail({ table: leavingTable(archive.name), archive: archive.name, error });
      }
    }
  }

  private fail(failure: Failure): void {
    const { table, archive, error } = failure;
    if (error instanceof StoreUnavailable) throw error;
    this.logger.error({ err: error, table, archive }, 'old rows could not be archived, or an archive not be finished');
    this.failures.push(failure);
  }

  /** What an earlier process began: a file with a manifest is whole, one without never counted. */
  private async finish(run: RunStatement, { name, state, bytes, sha256 }: ArchiveRow): Promise<void> {
    if (state !== 'writing') return this.remove(run, name, { bytes: Number(bytes), sha256: sha256 ?? '' });
    const manifest = await this.files.manifest(name);
    if (!manifest) return abandonUnfinished(run, this.files, name, this.logger);
    await this.files.sync();
    await noteWritten(run, manifest);
    await this.remove(run, name, manifest);
  }

  /** One archive, as far as there are rows for it; none where there are none. */
  private async writeNext(run: RunStatement, table: LeavingTable): Promise<boolean> {
    const writing = new Writing(this.files, run, { table });
    try {
      const hasMore = await this.fill(run, writing, table);
      const manifest = await writing.finish();
      if (!manifest) return hasMore;
      await noteWritten(run, manifest);
      await this.remove(run, manifest.name, manifest);
      return hasMore;
    } catch (error) {
      await writing.abort();
      this.after[table] = '';
      throw error;
    }
  }

  private async fill(run: RunStatement, writing: Writing, table: LeavingTable): Promise<boolean> {
    const { keepDays, pauseMs } = this.options;
    const limit = this.atOnce(table);
    const before = new Date(Date.now() - daysKept(table, keepDays) * DAY_MS);
    const upTo = firstIdAt(LEAVING_PREFIX[table], before);
    while (!this.isStopping && writing.hasRoom(this.options)) {
      const { due, last } = await scanRows(run, table, { after: this.after[table], upTo, before, limit });
      for (const row of due) await writing.add(row);
      this.after[table] = last ?? '';
      if (last === null) return false;
      await delay(pauseMs);
    }
    return !this.isStopping;
  }

  /** Of one statement. */
  private atOnce(table: LeavingTable): number {
    return Math.ceil(this.options.rowsAtOnce / (table === 'payments' ? ROWS_OF_A_PAYMENT : 1));
  }

  /**
   * Reads what was stored, and removes what it says: a file that cannot be read back removes nothing. Others go on: what it should have
   * held leaves with another archive, and when it is back there is nothing left to remove for it.
   */
  private async remove(run: RunStatement, name: string, recorded: Recorded): Promise<void> {
    const state = await this.files.check(name, recorded.sha256).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error;
      return error;
    });
    if (state !== 'whole') {
      this.logger.error({ archive: name, state }, 'an archive is not what it was: no row leaves for it');
      return;
    }
    const table = leavingTable(name);
    let removed = 0;
    const atOnce = this.atOnce(table);
    for await (const lines of inFamilies(this.files.read(name, atOnce, recorded), atOnce)) {
      if (this.isStopping) return;
      removed += await removeArchived(run, table, { name, lines });
      await delay(this.options.pauseMs);
    }
    await noteRemoved(run, name, removed);
    this.logger.info({ archive: name, [table]: removed }, `old ${table} are in the archive`);
  }
}

/** @throws for an archive of partitions, which is its own keeper's */
function leavingTable(archive: string): LeavingTable {
  const table = LEAVING_TABLES.find((one) => one === tableOfArchive(archive));
  if (table === undefined) throw new Error(`${archive} holds no rows that leave one by one`);
  return table;
}
