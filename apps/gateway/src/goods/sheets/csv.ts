import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import { Readable } from 'node:stream';
import { CsvBounds } from './csv-bounds.js';
import { addFault, decodeUtf8, MAX_CELL_LENGTH, UnreadableFile, type SheetRow } from './sheet-row.js';
import type { Cell } from './xlsx-writer.js';

const DELIMITERS = [';', ',', '\t'];

/**
 * The records of a CSV file, UTF-8, separated by comma, semicolon or tab as its first line says. A record whose bytes are
 * no UTF-8 is a fault of that record.
 * @throws UnreadableFile
 */
export async function* readCsv(path: string): AsyncGenerator<SheetRow, void, undefined> {
  const { delimiter, start } = await beginningOf(path);
  const parser = parse({
    delimiter,
    encoding: null,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    info: true,
  });
  const file = createReadStream(path, { start });
  const bounded = Readable.from(boundedChunks(file, delimiter), { objectMode: false });
  bounded.once('error', (error) => parser.destroy(error));
  bounded.pipe(parser);
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      yield rowOf(record, info.lines);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnreadableFile(`The CSV file cannot be read on: ${error.message.slice(0, 200)}`, { cause: error });
  } finally {
    file.destroy();
  }
}

async function* boundedChunks(file: AsyncIterable<Buffer>, delimiter: string): AsyncGenerator<Buffer, void, undefined> {
  const bounds = new CsvBounds(delimiter.charCodeAt(0));
  for await (const chunk of file) yield* bounds.take(chunk);
}

interface CsvRecord {
  /** Bytes; an empty cell is a text. */
  record: (Buffer | '')[];
  info: { lines: number };
}

function rowOf(record: CsvRecord['record'], number: number): SheetRow {
  const row: SheetRow = { number, cells: [], faults: [] };
  row.cells = record.map((bytes, column) => {
    if (bytes === '') return null;
    if (bytes.length > MAX_CELL_LENGTH) {
      addFault(row, `column ${column + 1} is longer than ${MAX_CELL_LENGTH} bytes`);
      return null;
    }
    const text = decodeUtf8(bytes);
    if (text === null) addFault(row, `column ${column + 1} is not encoded in UTF-8`);
    return text === null || text === '' ? null : plain(text);
  });
  return row;
}

/** The separator, and where the text begins: after the mark of UTF-8, if there is one. */
async function beginningOf(path: string): Promise<{ delimiter: string; start: number }> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4_096), 0, 4_096, 0);
    const line =
      buffer
        .subarray(0, bytesRead)
        .toString('latin1')
        .split(/[\r\n]/, 1)[0] ?? '';
    const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
    const delimiter = DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
    return { delimiter, start: line.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0 };
  } finally {
    await file.close();
  }
}

/** A cell that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;
/**
 * Where a cell would begin for a program that separates cells by another sign than we do: our quotes are signs in the midst of its cells and hold
 * nothing together. Behind it a formula, which blanks and quotes do not hide, nor the full-width signs.
 */
const FORMULA_WITHIN = /([;,\t\r\n])(?=(?:['"]|[^\S\t\r\n])*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/gu;
const GUARDED_WITHIN = /([;,\t\r\n])'(?=(?:['"]|[^\S\t\r\n])*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/gu;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** Texts that look like formulas, also from a separator on, get an apostrophe there, which spreadsheets read as "this is text". Numbers stay numbers. */
function csvCell(cell: Cell): string {
  if (cell === null) return '';
  const text = typeof cell === 'string' ? guarded(cell) : String(cell);
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function guarded(text: string): string {
  const within = text.replace(FORMULA_WITHIN, "$1'");
  return FORMULA.test(text) ? `'${within}` : within;
}

/** The way back: our apostrophes are not part of the text. */
function plain(text: string): string {
  const within = text.replace(GUARDED_WITHIN, '$1');
  return within.startsWith("'") && FORMULA.test(within.slice(1)) ? within.slice(1) : within;
}
