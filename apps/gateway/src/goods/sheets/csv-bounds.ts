import { MAX_CELL_LENGTH, MAX_COLUMNS, MAX_ROW_BYTES, UnreadableFile } from './sheet-row.js';

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const CLOSING_QUOTE = Buffer.from('"');
/** So much of a cell is handed on: one byte too many. */
const HANDED_ON = MAX_CELL_LENGTH + 1;

type State = 'start' | 'plain' | 'quoted' | 'after quote';

/**
 * Bounds the cells, columns and records of a CSV file before they are gathered: of a cell that is too long so much is handed on
 * that the reader sees that it is, and a record of too many columns or bytes ends the reading. Quotes are read as csv-parse reads
 * them with `relax_quotes`; of a cell within the bounds no byte is touched.
 */
export class CsvBounds {
  private state: State = 'start';
  private isQuoted = false;
  private line = 1;
  private cellBytes = 0;
  private rowBytes = 0;
  private columns = 1;

  /** @param delimiter of one byte */
  constructor(private readonly delimiter: number) {}

  /** What of a chunk is handed on. @throws UnreadableFile */
  *take(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const wasCut = this.cellBytes >= HANDED_ON;
      const wasQuoted = this.isQuoted;
      this.read(chunk[at] ?? 0);
      if (!wasCut) continue;
      if (this.state === 'start') {
        // The cell has ended; its own closing quote was cut off with the rest.
        if (wasQuoted) yield CLOSING_QUOTE;
        start = at;
      } else {
        if (at > start) yield chunk.subarray(start, at);
        start = at + 1;
      }
    }
    if (start < chunk.length) yield chunk.subarray(start);
  }

  private read(byte: number): void {
    const isQuote = byte === QUOTE;
    if (this.state === 'quoted') {
      if (isQuote) this.state = 'after quote';
      else this.grow(byte);
    } else if (byte === this.delimiter) this.endCell();
    else if (byte === NEWLINE || byte === RETURN) this.endRow(byte);
    else if (isQuote && this.state === 'start') {
      this.state = 'quoted';
      this.isQuoted = true;
    } else {
      this.state = isQuote && this.state === 'after quote' ? 'quoted' : 'plain';
      this.grow(byte);
    }
  }

  private grow(byte: number): void {
    if (byte === NEWLINE) this.line += 1;
    if (this.cellBytes >= HANDED_ON) return;
    this.cellBytes += 1;
    this.rowBytes += 1;
    if (this.rowBytes > MAX_ROW_BYTES)
      throw new UnreadableFile(`Line ${this.line} has more than ${MAX_ROW_BYTES} bytes.`);
  }

  private endCell(): void {
    this.beginCell();
    this.columns += 1;
    if (this.columns > MAX_COLUMNS) throw new UnreadableFile(`Line ${this.line} has more than ${MAX_COLUMNS} columns.`);
  }

  private endRow(byte: number): void {
    if (byte === NEWLINE) this.line += 1;
    this.beginCell();
    this.rowBytes = 0;
    this.columns = 1;
  }

  private beginCell(): void {
    this.state = 'start';
    this.isQuoted = false;
    this.cellBytes = 0;
  }
}
