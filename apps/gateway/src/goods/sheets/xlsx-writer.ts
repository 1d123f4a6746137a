import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { TextBuffers } from './text-buffers.js';

/** Text, number, or nothing. Text is always written as text: no cell of ours is ever a formula. */
export type Cell = string | number | null;

/** Rows as they stand in a sheet's XML. */
export interface SheetPiece {
  rows: number;
  bytes: readonly Buffer[];
}

export interface WorkbookOptions {
  /** Stands on top of each sheet. */
  head?: readonly Cell[];
  /** A sheet that would have more is followed by another; pieces stay whole. Excel takes 1 048 576. */
  rowsPerSheet?: number;
}

/** Below Excel's bound, with space for the head. */
const ROWS_PER_SHEET = 1_000_000;
/** Rows of a piece where they come one by one. */
const ROWS_PER_PIECE = 200;
/** Little of it is compressible twice; the fastest level keeps a million rows within a minute. */
const COMPRESSION_LEVEL = 1;

/** Makes pieces: a row is bytes as soon as it has been added. */
export class SheetText {
  private readonly text = new TextBuffers();
  private rows = 0;

  add(cells: readonly Cell[]): void {
    this.text.add(rowXml(cells));
    this.rows += 1;
  }

  /** What has been added since the last time. */
  take(): SheetPiece {
    const piece = { rows: this.rows, bytes: this.text.take() };
    this.rows = 0;
    return piece;
  }
}

/** A workbook of one sheet, whatever its length: a file that is read by programs, too. */
export function xlsxStream(rows: AsyncIterable<readonly Cell[]> | Iterable<readonly Cell[]>): Readable {
  return xlsxWorkbook(piecesOf(rows), { rowsPerSheet: Number.MAX_SAFE_INTEGER });
}

async function* piecesOf(
  rows: AsyncIterable<readonly Cell[]> | Iterable<readonly Cell[]>,
): AsyncGenerator<SheetPiece, void, undefined> {
  const text = new SheetText();
  let waiting = 0;
  for await (const row of rows) {
    text.add(row);
    waiting += 1;
    if (waiting < ROWS_PER_PIECE) continue;
    yield text.take();
    waiting = 0;
  }
  if (waiting > 0) yield text.take();
}

/**
 * A workbook as a stream, in memory that does not grow with the rows: sheets are written as they come, the parts that count
 * them at the end. Texts stand in their cells ("inline"): a table of shared texts would have to be complete before the first
 * row could be read. Reading slowly slows the pieces down. When they fail, the stream fails with their error; when the stream
 * is destroyed, they are returned, also when reading has not begun.
 */
export function xlsxWorkbook(pieces: AsyncGenerator<SheetPiece>, options: WorkbookOptions = {}): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const sheets = new Sheets(pieces, options);
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  let open: Readable | null = null;

  const addSheet = (number: number): void => {
    const sheet = Readable.from(sheets.next(), { highWaterMark: 1 });
    open = sheet;
    sheet.once('error', fail);
    sheet.once('end', () => {
      if (sheets.hasMore) addSheet(number + 1);
      else finish(zip, number);
    });
    zip.addReadStream(sheet, `xl/worksheets/sheet${number}.xml`, { compressionLevel: COMPRESSION_LEVEL });
  };
  addSheet(1);
  output.once('close', () => {
    open?.destroy();
    pieces.return(undefined).catch(fail);
  });
  return output;
}

class Sheets {
  private waiting: SheetPiece | null = null;
  private readonly head: string;
  private readonly rowsPerSheet: number;

  constructor(
    private readonly pieces: AsyncGenerator<SheetPiece>,
    { head, rowsPerSheet = ROWS_PER_SHEET }: WorkbookOptions,
  ) {
    this.head = head === undefined ? '' : rowXml(head);
    this.rowsPerSheet = rowsPerSheet;
  }

  /** Known when a sheet has ended. */
  get hasMore(): boolean {
    return this.waiting !== null;
  }

  async *next(): AsyncGenerator<Buffer> {
    yield Buffer.from(`${XML}<worksheet xmlns="${MAIN}"><sheetData>${this.head}`);
    this.waiting ??= await this.fetch();
    for (let rows = 0; this.waiting !== null; this.waiting = await this.fetch()) {
      rows += this.waiting.rows;
      if (rows > this.rowsPerSheet) break;
      yield* this.waiting.bytes;
    }
    yield Buffer.from('</sheetData></worksheet>');
  }

  private async fetch(): Promise<SheetPiece | null> {
    const step: IteratorResult<SheetPiece, unknown> = await this.pieces.next();
    return step.done === true ? null : step.value;
  }
}

function rowXml(cells: readonly Cell[]): string {
  let xml = '<row>';
  for (const cell of cells) xml += cellXml(cell);
  return `${xml}</row>`;
}

/** Excel computes with 15 digits; a longer number is shown as text, exactly. */
const MAX_EXACT = 999_999_999_999_999;

function cellXml(cell: Cell): string {
  if (cell === null || cell === '') return '<c/>';
  if (typeof cell === 'number' && Math.abs(cell) <= MAX_EXACT) return `<c><v>${cell}</v></c>`;
  return `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(String(cell))}</t></is></c>`;
}

/** What XML 1.0 cannot carry even as an entity: other control characters, halves of a character. */
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

function escapeXml(text: string): string {
  return text
    .replaceAll(NOT_IN_XML, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;');
}

function finish(zip: ZipFile, sheets: number): void {
  const numbers = Array.from({ length: sheets }, (_, index) => index + 1);
  for (const [name, text] of Object.entries(frameOf(numbers))) zip.addBuffer(Buffer.from(XML + text), name);
  zip.end();
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** What a workbook needs beside its sheets. */
function frameOf(numbers: readonly number[]): Record<string, string> {
  const each = (text: (number: number) => string): string => numbers.map(text).join('');
  return {
    '[Content_Types].xml':
      `<Types xmlns="${PACKAGE}/content-types">` +
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      `<Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/>` +
      each((n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${SHEET_TYPE}.worksheet+xml"/>`) +
      '</Types>',
    '_rels/.rels':
      `<Relationships xmlns="${PACKAGE}/relationships">` +
      `<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml':
      `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>` +
      each((n) => `<sheet name="Sheet${n}" sheetId="${n}" r:id="rId${n}"/>`) +
      '</sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      `<Relationships xmlns="${PACKAGE}/relationships">` +
      each((n) => `<Relationship Id="rId${n}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${n}.xml"/>`) +
      '</Relationships>',
  };
}
