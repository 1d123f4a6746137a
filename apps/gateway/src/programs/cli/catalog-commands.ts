import { createReadStream, createWriteStream } from 'node:fs';
import { extname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Injectable } from '@nestjs/common';
import { ExportProducts, rejectedFile } from '../../goods/catalog/files/export-products.js';
import { ImportProducts, type ImportCounts } from '../../goods/catalog/files/import-products.js';
import { FILE_FORMATS, type FileFormat } from '../../goods/catalog/files/product-table.js';
import { Merchants } from '../../fleet/merchants/merchants.js';
import { UnreadableFile } from '../../goods/sheets/sheet-row.js';
import type { Program } from './actor.js';
import { merchantNamed } from './merchant-named.js';
import { ProgressLine } from './progress-line.js';
import { mustExist, type Given, type ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

/** Files of products, without a limit of time or size. */
@Injectable()
export class CatalogCommands {
  constructor(
    private readonly merchants: Merchants,
    private readonly imports: ImportProducts,
    private readonly exports: ExportProducts,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, values, flags }: ReadCommand, program: Program): Promise<unknown> {
    try {
      return verb === 'import' ? await this.import(values, flags.has('full'), program) : await this.export(values);
    } catch (error) {
      if (error instanceof UnreadableFile) throw new UsageError(error.message);
      throw error;
    }
  }

  private async import(
    given: Given,
    isFull: boolean,
    program: Program,
  ): Promise<ImportCounts & { rejected_file: string | null }> {
    const { file, format, merchantId } = await this.target(given);
    await mustExist(file);
    const line = new ProgressLine(process.stderr, format === 'xlsx' ? null : await countLines(file));
    const rejected = rejectsTo(given['rejected'] ?? null, format);
    const caller = { ...program, merchantId };
    const mode = isFull ? 'full' : 'upsert';
    try {
      const counts = await this.imports.execute(
        caller,
        { path: file, format, mode },
        {
          columns: (names) => rejected.begin(names),
          rejected: (rows) => rejected.add(rows),
          progress: ({ rows, rejected: refused }, share) => line.draw(rows, { share, rest: `${refused} rejected` }),
        },
      );
      return { ...counts, rejected_file: counts.rejected > 0 ? (given['rejected'] ?? null) : null };
    } finally {
      line.end();
      await rejected.end();
    }
  }

  private async export(given: Given): Promise<{ file: string }> {
    const { file, format, merchantId } = await this.target(given);
    const line = new ProgressLine(process.stderr, await this.exports.count(merchantId));
    try {
      const products = this.exports.products(merchantId, format, (rows) => line.draw(rows));
      await pipeline(products, createWriteStream(file));
    } finally {
      line.end();
    }
    return { file };
  }

  private async target(given: Given): Promise<{ file: string; format: FileFormat; merchantId: string }> {
    const { merchant, file } = given;
    if (merchant === undefined || file === undefined) throw new UsageError('--merchant and --file are needed');
    const named = given['format'] ?? extname(file).slice(1).toLowerCase();
    const format = FILE_FORMATS.find((each) => each === named);
    if (!format) throw new UsageError(`--format must be one of ${FILE_FORMATS.join(', ')}`);
    const { id: merchantId } = await merchantNamed(this.merchants, merchant);
    return { file, format, merchantId };
  }
}

interface Rejects {
  begin(columns: readonly string[]): void;
  add(rows: readonly { number: number; cells: (string | null)[]; reasons: string }[]): Promise<void>;
  end(): Promise<void>;
}

/** Writes rejected rows as they come; a file is only made when there are some. */
function rejectsTo(path: string | null, format: FileFormat): Rejects {
  let columns: readonly string[] = [];
  let rows: PassThrough | null = null;
  let written: Promise<void> = Promise.resolve();
  return {
    begin: (names) => void (columns = names),
    add: async (rejected) => {
      if (path === null) return;
      if (rows === null) {
        rows = new PassThrough({ objectMode: true });
        written = pipeline(rejectedFile(rows, { format, columns }), createWriteStream(path));
      }
      for (const row of rejected) {
        if (!rows.write(row)) await Promise.race([new Promise((resolve) => rows?.once('drain', resolve)), written]);
      }
    },
    end: async () => {
      rows?.end();
      await written;
    },
  };
}

/** For the bar; a quoted line break counts as a row, which only makes the bar a little late. */
async function countLines(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}
