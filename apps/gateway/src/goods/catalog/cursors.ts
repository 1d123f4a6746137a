import { strangeCursor } from '../../http/paging.js';

/** A cursor that a caller hands back without reading it. */
export function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** @throws Problem 422 for what `isValid` does not know as its own */
export function readCursor<T extends readonly (string | number)[]>(
  cursor: string,
  isValid: (parts: readonly unknown[]) => boolean,
): T {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts) && isValid(parts)) return parts as unknown as T;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw strangeCursor();
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && value.length <= 512;
}

export function isCount(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,18}$/.test(value);
}
