import { readCsv } from '../../sheets/csv.js';
import { readLines } from '../../sheets/lines.js';
import { UnreadableFile, type SheetRow } from '../../sheets/sheet-row.js';
import { readXlsx } from '../../sheets/xlsx-reader.js';
import { inputOfRow, readHeadings, REASONS_COLUMN } from './product-table.js';
import type { ReadingJob } from './products-file.js';

/** A row of a file, as the API would be sent it. */
export interface FileProduct {
  /** From 1, as a person counts in the file. */
  number: number;
  /** As they came: what is handed back when the row is rejected. */
  cells: (string | null)[];
  value: unknown;
  /** Why it cannot be a product, whatever its value is. */
  faults: string[];
}

export interface OpenedProducts {
  /** Names of the columns; none in JSON lines. */
  columns: string[];
  rows: AsyncIterable<FileProduct>;
  /** How much of it was read, from 0 to 1; null where it is unknown without reading it twice. */
  share(): number | null;
}

const ROWS_PER_BATCH = 1_000;
/** Of all cells of a batch: a thousand rows as large as rows may be would not fit into memory. */
const CHARACTERS_PER_BATCH = 512 * 1024;
/** Of one row, its JSON included: a product has a few dozen. */
const MAX_VALUES = 2_000;
/** A product has three levels. A value of a few thousand cannot be handed from thread to thread: the thread dies, or its message is lost. */
const MAX_DEPTH = 16;

/** Opens a file of products. Rows are read as they are asked for. @throws UnreadableFile also while rows are read */
export async function openProducts({ path, format, scratch, isPlain = false }: ReadingJob): Promise<OpenedProducts> {
  let share: number | null = null;
  const opened = { share: () => share };
  if (format === 'jsonl') return { ...opened, columns: [], rows: jsonProducts(path) };
  const rows = format === 'csv' ? readCsv(path) : readXlsx(path, (read) => (share = read), scratch);
  if (isPlain) return { ...opened, columns: [], rows: plainRows(rows) };
  const first = await rows.next();
  if (first.done) throw new UnreadableFile('The file is empty.');
  if (first.value.faults.length > 0)
    throw new UnreadableFile(`The first row cannot be read: ${first.value.faults.join('; ')}.`);
  const columns = readHeadings(first.value);
  return { ...opened, columns, rows: tableProducts(rows, columns) };
}

/** As many rows together as are worth a statement, and fit into memory. */
export async function* batchesOf(rows: AsyncIterable<FileProduct>): AsyncGenerator<FileProduct[], void, undefined> {
  let batch: FileProduct[] = [];
  let characters = 0;
  for await (const row of rows) {
    batch.push(row);
    for (const cell of row.cells) characters += cell?.length ?? 0;
    if (batch.length < ROWS_PER_BATCH && characters < CHARACTERS_PER_BATCH) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

async function* tableProducts(
  rows: AsyncGenerator<SheetRow, void, undefined>,
  columns: readonly string[],
): AsyncGenerator<FileProduct, void, undefined> {
  for await (const row of rows) {
    if (row.faults.length === 0 && row.cells.every((cell) => cell === null || cell.trim() === '')) continue;
    const faults = [...row.faults];
    if (row.cells.slice(columns.length).some((cell) => cell !== null && cell !== ''))
      faults.push('the row has more cells than there are columns');
    const value = inputOfRow(row, columns);
    const fault = sizeFault(value);
    if (fault !== null) faults.push(`the row ${fault}`);
    yield { number: row.number, cells: row.cells, value: fault === null ? value : null, faults };
  }
}

async function* plainRows(rows: AsyncIterable<SheetRow>): AsyncGenerator<FileProduct, void, undefined> {
  for await (const { number, cells, faults } of rows) yield { number, cells, faults, value: null };
}

async function* jsonProducts(path: string): AsyncGenerator<FileProduct, void, undefined> {
  for await (const { number, cells, faults } of readLines(path)) {
    yield { number, cells, faults, ...(faults.length > 0 ? { value: null } : valueOf(cells[0] ?? '')) };
  }
}

function valueOf(line: string): { value: unknown; faults: string[] } {
  try {
    const value: unknown = JSON.parse(line);
    const fault = sizeFault(value);
    if (fault !== null) return { value: null, faults: [`the line ${fault}`] };
    if (typeof value !== 'object' || value === null) return { value, faults: [] };
    // Of a rejected row that comes back.
    return { value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== REASONS_COLUMN)), faults: [] };
  } catch (error) {
    if (error instanceof SyntaxError) return { value: null, faults: ['the line is not JSON'] };
    throw error;
  }
}

/** What makes JSON more than a thread can hand on. */
function sizeFault(value: unknown): string | null {
  const waiting = [{ inner: value, depth: 0 }];
  let seen = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { inner, depth } = next;
    seen += 1;
    if (seen > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`;
    if (typeof inner !== 'object' || inner === null) continue;
    for (const each of Object.values(inner) as unknown[]) waiting.push({ inner: each, depth: depth + 1 });
  }
  return null;
}
