import { Readable } from 'node:stream';
import yazl from 'yazl';
import { COLUMNS, sheetRow, xmlText, type Cell } from './spreadsheet-cells.js';

/** Excel's bound, without the line of names. */
const ROWS_PER_SHEET = 1_048_575;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
/** Little of it is compressible twice; the fastest level keeps a million rows within a minute. */
const COMPRESSION_LEVEL = 1;

/**
 * A workbook as a stream, row by row: sheets are written as they come, the parts that count them at the end. Reading slowly
 * slows the rows down; destroying the stream ends them.
 * @param batches cells of receipts, some at a time
 */
export function xlsxFile(batches: AsyncGenerator<Cell[][]>, rowsPerSheet = ROWS_PER_SHEET): Readable {
  const zip = new yazl.ZipFile();
  const output = zip.outputStream as Readable;
  const rows = new SheetRows(batches, rowsPerSheet);
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  let open: Readable | null = null;

  const addSheet = (number: number): void => {
    const sheet = Readable.from(rows.sheet(), { highWaterMark: 1 });
    open = sheet;
    sheet.once('error', fail);
    sheet.once('end', () => {
      if (rows.hasMore) addSheet(number + 1);
      else finish(zip, number);
    });
    zip.addReadStream(sheet, `xl/worksheets/sheet${number}.xml`, { compressionLevel: COMPRESSION_LEVEL });
  };
  addSheet(1);
  output.once('close', () => {
    open?.destroy();
    // Ends the cursor behind the rows also when nobody has begun to read them.
    void rows.close().catch(fail);
  });
  return output;
}

class SheetRows {
  private waiting: Cell[][] = [];
  private ended = false;

  constructor(
    private readonly batches: AsyncGenerator<Cell[][]>,
    private readonly perSheet: number,
  ) {}

  get hasMore(): boolean {
    return this.waiting.length > 0 || !this.ended;
  }

  async close(): Promise<void> {
    await this.batches.return(undefined);
  }

  async *sheet(): AsyncGenerator<string> {
    yield `${XML}<worksheet xmlns="${MAIN}"><sheetData>${sheetRow(COLUMNS.map(({ name }) => name))}`;
    for (let left = this.perSheet; left > 0;) {
      if (this.waiting.length === 0 && !(await this.fetch())) break;
      const rows = this.waiting.splice(0, left);
      left -= rows.length;
      yield rows.map(sheetRow).join('');
    }
    // Whether another sheet follows must be known when this one ends.
    if (this.waiting.length === 0) await this.fetch();
    yield '</sheetData></worksheet>';
  }

  private async fetch(): Promise<boolean> {
    const step: IteratorResult<Cell[][], unknown> = this.ended
      ? { value: undefined, done: true }
      : await this.batches.next();
    this.ended = step.done === true;
    this.waiting = step.done === true ? [] : step.value;
    return !this.ended;
  }
}

function finish(zip: yazl.ZipFile, sheets: number): void {
  const numbers = Array.from({ length: sheets }, (_, index) => index + 1);
  for (const [name, text] of Object.entries(parts(numbers))) zip.addBuffer(Buffer.from(XML + text), name);
  zip.end();
}

function parts(numbers: readonly number[]): Record<string, string> {
  const each = (text: (number: number) => string): string => numbers.map(text).join('');
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  return {
    '[Content_Types].xml':
      `<Types xmlns="${PACKAGE}/content-types">` +
      '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>` +
      each((n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${type}.worksheet+xml"/>`) +
      '</Types>',
    '_rels/.rels':
      `<Relationships xmlns="${PACKAGE}/relationships">` +
      `<Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml':
      `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>` +
      each((n) => `<sheet name="${xmlText(`Receipts ${n}`)}" sheetId="${n}" r:id="rId${n}"/>`) +
      '</sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      `<Relationships xmlns="${PACKAGE}/relationships">` +
      each((n) => `<Relationship Id="rId${n}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${n}.xml"/>`) +
      '</Relationships>',
  };
}
