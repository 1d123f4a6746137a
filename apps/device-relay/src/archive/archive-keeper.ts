import { setTimeout as delay } from 'node:timers/promises';
import { sessionConfig, watchedSession, type Prisma, type WatchedSession } from '#database';
import {
  abandonArchive,
  ArchiveFiles,
  beginArchive,
  endRestored,
  noteRemoved,
  newestArchives,
  noteWritten,
  removeArchived,
  scanAttempts,
  unfinishedArchives,
  type ArchiveRow,
  type ArchiveWriter,
  type Manifest,
  type RunStatement,
} from '#ledger';
import { firstIdAt, newId, type Logger } from '#runtime';

/** Of advisory locks: "AR", and the keeper's own. */
const KEEPER_LOCK = [0x4152, 1] as const;
/** Sales come first: what takes longer is given up, and tried again later. */
const STATEMENT_TIMEOUT_MS = 15_000;
const LOCK_TIMEOUT_MS = 100;
const DAY_MS = 86_400_000;
/** One of them may be lost; a folder without any is another one. */
const KNOWN_ARCHIVES = 5;
/** Rows that were brought back stay for so long. */
export const RESTORED_DAYS = 30;

export interface ArchiveOptions {
  /** Days that an attempt is kept in the database. */
  keepDays: number;
  rowsAtOnce: number;
  maxRows: number;
  /** Characters of one archive, before compression. */
  maxCharacters: number;
  /** Between two statements. */
  pauseMs: number;
}

export const ARCHIVE_OPTIONS = { rowsAtOnce: 200, maxRows: 20_000, maxCharacters: 64 * 2 ** 20, pauseMs: 50 };

/**
 * Moves old attempts from the database into archives, one relay at a time. All statements run in the session that holds the lock: who
 * loses the one loses the other. The order is that of what is durable: the archive's row, its file, its manifest, then the rows leave,
 * each as long as it is still what the file holds (docs/adr/0186-archive-of-attempts.md has the crash windows).
 */
export class ArchiveKeeper {
  private readonly files: ArchiveFiles;
  /** Where the scan goes on: what has to stay is not read again in each round. */
  private after = '';
  private isStopping = false;

  constructor(
    private readonly databaseUrl: string,
    folder: string,
    private readonly options: ArchiveOptions,
    private readonly logger: Logger,
  ) {
    this.files = new ArchiveFiles(folder);
  }

  /** @returns whether there is more to do at once */
  async run(): Promise<boolean> {
    const client = watchedSession(
      sessionConfig({
        url: this.databaseUrl,
        applicationName: 'archive-keeper',
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        lockTimeoutMs: LOCK_TIMEOUT_MS,
      }),
    );
    // The statement under way fails with it; nothing else is to be done.
    client.on('error', (error) => this.logger.warn({ err: error }, 'the session of the archive was lost'));
    await client.connect();
    try {
      const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [
        ...KEEPER_LOCK,
      ]);
      return rows[0]?.taken === true && (await this.work(runOn(client)));
    } finally {
      // The server ends a session some time after its client did; the next round must not meet its lock. A lost session has none.
      await client.query('SELECT pg_advisory_unlock_all()').catch(() => 'lost');
      await client.end();
    }
  }

  /** The round under way ends soon; what it leaves is found by the next one. */
  stop(): void {
    this.isStopping = true;
  }

  private async work(run: RunStatement): Promise<boolean> {
    await this.expectItsFolder(run);
    await endRestored(run, RESTORED_DAYS);
    for (const archive of await unfinishedArchives(run)) await this.finish(run, archive);
    return this.writeNext(run);
  }

  /** An empty folder, or that of another installation, would part the archives: nothing leaves for it. */
  private async expectItsFolder(run: RunStatement): Promise<void> {
    const names = await newestArchives(run, KNOWN_ARCHIVES);
    for (const name of names) {
      // One that cannot be read says nothing about the folder: the next one may.
      const manifest = await this.files.manifest(name).catch((error: unknown) => {
        this.logger.error({ err: error, archive: name }, 'the manifest of an archive cannot be read');
        return null;
      });
      if (manifest) return;
    }
    if (names.length > 0)
      throw new Error(
        `ARCHIVE_DIR has none of the newest archives (${names.join(', ')}): nothing leaves for this folder`,
      );
  }

  /** What an earlier process began: a file with a manifest is whole, one without never counted. */
  private async finish(run: RunStatement, { name, state }: ArchiveRow): Promise<void> {
    if (state === 'writing') {
      const manifest = await this.files.manifest(name);
      if (!manifest) {
        await this.files.discard(name);
        await abandonArchive(run, name);
        return;
      }
      await this.files.sync();
      await noteWritten(run, manifest);
    }
    await this.remove(run, name);
  }

  /** One archive, as far as there are rows for it; none where there are none. */
  private async writeNext(run: RunStatement): Promise<boolean> {
    const writing = new Writing(this.files, run);
    try {
      const hasMore = await this.fill(run, writing);
      const manifest = await writing.finish();
      if (!manifest) return hasMore;
      await noteWritten(run, manifest);
      await this.remove(run, manifest.name);
      return hasMore;
    } catch (error) {
      await writing.abort();
      this.after = '';
      throw error;
    }
  }

  private async fill(run: RunStatement, writing: Writing): Promise<boolean> {
    const { keepDays, rowsAtOnce: limit, maxRows, maxCharacters, pauseMs } = this.options;
    const before = new Date(Date.now() - keepDays * DAY_MS);
    const upTo = firstIdAt('att', before);
    while (!this.isStopping && writing.rows < maxRows && writing.characters < maxCharacters) {
      const scanned = await scanAttempts(run, { after: this.after, upTo, before, limit });
      for (const { id, line } of scanned) if (line !== null) await writing.add({ id, line });
      const isAtEnd = scanned.length < limit;
      this.after = isAtEnd ? '' : (scanned.at(-1)?.id ?? '');
      if (isAtEnd) return false;
      await delay(pauseMs);
    }
    return !this.isStopping;
  }

  /**
   * Reads what was stored, and removes what it says: a file that cannot be read back removes nothing. Others go on: what it should have
   * held leaves with another archive, and when it is back there is nothing left to remove for it.
   */
  private async remove(run: RunStatement, name: string): Promise<void> {
    const state = await this.files.check(name).catch((error: unknown) => error);
    if (state !== 'whole') {
      this.logger.error({ archive: name, state }, 'an archive is not what it was: no row leaves for it');
      return;
    }
    let removed = 0;
    for await (const lines of this.files.read(name, this.options.rowsAtOnce)) {
      if (this.isStopping) return;
      removed += await removeArchived(run, name, lines);
      await delay(this.options.pauseMs);
    }
    await noteRemoved(run, name);
    this.logger.info({ archive: name, attempts: removed }, 'old attempts are in the archive');
  }
}

/** An archive that is begun with its first row, and recorded before that. */
class Writing {
  private writer: ArchiveWriter | null = null;
  rows = 0;

  constructor(
    private readonly files: ArchiveFiles,
    private readonly run: RunStatement,
  ) {}

  get characters(): number {
    return this.writer?.written ?? 0;
  }

  async add(row: { id: string; line: string }): Promise<void> {
    if (!this.writer) {
      const name = newId('attempts').replace('_', '-');
      await beginArchive(this.run, name);
      this.writer = await this.files.begin(name);
    }
    await this.writer.add(row);
    this.rows += 1;
  }

  async finish(): Promise<Manifest | null> {
    return (await this.writer?.finish()) ?? null;
  }

  async abort(): Promise<void> {
    await this.writer?.abort();
  }
}

function runOn(client: WatchedSession): RunStatement {
  return async <Row>({ text, values }: Prisma.Sql): Promise<Row[]> =>
    (await client.query(text, [...values])).rows as Row[];
}
