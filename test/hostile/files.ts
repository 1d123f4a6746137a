import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** Made to cost memory or time: what is in it, its format, and its bytes. */
export interface HostileFile {
  what: string;
  format: 'csv' | 'jsonl' | 'xlsx';
  bytes: () => Promise<Buffer> | Buffer;
}

const MIB = 1024 ** 2;
const HEADINGS = 'sku,spic,name_ru,package_code,vat_percent\n';

const textCell = (text: string): string => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
const HEADING_ROW = `<row>${['sku', 'spic', 'name_ru'].map(textCell).join('')}</row>`;

function workbook(rows: string, more: Record<string, Buffer> = {}): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(`<worksheet><sheetData>${rows}</sheetData></worksheet>`), 'xl/worksheets/sheet1.xml');
  for (const [name, bytes] of Object.entries(more)) zip.addBuffer(bytes, name);
  zip.end();
  return buffer(zip.outputStream);
}

/** A workbook whose texts do not pack well, as those of a bomb would be refused by their ratio. */
function sharedTexts(count: number, length: number): Buffer {
  const texts = Array.from({ length: count }, (_, at) => `<si><t>${noise(at, length)}</t></si>`);
  return Buffer.from(`<sst>${texts.join('')}</sst>`);
}

function repeated(count: number, make: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => make(at)).join('');
}

/** Letters that no compression shortens to nothing. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += state.toString(36);
  }
  return text.slice(0, length);
}

export const HOSTILE_FILES: readonly HostileFile[] = [
  // The three that were found first.
  {
    what: 'a row of formulas without end',
    format: 'xlsx',
    bytes: () => workbook(`${HEADING_ROW}<row>${repeated(400_000, (at) => `${noise(at, 8)}<f/>`)}</row>`),
  },
  { what: 'a record of columns without end', format: 'csv', bytes: () => Buffer.from(HEADINGS + 'a,'.repeat(5 * MIB)) },
  {
    what: 'rows of as many faulty cells as there may be',
    format: 'xlsx',
    bytes: () =>
      workbook(
        HEADING_ROW +
          repeated(20, (row) => `<row>${repeated(20_000, (at) => `<c t="e"><v>#${noise(row * at, 6)}</v></c>`)}</row>`),
      ),
  },
  // And ten more.
  { what: 'separators alone', format: 'csv', bytes: () => Buffer.from(HEADINGS + ','.repeat(10 * MIB)) },
  { what: 'one cell without end', format: 'csv', bytes: () => Buffer.from(`${HEADINGS}${'x'.repeat(30 * MIB)}`) },
  {
    what: 'a quote that is never closed',
    format: 'csv',
    bytes: () => Buffer.from(`${HEADINGS}"${'x,\n'.repeat(10 * MIB)}`),
  },
  { what: 'quotes alone', format: 'csv', bytes: () => Buffer.from(`${HEADINGS}"${'""'.repeat(10 * MIB)}"\n`) },
  { what: 'empty lines', format: 'csv', bytes: () => Buffer.from(HEADINGS + '\n'.repeat(20 * MIB)) },
  {
    what: 'rows as large as rows may be',
    format: 'csv',
    bytes: () => Buffer.from(HEADINGS + `${`${'ў'.repeat(30_000)},`.repeat(17)}\n`.repeat(40)),
  },
  {
    what: 'lists in lists',
    format: 'jsonl',
    bytes: () => Buffer.from(`${'['.repeat(500_000)}${']'.repeat(500_000)}\n`.repeat(20)),
  },
  {
    what: 'lines of many small objects',
    format: 'jsonl',
    bytes: () => Buffer.from(`[${'{},'.repeat(340_000)}1]\n`.repeat(30)),
  },
  { what: 'a line without end', format: 'jsonl', bytes: () => Buffer.from('x'.repeat(30 * MIB)) },
  {
    what: 'many long shared texts',
    format: 'xlsx',
    bytes: () =>
      workbook(HEADING_ROW + `<row>${'<c t="s"><v>7</v></c>'.repeat(3)}</row>`.repeat(100), {
        'xl/sharedStrings.xml': sharedTexts(40_000, 2_000),
      }),
  },
  {
    what: 'one long shared text in every cell',
    format: 'xlsx',
    bytes: () =>
      workbook(HEADING_ROW + `<row>${'<c t="s"><v>0</v></c>'.repeat(15)}</row>`.repeat(5_000), {
        'xl/sharedStrings.xml': sharedTexts(1, 65_000),
      }),
  },
  {
    what: 'attributes without end',
    format: 'xlsx',
    bytes: () =>
      workbook(
        `${HEADING_ROW}<row><c ${Array.from({ length: 400_000 }, (_, at) => `a${at}="${at}"`).join(' ')}><v>1</v></c></row>`,
      ),
  },
  {
    what: 'a text without end',
    format: 'xlsx',
    bytes: () => workbook(`${HEADING_ROW}<row>${textCell(noise(3, 30 * MIB))}</row>`),
  },
  { what: 'rows in rows without end', format: 'xlsx', bytes: () => workbook(HEADING_ROW + '<row>'.repeat(500_000)) },
  {
    what: 'shared texts without a letter, more than there are marks for',
    format: 'xlsx',
    bytes: () =>
      workbook(HEADING_ROW, {
        'xl/sharedStrings.xml': Buffer.from(
          `<sst>${repeated(900, (at) => '<si/>'.repeat(20_000) + noise(at, 700))}</sst>`,
        ),
      }),
  },
  {
    what: 'cells of shared texts that lie far apart',
    format: 'xlsx',
    bytes: () =>
      workbook(HEADING_ROW + `<row>${'<c r="A" t="s"><v>7</v></c><c r="A" t="s"><v>15</v></c>'.repeat(50_000)}</row>`, {
        'xl/sharedStrings.xml': Buffer.from(
          `<sst>${repeated(16, (at) => `<si><t>${at % 8 === 7 ? '' : noise(at, 60_000)}</t></si>`)}</sst>`,
        ),
      }),
  },
  {
    what: 'lists in lists of one cell',
    format: 'csv',
    bytes: () => Buffer.from(`sku,spic,attributes\na,1,"${'['.repeat(32_000)}${']'.repeat(32_000)}"\n`),
  },
  {
    what: 'parts with the longest names',
    format: 'xlsx',
    bytes: () =>
      workbook(
        HEADING_ROW,
        Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`${at}-${noise(at, 60_000)}`, Buffer.alloc(1)])),
      ),
  },
];
