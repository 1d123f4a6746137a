import { isUtf8 } from 'node:buffer';

/** One row or line of a file, as it came. */
export interface SheetRow {
  /** From 1, as a person counts in the file. */
  number: number;
  cells: (string | null)[];
  /** What makes the row unusable, whatever its cells mean. */
  faults: string[];
}

/** The file as a whole cannot be used; the message is for the person who sent it. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/** Longer than anything that a cell of ours means; Excel's own bound is 32 767. */
export const MAX_CELL_LENGTH = 65_536;
/** More than any table of ours has. */
export const MAX_COLUMNS = 200;
/** Of all cells of a row, or of a line: the largest product of the catalogue has half of it. */
export const MAX_ROW_BYTES = 256 * 1024;
/** Named for each row: a cell of a few bytes can be a fault, and there may be millions of them. */
const MAX_FAULTS = 10;

/** Beyond the first ten faults of a row one more says that there are others. */
export function addFault(row: Pick<SheetRow, 'faults'>, fault: string): void {
  if (row.faults.length < MAX_FAULTS) row.faults.push(fault);
  else if (row.faults.length === MAX_FAULTS) row.faults.push('and more faults of the same row');
}

/** Null when the bytes are no UTF-8: another encoding, or a mixture. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}
