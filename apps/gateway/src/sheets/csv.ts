import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import { decodeUtf8, MAX_CELL_LENGTH, UnreadableFile, type SheetRow } from './sheet-row.js';
import type { Cell } from './xlsx-writer.js';

/** A record that is longer ends the reading: somebody forgot a quote, or means no good. */
const MAX_RECORD_BYTES = 32 * 1024 ** 2;
const DELIMITERS = [';', ',', '\t'];

/**
 * The records of a CSV file, UTF-8, separated by comma, semicolon or tab as its first line says. A record whose bytes are
 * no UTF-8 is a fault of that record.
 * @throws UnreadableFile
 */
export async function* readCsv(path: string): AsyncGenerator<SheetRow, void, undefined> {
  const parser = parse({
    delimiter: await delimiterOf(path),
    encoding: null,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
    info: true,
  });
  const file = createReadStream(path);
  file.once('error', (error) => parser.destroy(error));
  file.pipe(parser);
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: Buffer[]; info: { lines: number } }>) {
      yield rowOf(record, info.lines);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnreadableFile(`The CSV file cannot be read on: ${error.message.slice(0, 200)}`, { cause: error });
  } finally {
    file.destroy();
  }
}

function rowOf(record: readonly Buffer[], number: number): SheetRow {
  const faults: string[] = [];
  const cells = record.map((bytes, column) => {
    if (bytes.length > MAX_CELL_LENGTH) {
      faults.push(`column ${column + 1} is longer than ${MAX_CELL_LENGTH} bytes`);
      return null;
    }
    const text = decodeUtf8(bytes);
    if (text === null) faults.push(`column ${column + 1} is not encoded in UTF-8`);
    return text === null || text === '' ? null : plain(text);
  });
  return { number, cells, faults };
}

async function delimiterOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4_096), 0, 4_096, 0);
    const line =
      buffer
        .subarray(0, bytesRead)
        .toString('latin1')
        .split(/[\r\n]/, 1)[0] ?? '';
    const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
    return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
  } finally {
    await file.close();
  }
}

/** A cell that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** Texts that look like formulas get an apostrophe, which spreadsheets read as "this is text". Numbers stay numbers. */
function csvCell(cell: Cell): string {
  if (cell === null) return '';
  const text = typeof cell === 'string' && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The way back: our apostrophe is not part of the text. */
function plain(text: string): string {
  return text.startsWith("'") && FORMULA.test(text.slice(1)) ? text.slice(1) : text;
}
