import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { decodeUtf8, MAX_ROW_BYTES, type SheetRow } from './sheet-row.js';

const NEWLINE = 0x0a;

/** The lines of a text file, one cell each; one that is too long or no UTF-8 is a fault of its own. Empty ones are left out. */
export async function* readLines(
  path: string,
  { maxLineBytes = MAX_ROW_BYTES }: { maxLineBytes?: number } = {},
): AsyncGenerator<SheetRow, void, undefined> {
  let number = 0;
  let line: Buffer[] = [];
  let length = 0;
  const finish = (): SheetRow | null => {
    number += 1;
    const row = length > maxLineBytes ? tooLong(number, maxLineBytes) : rowOf(Buffer.concat(line), number);
    line = [];
    length = 0;
    return row;
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      length += end - start;
      if (length <= maxLineBytes) line.push(chunk.subarray(start, end));
      const row = finish();
      if (row) yield row;
      start = end + 1;
    }
    length += chunk.length - start;
    if (length <= maxLineBytes) line.push(chunk.subarray(start));
    else line = [];
  }
  const row = length > 0 ? finish() : null;
  if (row) yield row;
}

/** Whether the file's last byte is not the end of a line. */
export async function endsWithinLine(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    return bytesRead === 1 && buffer[0] !== NEWLINE;
  } finally {
    await file.close();
  }
}

function tooLong(number: number, maxLineBytes: number): SheetRow {
  return { number, cells: [null], faults: [`the line is longer than ${maxLineBytes} bytes`] };
}

function rowOf(bytes: Buffer, number: number): SheetRow | null {
  const text = decodeUtf8(bytes);
  if (text === null) return { number, cells: [null], faults: ['the line is not encoded in UTF-8'] };
  const trimmed = text.replace(/^\ufeff/, '').trim();
  return trimmed === '' ? null : { number, cells: [trimmed], faults: [] };
}
