import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { isObject } from '#fiscal-domain';
import { csvLine } from '../../sheets/csv.js';
import { linesAsBytes, textStream } from '../../sheets/text-buffers.js';
import { xlsxStream, type Cell } from '../../sheets/xlsx-writer.js';
import { productView, type ProductRow, type ProductView } from '../product-view.js';
import { COLUMNS } from '../products.js';
import { cellsOfProduct, COLUMN_NAMES, inputOfProduct, REASONS_COLUMN, type FileFormat } from './product-table.js';

const ROWS_PER_READ = 2_000;

/** Files of products and of rejected rows, streamed: memory holds one piece. */
@Injectable()
export class ExportProducts {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * The live products by sku. Each as it is when its piece is read; the feed lists what changed meanwhile.
   * @param onRows called with how many were read so far
   */
  products(merchantId: string, format: FileFormat, onRows: (rows: number) => void = () => undefined): Readable {
    const products = this.live(merchantId, onRows);
    if (format === 'jsonl') return linesStream(mapped(products, (each) => `${JSON.stringify(inputOfProduct(each))}\n`));
    return tableStream(format, withHeadings(COLUMN_NAMES, mapped(products, cellsOfProduct)));
  }

  /** Rejected rows of an import in the format in which they came, with their reasons. */
  rejected(file: { importId: string; format: FileFormat; columns: readonly string[] }): Readable {
    return rejectedFile(this.rejectedRows(file.importId), file);
  }

  /** How many products a file of all would have. */
  async count(merchantId: string): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM products WHERE merchant_id = ${merchantId} AND archived_at IS NULL`;
    return row?.count ?? 0;
  }

  private async *live(
    merchantId: string,
    onRows: (rows: number) => void,
  ): AsyncGenerator<ProductView, void, undefined> {
    let read = 0;
    for (let after = ''; ;) {
      const rows = await this.prisma.$queryRaw<ProductRow[]>`
        SELECT ${COLUMNS} FROM products WHERE merchant_id = ${merchantId} AND archived_at IS NULL AND sku > ${after}
        ORDER BY sku LIMIT ${ROWS_PER_READ}`;
      yield* rows.map(productView);
      read += rows.length;
      onRows(read);
      const last = rows.at(-1);
      if (!last) return;
      after = last.sku;
    }
  }

  private async *rejectedRows(importId: string): AsyncGenerator<StoredReject, void, undefined> {
    for (let after = 0; ;) {
      const rows = await this.prisma.$queryRaw<StoredReject[]>`
        SELECT number, cells, reasons FROM catalog_import_rejects WHERE import_id = ${importId} AND number > ${after}
        ORDER BY number LIMIT ${ROWS_PER_READ}`;
      yield* rows;
      const last = rows.at(-1);
      if (!last) return;
      after = last.number;
    }
  }
}

interface StoredReject {
  number: number;
  cells: (string | null)[];
  reasons: string;
}

export function rejectedFile(
  rows: AsyncIterable<Omit<StoredReject, 'number'>>,
  { format, columns }: { format: FileFormat; columns: readonly string[] },
): Readable {
  if (format === 'jsonl') return linesStream(mapped(rows, rejectedLine));
  const width = columns.length;
  const cells = mapped(rows, (row): Cell[] => [
    ...Array.from({ length: width }, (_, index) => (isReasons(columns[index]) ? null : (row.cells[index] ?? null))),
    row.reasons,
  ]);
  // The reasons of a file that has come back already stand in a column without a name.
  const headings = columns.map((name) => (isReasons(name) ? '' : name));
  return tableStream(format, withHeadings([...headings, REASONS_COLUMN], cells));
}

function isReasons(name: string | undefined): boolean {
  return name === REASONS_COLUMN;
}

/** The line's own object with its reasons; a line that is none is handed back as a text. */
function rejectedLine({ cells, reasons }: Omit<StoredReject, 'number'>): string {
  const [line = null] = cells;
  try {
    const value: unknown = JSON.parse(line ?? '');
    if (isObject(value)) return `${JSON.stringify({ ...value, [REASONS_COLUMN]: reasons })}\n`;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return `${JSON.stringify({ line, [REASONS_COLUMN]: reasons })}\n`;
}

function tableStream(format: 'csv' | 'xlsx', rows: AsyncIterable<readonly Cell[]>): Readable {
  return format === 'xlsx' ? xlsxStream(rows) : linesStream(mapped(rows, csvLine));
}

function linesStream(lines: AsyncIterable<string>): Readable {
  return textStream(linesAsBytes(lines));
}

async function* mapped<A, B>(values: AsyncIterable<A>, map: (value: A) => B): AsyncGenerator<B, void, undefined> {
  for await (const value of values) yield map(value);
}

async function* withHeadings(
  headings: readonly string[],
  rows: AsyncIterable<readonly Cell[]>,
): AsyncGenerator<readonly Cell[], void, undefined> {
  yield headings;
  yield* rows;
}
