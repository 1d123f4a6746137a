import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** Text, number, or nothing. Text is always written as text: no cell of ours is ever a formula. */
export type Cell = string | number | null;

/** Characters gathered before a piece of the sheet goes to the compressor. */
const PIECE_LENGTH = 64 * 1024;

/**
 * A workbook of one sheet as a stream, in memory that does not grow with the rows. Texts stand in their cells ("inline"):
 * a table of shared texts would have to be complete before the first row could be read.
 * When `rows` fails, the stream fails with its error; when the stream is destroyed, `rows` is returned.
 */
export function xlsxStream(rows: AsyncIterable<readonly Cell[]> | Iterable<readonly Cell[]>): Readable {
  const zip = new ZipFile();
  const sheet = Readable.from(sheetPieces(rows), { objectMode: false });
  const output = zip.outputStream as Readable;
  sheet.once('error', (error) => output.destroy(error));
  output.once('close', () => sheet.destroy());
  for (const [path, content] of Object.entries(FRAME)) zip.addBuffer(Buffer.from(content), path);
  zip.addReadStream(sheet, 'xl/worksheets/sheet1.xml');
  zip.end();
  return output;
}

async function* sheetPieces(
  rows: AsyncIterable<readonly Cell[]> | Iterable<readonly Cell[]>,
): AsyncGenerator<Buffer, void, undefined> {
  let piece = `${XML}<worksheet xmlns="${MAIN}"><sheetData>`;
  for await (const row of rows) {
    piece += rowXml(row);
    if (piece.length < PIECE_LENGTH) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  yield Buffer.from(`${piece}</sheetData></worksheet>`);
}

function rowXml(cells: readonly Cell[]): string {
  let xml = '<row>';
  for (const cell of cells) {
    if (cell === null || cell === '') xml += '<c/>';
    else if (typeof cell === 'number') xml += `<c><v>${String(cell)}</v></c>`;
    else xml += `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(cell)}</t></is></c>`;
  }
  return `${xml}</row>`;
}

/** Everything that XML 1.0 cannot carry even as an entity. */
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/g;
const LONE_LOW = /(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escapeXml(text: string): string {
  return text
    .replace(NOT_IN_XML, '')
    .replace(LONE_LOW, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;');
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** What a workbook needs beside its sheet. */
const FRAME: Readonly<Record<string, string>> = {
  '[Content_Types].xml':
    `${XML}<Types xmlns="${PACKAGE}/content-types">` +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/>` +
    `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET_TYPE}.worksheet+xml"/></Types>`,
  '_rels/.rels':
    `${XML}<Relationships xmlns="${PACKAGE}/relationships">` +
    `<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml':
    `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}">` +
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    `${XML}<Relationships xmlns="${PACKAGE}/relationships">` +
    `<Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
};
