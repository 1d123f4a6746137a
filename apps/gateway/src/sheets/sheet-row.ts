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

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Null when the bytes are no UTF-8: another encoding, or a mixture. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
