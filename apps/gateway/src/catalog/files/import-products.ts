import { Injectable } from '@nestjs/common';
import type { Caller } from '../../audit/caller.js';
import { SyncCatalog } from '../sync-catalog.js';
import { UpsertProducts } from '../upsert-products.js';
import type { FileFormat } from './product-table.js';
import { openProducts, type FileProduct, type ProductFile } from './read-products.js';

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

/** Where an import tells how it goes. */
export interface ImportSink {
  columns(names: readonly string[]): Promise<void> | void;
  rejected(rows: readonly RejectedRow[]): Promise<void> | void;
  /** @param share of the file that was read, from 0 to 1; null = not known */
  progress(counts: ImportCounts, share: number | null): Promise<void> | void;
}

const ROWS_PER_BATCH = 1_000;
/** Of all cells of a batch: a thousand rows as large as rows may be would not fit into memory. */
const CHARACTERS_PER_BATCH = 4 * 1024 ** 2;
/** The commit of a full import is waited for as long as it takes. */
const COMMIT_WAIT_MS = 40 * 60_000;

interface BatchResult {
  result: 'created' | 'updated' | 'unchanged' | 'kept' | 'rejected';
  errors: readonly { pointer: string; detail: string }[];
}

/** Takes the products of a file, batch by batch: memory holds one batch. Rows that are rejected are handed back. */
@Injectable()
export class ImportProducts {
  constructor(
    private readonly upsert: UpsertProducts,
    private readonly syncs: SyncCatalog,
  ) {}

  /** @throws UnreadableFile when it cannot be read on: in mode `upsert` what was read before stays taken */
  async execute(
    caller: Caller,
    file: { path: string; format: FileFormat; mode: ImportMode },
    sink: ImportSink,
  ): Promise<ImportCounts> {
    const opened = await openProducts(file.path, file.format);
    await sink.columns(opened.columns);
    const counts: ImportCounts = { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, archived: 0 };
    if (file.mode === 'upsert') {
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
    const { result } = await this.syncs.commit(caller, id, COMMIT_WAIT_MS);
    Object.assign(counts, result);
    await sink.progress(counts, 1);
    return counts;
  }

  private async eachBatch(
    file: ProductFile,
    counts: ImportCounts,
    sink: ImportSink,
    take: (values: unknown[]) => Promise<BatchResult[]>,
  ): Promise<void> {
    let batch: FileProduct[] = [];
    let characters = 0;
    const finish = async (): Promise<void> => {
      const rejected = await takeBatch(batch, counts, take);
      if (rejected.length > 0) await sink.rejected(rejected);
      await sink.progress(counts, file.share());
      batch = [];
      characters = 0;
    };
    for await (const row of file.rows) {
      batch.push(row);
      for (const cell of row.cells) characters += cell?.length ?? 0;
      if (batch.length >= ROWS_PER_BATCH || characters >= CHARACTERS_PER_BATCH) await finish();
    }
    if (batch.length > 0) await finish();
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
    rejected.push({ number: row.number, cells: row.cells, reasons: reasons.join('; ') });
  }
  return rejected;
}
