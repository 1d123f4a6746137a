import { readCsv } from '../../sheets/csv.js';
import { readLines } from '../../sheets/lines.js';
import { UnreadableFile, type SheetRow } from '../../sheets/sheet-row.js';
import { readXlsx } from '../../sheets/xlsx-reader.js';
import { inputOfRow, readHeadings, REASONS_COLUMN, type FileFormat } from './product-table.js';

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

export interface ProductFile {
  /** Names of the columns; none in JSON lines. */
  columns: string[];
  rows: AsyncIterable<FileProduct>;
  /** How much of it was read, from 0 to 1; null where nobody knows without reading it twice. */
  share(): number | null;
}

/** Opens a file of products. Rows are read as they are asked for. @throws UnreadableFile also while rows are read */
export async function openProducts(path: string, format: FileFormat): Promise<ProductFile> {
  let share: number | null = null;
  const opened = { share: () => share };
  if (format === 'jsonl') return { ...opened, columns: [], rows: jsonProducts(path) };
  const rows = format === 'csv' ? readCsv(path) : readXlsx(path, (read) => (share = read));
  const first = await rows.next();
  if (first.done) throw new UnreadableFile('The file is empty.');
  if (first.value.faults.length > 0)
    throw new UnreadableFile(`The first row cannot be read: ${first.value.faults.join('; ')}.`);
  const columns = readHeadings(first.value);
  return { ...opened, columns, rows: tableProducts(rows, columns) };
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
    yield { number: row.number, cells: row.cells, value: inputOfRow(row, columns), faults };
  }
}

async function* jsonProducts(path: string): AsyncGenerator<FileProduct, void, undefined> {
  for await (const { number, cells, faults } of readLines(path)) {
    yield { number, cells, faults, ...(faults.length > 0 ? { value: null } : valueOf(cells[0] ?? '')) };
  }
}

function valueOf(line: string): { value: unknown; faults: string[] } {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return { value, faults: [] };
    // Of a rejected row that comes back.
    return { value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== REASONS_COLUMN)), faults: [] };
  } catch (error) {
    if (error instanceof SyntaxError) return { value: null, faults: ['the line is not JSON'] };
    throw error;
  }
}
