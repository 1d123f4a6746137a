import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CommandError } from './errors.js';

const MAX_BYTES = 16 * 1024 * 1024;

/** @param path `-` for standard input @throws CommandError */
export async function readInput(path: string, stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === '-' ? stdin : createReadStream(path)) {
      const piece = Buffer.from(chunk as Buffer);
      bytes += piece.length;
      if (bytes > MAX_BYTES) throw new CommandError(`${path} is larger than 16 MiB.`);
      chunks.push(piece);
    }
  } catch (error) {
    throw asCommandError(error, path);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws CommandError when it is no JSON object */
export async function readJsonInput(path: string, stdin: Readable): Promise<Record<string, unknown>> {
  const text = await readInput(path, stdin);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${path} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError(`${path} must hold one JSON object.`);
  return value as Record<string, unknown>;
}

/** A file that cannot be read is the caller's to mend; everything else stays what it is. */
export function asCommandError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new CommandError(`There is no file ${path}.`);
  if (code === 'EACCES' || code === 'EISDIR') return new CommandError(`${path} cannot be read (${code}).`);
  return error;
}

/** @throws CommandError */
export function wholeNumber(text: string, name: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new CommandError(`${name} must be a whole number from ${min} to ${max}.`);
}
