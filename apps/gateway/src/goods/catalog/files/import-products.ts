import { tmpdir } from 'node:os';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../audit/caller.js';
import { SyncCatalog } from '../sync-catalog.js';
import { UpsertProducts } from '../upsert-products.js';
import { UnreadableFile } from '../../sheets/sheet-row.js';
import type { FileFormat } from './product-table.js';
import { ProductsFile } from './products-file.js';
import type { FileProduct } from './read-products.js';

/** `full`: what is not in the file is archived, and nothing changes before all of it was read. */
export type ImportMode = 'upsert' | 'full';

export interface ImportCounts {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  rejected: number;
  archived: number;
}

export interface RejectedRow {
  number: number;
  cells: (string | null)[];
  /** One sentence or several. */
  reasons: string;
}

/** Where an import reports its progress. */
export interface ImportSink {
  columns(names: readonly string[]): Promise<void> | void;
  rejected(rows: readonly RejectedRow[]): Promise<void> | void;
  /** @param share of the file that was read, from 0 to 1; null = not known */
  progress(counts: ImportCounts, share: number | null): Promise<void> | void;
  /** Nothing of the file is needed any more, though the import may go on for long. */
  read?(): void;
}

/** Rows of one file that are handed back; who sends so many wrong ones has sent the wrong file. */
const MAX_REJECTED_ROWS = 50_000;
const MAX_REJECTED_CHARACTERS = 64 * 1024 ** 2;
/** Of all reasons of one row. */
const MAX_REASONS_LENGTH = 2_000;
/** The commit of a full import is waited for as long as it takes. */
const COMMIT_WAIT_MS = 40 * 60_000;

interface BatchResult {
  result: 'created' | 'updated' | 'unchanged' | 'kept' | 'rejected';
  errors: readonly { pointer: string; detail: string }[];
}

/** Takes the products of a file, batch by batch: memory holds one. Rows that are rejected are handed back. */
@Injectable()
export class ImportProducts {
  constructor(
    private readonly upsert: UpsertProducts,
    private readonly syncs: SyncCatalog,
  ) {}

  /** @throws UnreadableFile when it cannot be read on: in mode `upsert` what was read before stays taken */
  async execute(
    caller: Caller,
    file: { path: string; format: FileFormat; mode: ImportMode; scratch?: string },
    sink: ImportSink,
  ): Promise<ImportCounts> {
    const { path, format, scratch = tmpdir() } = file;
    const opened = await ProductsFile.open({ path, format, scratch });
    try {
      await sink.columns(opened.columns);
      return await this.take(caller, { opened, mode: file.mode }, sink);
    } finally {
      await opened.close();
    }
  }

  private async take(
    caller: Caller,
    { opened, mode }: { opened: ProductsFile; mode: ImportMode },
    sink: ImportSink,
  ): Promise<ImportCounts> {
    const counts: ImportCounts = { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, archived: 0 };
    if (mode === 'upsert') {
      const upsert = async (values: unknown[]): Promise<BatchResult[]> =>
        (await this.upsert.execute(caller, values)).results;
      await this.eachBatch(opened, counts, sink, upsert);
      return counts;
    }
    const { merchantId } = caller;
    const { id } = await this.syncs.start(caller);
    try {
      await this.eachBatch(opened, counts, sink, (values) => this.syncs.addPage(merchantId, id, values));
    } catch (error) {
      await this.syncs.abort(caller, id);
      throw error;
    }
    await opened.close();
    sink.read?.();
    const { result } = await this.syncs.commit(caller, id, COMMIT_WAIT_MS);
    Object.assign(counts, result);
    await sink.progress(counts, 1);
    return counts;
  }

  private async eachBatch(
    file: ProductsFile,
    counts: ImportCounts,
    sink: ImportSink,
    take: (values: unknown[]) => Promise<BatchResult[]>,
  ): Promise<void> {
    let characters = 0;
    for await (const batch of file.batches()) {
      const rejected = await takeBatch(batch, counts, take);
      if (rejected.length > 0) await sink.rejected(rejected);
      await sink.progress(counts, file.share);
      for (const { cells } of rejected) for (const cell of cells) characters += cell?.length ?? 0;
      if (counts.rejected > MAX_REJECTED_ROWS || characters > MAX_REJECTED_CHARACTERS)
        throw new UnreadableFile(
          `So much of the file is wrong that it was not read beyond row ${batch.at(-1)?.number ?? 0}.`,
        );
    }
  }
}

async function takeBatch(
  batch: readonly FileProduct[],
  counts: ImportCounts,
  take: (values: unknown[]) => Promise<BatchResult[]>,
): Promise<RejectedRow[]> {
  const readable = batch.filter(({ faults }) => faults.length === 0);
  const results = readable.length === 0 ? [] : await take(readable.map(({ value }) => value));
  const resultOf = new Map(readable.map((row, index) => [row, results[index]]));
  const rejected: RejectedRow[] = [];
  for (const row of batch) {
    counts.rows += 1;
    const result = resultOf.get(row);
    if (result && result.result !== 'rejected') {
      if (result.result !== 'kept') counts[result.result] += 1;
      continue;
    }
    counts.rejected += 1;
    const reasons = result ? result.errors.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`) : row.faults;
    rejected.push({ number: row.number, cells: row.cells, reasons: reasons.join('; ').slice(0, MAX_REASONS_LENGTH) });
  }
  return rejected;
}
