import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { types } from 'node:util';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { addFault, MAX_CELL_LENGTH, MAX_COLUMNS, MAX_ROW_BYTES, UnreadableFile, type SheetRow } from './sheet-row.js';
import { TextTable } from './text-table.js';

/** What a workbook may unpack to. Sheets are streamed, so this bounds time; texts are kept in a file, so theirs bounds disk. */
const MAX_SHEET_BYTES = 4 * 1024 ** 3;
const MAX_TEXTS_BYTES = 256 * 1024 ** 2;
const MAX_ENTRIES = 1_000;
/** Packed a thousandfold is an attack; real sheets reach a tenth of this. */
const MAX_RATIO = 250;
const RATIO_COUNTS_FROM_BYTES = 10 * 1024 ** 2;
/** Ten times as many as a spreadsheet program can write. */
const MAX_ROW_NUMBER = 10_485_760;

const SHARED_TEXTS = 'xl/sharedStrings.xml';
const SHEET = /^xl\/worksheets\/[^/]+\.xml$/;

/**
 * The rows of a workbook's first sheet, streamed: memory holds one row; the workbook's shared texts are in a file.
 * Cells are texts; numbers come as a person sees them. Formulas are faults of their row: what they would
 * come to depends on who opens the file.
 * @param onShare called with each piece: how much of the sheet was read, from 0 to 1
 * @param folder where the shared texts are kept meanwhile
 * @throws UnreadableFile
 */
export async function* readXlsx(
  path: string,
  onShare: (share: number) => void = () => undefined,
  folder = tmpdir(),
): AsyncGenerator<SheetRow, void, undefined> {
  const zip = await opened(path);
  const shared = new TextTable(folder);
  try {
    const { sheet, texts } = await entriesOf(zip);
    if (!sheet) throw new UnreadableFile('The file is a ZIP archive without a worksheet, no XLSX workbook.');
    if (texts) await readSharedTexts(await contentOf(zip, texts, MAX_TEXTS_BYTES), shared);
    const size = Math.max(sheet.uncompressedSize, 1);
    yield* rowsOf(await contentOf(zip, sheet, MAX_SHEET_BYTES), shared, (bytes) => onShare(bytes / size));
  } catch (error) {
    throw readable(error);
  } finally {
    shared.close();
    zip.close();
  }
}

function opened(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: true, autoClose: false, validateEntrySizes: true }, (error, zip) => {
      if (error) reject(new UnreadableFile('The file is no XLSX workbook.', { cause: error }));
      else resolve(zip);
    });
  });
}

interface Parts {
  /** The first one. */
  sheet?: Entry;
  texts?: Entry;
}

/** Only what is read: an archive's list of contents can be larger than the archive. */
function entriesOf(zip: ZipFile): Promise<Parts> {
  if (zip.entryCount > MAX_ENTRIES) throw new UnreadableFile('The workbook has too many parts.');
  const parts: Parts = {};
  return new Promise((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      const { fileName } = entry;
      if (fileName === SHARED_TEXTS) parts.texts = entry;
      else if (SHEET.test(fileName) && (!parts.sheet || byNumber(fileName, parts.sheet.fileName) < 0))
        parts.sheet = entry;
      zip.readEntry();
    });
    zip.once('end', () => resolve(parts));
    zip.once('error', reject);
    zip.readEntry();
  });
}

function contentOf(zip: ZipFile, entry: Entry, maxBytes: number): Promise<Readable> {
  const { uncompressedSize, compressedSize } = entry;
  const isBomb = uncompressedSize > RATIO_COUNTS_FROM_BYTES && uncompressedSize > compressedSize * MAX_RATIO;
  if (isBomb || uncompressedSize > maxBytes)
    throw new UnreadableFile(`${entry.fileName} unpacks to ${uncompressedSize} bytes, which no worksheet needs.`);
  if (entry.isEncrypted()) throw new UnreadableFile('The workbook is protected by a password.');
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
}

/** `sheet2` before `sheet10`. */
function byNumber(a: string, b: string): number {
  return Number(/\d+/.exec(a)?.[0] ?? 0) - Number(/\d+/.exec(b)?.[0] ?? 0) || (a < b ? -1 : 1);
}

async function readSharedTexts(stream: Readable, texts: TextTable): Promise<void> {
  const parser = new SaxesParser({ position: false, xmlns: false });
  const text = new CellText();
  let isPhonetic = false;
  parser.on('opentag', ({ name }: SaxesTagPlain) => {
    if (local(name) === 'si') text.clear();
    else if (local(name) === 'rPh') isPhonetic = true;
    else if (local(name) === 't') text.isOpen = !isPhonetic;
  });
  parser.on('text', (part) => text.add(part));
  parser.on('closetag', ({ name }) => {
    if (local(name) === 't') text.isOpen = false;
    else if (local(name) === 'rPh') isPhonetic = false;
    else if (local(name) === 'si') texts.add(text.take());
  });
  await feed(stream, parser);
}

/** Text of one cell, gathered up to the bound. */
class CellText {
  isOpen = false;
  isTooLong = false;
  private parts = '';

  add(part: string): void {
    if (!this.isOpen) return;
    if (this.parts.length + part.length > MAX_CELL_LENGTH) this.isTooLong = true;
    else this.parts += part;
  }

  clear(): void {
    this.parts = '';
    this.isTooLong = false;
  }

  /** A text that was too long to be kept is one that every check refuses. */
  take(): string {
    const text = this.isTooLong ? '\0' : this.parts;
    this.clear();
    return text;
  }
}

async function* rowsOf(
  stream: Readable,
  shared: TextTable,
  onBytes: (bytes: number) => void,
): AsyncGenerator<SheetRow, void, undefined> {
  const reader = new RowReader(shared);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    reader.write(decoder.decode(chunk, { stream: true }));
    bytes += chunk.length;
    onBytes(bytes);
    yield* reader.take();
  }
  reader.write(decoder.decode());
  reader.close();
  yield* reader.take();
}

/** Turns a worksheet's XML into rows as it comes. */
class RowReader {
  private readonly parser = new SaxesParser({ position: false, xmlns: false });
  private rows: SheetRow[] = [];
  private row: SheetRow | null = null;
  private last = 0;
  private column = 0;
  private rowLength = 0;
  private type = '';
  private readonly text = new CellText();

  constructor(private readonly shared: TextTable) {
    this.parser.on('opentag', (tag: SaxesTagPlain) => this.open(tag));
    this.parser.on('text', (part) => this.text.add(part));
    this.parser.on('closetag', ({ name }) => this.closeTag(local(name)));
  }

  write(xml: string): void {
    this.parser.write(xml);
  }

  close(): void {
    this.parser.close();
  }

  take(): SheetRow[] {
    const rows = this.rows;
    this.rows = [];
    return rows;
  }

  private open({ name, attributes }: SaxesTagPlain): void {
    switch (local(name)) {
      case 'row':
        this.last = rowNumber(attributes['r'], this.last);
        this.row = { number: this.last, cells: [], faults: [] };
        this.column = -1;
        this.rowLength = 0;
        return;
      case 'c':
        this.column = attributes['r'] === undefined ? this.column + 1 : columnOf(attributes['r']);
        this.type = attributes['t'] ?? 'n';
        this.text.clear();
        return;
      case 'f':
        if (this.row) addFault(this.row, `column ${this.column + 1} holds a formula; put its value there`);
        return;
      case 'v':
      case 't':
        this.text.isOpen = true;
    }
  }

  private closeTag(name: string): void {
    if (name === 'v' || name === 't') this.text.isOpen = false;
    else if (name === 'c') this.closeCell();
    else if (name === 'row' && this.row) {
      this.rows.push(this.row);
      this.row = null;
    }
  }

  private closeCell(): void {
    const { row, column, text } = this;
    if (!row) return;
    if (text.isTooLong) addFault(row, `column ${column + 1} is longer than ${MAX_CELL_LENGTH} characters`);
    const value = text.isTooLong ? '' : text.take();
    if (column >= MAX_COLUMNS || value === '') return;
    while (row.cells.length < column) row.cells.push(null);
    const cell = this.valueOf(value, row);
    // One shared text can stand in every cell.
    this.rowLength += cell?.length ?? 0;
    if (this.rowLength > MAX_ROW_BYTES)
      throw new UnreadableFile(`Row ${row.number} has more than ${MAX_ROW_BYTES} characters.`);
    row.cells[column] = cell;
  }

  private valueOf(value: string, row: SheetRow): string | null {
    switch (this.type) {
      case 's':
        return this.shared.get(Number(value));
      case 'b':
        return value === '1' ? 'true' : 'false';
      case 'e':
        addFault(row, `column ${this.column + 1} holds the error ${value.slice(0, 20)}`);
        return value;
      case 'n':
        return plainNumber(value);
      default:
        return value;
    }
  }
}

/** With which spreadsheets compute. */
const DIGITS = 15;
/** Two of them are left behind the point. */
const HUNDREDTHS_UNTIL = 1e13;

/**
 * As a person sees it in the sheet: `1.12E5` is how a spreadsheet writes 112000, and `1234.5599999999999` how it writes 1234.56. Up to fifteen
 * digits stay as they are written (`1.10` may be a code), and so does what has more than are kept.
 */
function plainNumber(value: string): string {
  if (!/[eE.]/.test(value)) return value;
  const number = Number(value);
  if (Number.isSafeInteger(number)) return String(number);
  if (!/e/i.test(value) && value.replace(/^-?0*\.?0*/, '').replace('.', '').length <= DIGITS) return value;
  const shown = String(Number(number.toPrecision(DIGITS)));
  return Math.abs(number) < HUNDREDTHS_UNTIL && !shown.includes('e') ? shown : value;
}

/** As the sheet says, if it makes sense: each row has a number of its own, and a later one a larger. */
function rowNumber(text: string | undefined, last: number): number {
  const number = text !== undefined && /^\d{1,8}$/.test(text) ? Number(text) : 0;
  return number > last && number <= MAX_ROW_NUMBER ? number : last + 1;
}

/** `AB12` → 27. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? 'A') column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** Some writers put a prefix before every name. */
function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

async function feed(stream: Readable, parser: { write(xml: string): unknown; close(): unknown }): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    parser.write(decoder.decode(chunk, { stream: true }));
  }
  parser.write(decoder.decode());
  parser.close();
}

/** What zip, inflate, decoder and XML parser throw about a broken file, as one kind. */
function readable(error: unknown): unknown {
  if (error instanceof UnreadableFile || !types.isNativeError(error)) return error;
  return new UnreadableFile(`The workbook is damaged: ${error.message.slice(0, 200)}`, { cause: error });
}
