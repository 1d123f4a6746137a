import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { Problem, problemOf } from '#problems';
import { FairSlots, newId, type Logger, type ReleaseSlot } from '#runtime';
import type { Caller } from '../../../audit/caller.js';
import { notFound } from '../../../http/own-id.js';
import { viewOfColumns } from '../../../http/view-of-columns.js';
import { keepFile } from '../../sheets/keep-file.js';
import { ScratchFolders } from '../../sheets/scratch-folders.js';
import { UnreadableFile } from '../../sheets/sheet-row.js';
import { LOGGER } from '../../../tokens.js';
import { REJECTED_DAYS } from '../clear-catalog.js';
import { ImportProducts, type ImportCounts, type ImportMode, type RejectedRow } from './import-products.js';
import type { FileFormat } from './product-table.js';

export interface ImportView {
  id: string;
  format: FileFormat;
  mode: ImportMode;
  /** `failed`: `error` says why, and what was counted before it is taken (mode `upsert`) or not (mode `full`). */
  state: 'running' | 'done' | 'failed';
  progress: Partial<ImportCounts>;
  error: string | null;
  created_at: string;
  finished_at: string | null;
}

interface ImportedFile {
  path: string;
  format: FileFormat;
  mode: ImportMode;
  scratch: string;
  bytes: number;
}

interface ImportRow extends Omit<ImportView, 'created_at' | 'finished_at'> {
  columns: string[];
  created_at: Date;
  finished_at: Date | null;
  is_dead: boolean;
  /** Its rejected rows are not kept any more. */
  is_cleared: boolean;
}

/** Bounds disk and processor, not memory. */
const MAX_FILE_BYTES = 2 * 1024 ** 3;
/** Files on this disk, from the first byte to the end of their import: each merchant's share, and one for a merchant that has none. */
const FILES = { total: 16, perKey: 4 };
/** One import of a merchant after the other, as they came: a later file is to win. */
const TURNS = { total: FILES.total, perKey: 1, reserved: 0, waitingPerKey: FILES.perKey };
/** Files that are read at the same time; the others wait in turn, merchant by merchant. Each takes memory of its own. */
const READERS = { total: 2, perKey: 1, waitingPerKey: 1 };
/** Some ten thousand rows; a workbook is packed. They have a reader of their own: the large ones of two merchants can take an hour. */
const SMALL_FILE_BYTES: Readonly<Record<FileFormat, number>> = { csv: 1024 ** 2, jsonl: 1024 ** 2, xlsx: 64 * 1024 };
const SMALL_READERS = { total: 1, perKey: 1, reserved: 0, waitingPerKey: 1 };
/** How often a waiting or slow import says that it is alive; after five minutes of silence it counts as dead. */
const ALIVE_EVERY_MS = 60_000;

/**
 * Files that are sent to the API: kept on disk until they are worked through, by the gateway that received them. One that
 * dies leaves the import behind as failed; sending the same file again is safe.
 */
@Injectable()
export class ImportJobs {
  private readonly files = new FairSlots(FILES);
  private readonly turns = new FairSlots(TURNS);
  private readonly readers = new FairSlots(READERS);
  private readonly smallReaders = new FairSlots(SMALL_READERS);

  constructor(
    private readonly prisma: PrismaService,
    private readonly importProducts: ImportProducts,
    private readonly scratch: ScratchFolders,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * @returns when it is done, or after `waitMs` as it then stands: it goes on
   * @throws Problem import_busy; payload_too_large; import_unreadable, or what else made it fail, within the wait
   */
  async start(
    caller: Caller,
    body: Readable,
    { format, mode, waitMs }: { format: FileFormat; mode: ImportMode; waitMs: number },
  ): Promise<ImportView> {
    const release = this.files.tryTake(caller.merchantId);
    if (!release) throw new Problem('import_busy');
    const id = newId('imp');
    let folder: string | null = null;
    let work: Promise<Problem | null> | null = null;
    const leave = async (): Promise<void> => {
      release();
      if (folder !== null) await this.scratch.remove(folder);
    };
    try {
      folder = await this.scratch.make();
      const path = join(folder, 'file');
      const bytes = await keepFile(body, path, MAX_FILE_BYTES);
      await this.prisma.$executeRaw`
        INSERT INTO catalog_imports (id, merchant_id, format, mode) VALUES (${id}, ${caller.merchantId}, ${format}, ${mode})`;
      work = this.inTurn(caller, id, { path, format, mode, scratch: folder, bytes }, leave);
    } finally {
      if (work === null) await leave();
    }
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<null>((resolve) => (timer = setTimeout(resolve, waitMs, null)));
    const failure = await Promise.race([work, waited]);
    clearTimeout(timer);
    if (failure) throw failure;
    return this.get(caller.merchantId, id);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<ImportView> {
    return viewOf(await this.row(merchantId, id));
  }

  /** What its file of rejected rows needs. @throws Problem 404 */
  async fileOf(merchantId: string, id: string): Promise<{ importId: string; format: FileFormat; columns: string[] }> {
    const { format, columns, is_cleared: isCleared } = await this.row(merchantId, id);
    if (isCleared)
      throw new Problem('not_found', `Rows that were refused are kept for ${REJECTED_DAYS} days; send the file again.`);
    return { importId: id, format, columns };
  }

  private async row(merchantId: string, id: string): Promise<ImportRow> {
    const [row] = await this.prisma.$queryRaw<ImportRow[]>`
      SELECT id, format, mode, state, progress, error, columns, created_at, finished_at,
             state = 'running' AND seen_at < now() - interval '5 minutes' AS is_dead,
             created_at < now() - make_interval(days => ${REJECTED_DAYS}::int4) AS is_cleared
      FROM catalog_imports WHERE id = ${id} AND merchant_id = ${merchantId}`;
    if (!row) throw notFound('import');
    return row;
  }

  /** Never throws, as `work`. */
  private async inTurn(
    caller: Caller,
    id: string,
    file: ImportedFile,
    leave: () => Promise<void>,
  ): Promise<Problem | null> {
    const alive = setInterval(() => void this.sayAlive(id), ALIVE_EVERY_MS);
    alive.unref();
    const tooMany = (): Error => new Error('more imports wait than there are files');
    const readers = file.bytes > SMALL_FILE_BYTES[file.format] ? this.readers : this.smallReaders;
    const work = async (): Promise<Problem | null> => {
      // Never refused: of a merchant one import at a time gets here.
      const release = await readers.takeAgain(caller.merchantId);
      try {
        return await this.work(caller, id, file, release);
      } finally {
        release();
      }
    };
    try {
      return await this.turns.run(caller.merchantId, work, tooMany);
    } finally {
      clearInterval(alive);
      await leave();
    }
  }

  private async sayAlive(id: string): Promise<void> {
    try {
      await this.prisma.$executeRaw`UPDATE catalog_imports SET seen_at = now() WHERE id = ${id} AND state = 'running'`;
    } catch (error) {
      this.logger.warn({ err: error, import_id: id }, 'an import could not say that it is alive');
    }
  }

  /** Never throws: what goes wrong stands in the row, too. @param release of its reader @returns what went wrong */
  private async work(caller: Caller, id: string, file: ImportedFile, release: ReleaseSlot): Promise<Problem | null> {
    try {
      const counts = await this.importProducts.execute(caller, file, {
        columns: async (names) => {
          await this.prisma.$executeRaw`UPDATE catalog_imports SET columns = ${[...names]}::text[] WHERE id = ${id}`;
        },
        rejected: (rows) => this.keepRejected(id, rows),
        read: release,
        progress: async (progress) => {
          await this.prisma.$executeRaw`
            UPDATE catalog_imports SET progress = ${JSON.stringify(progress)}::jsonb, seen_at = now() WHERE id = ${id}`;
        },
      });
      await this.finish(id, 'done', null);
      this.logger.info({ import_id: id, merchant_id: caller.merchantId, ...counts }, 'catalogue import done');
      return null;
    } catch (error) {
      const isFile = error instanceof UnreadableFile;
      const problem = isFile ? new Problem('import_unreadable', error.message) : problemOf(error);
      if (!(error instanceof UnreadableFile))
        this.logger.error({ err: error, import_id: id }, 'a catalogue import failed');
      await this.finish(id, 'failed', problem.detail).catch((failure: unknown) =>
        this.logger.error({ err: failure, import_id: id }, 'the end of an import could not be written'),
      );
      return problem;
    }
  }

  private async keepRejected(id: string, rows: readonly RejectedRow[]): Promise<void> {
    // What PostgreSQL cannot hold is left out of what is handed back.
    const clean = JSON.stringify(rows).replaceAll(/\\u0000|\\ud[89a-f][0-9a-f]{2}/gi, '');
    await this.prisma.$executeRaw`
      INSERT INTO catalog_import_rejects (import_id, number, cells, reasons)
      SELECT ${id}, n.number, n.cells, n.reasons
        FROM jsonb_to_recordset(${clean}::jsonb) AS n(number int, cells jsonb, reasons text)
      ON CONFLICT DO NOTHING`;
  }

  private async finish(id: string, state: 'done' | 'failed', error: string | null): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE catalog_imports SET state = ${state}::catalog_import_state, error = ${error}, finished_at = now()
      WHERE id = ${id}`;
  }
}

function viewOf(row: ImportRow): ImportView {
  return {
    ...viewOfColumns(row, 'id', 'format', 'mode', 'progress', 'created_at', 'finished_at'),
    state: row.is_dead ? 'failed' : row.state,
    error: row.is_dead ? 'The gateway that worked on it has gone; send the file again.' : row.error,
  };
}
