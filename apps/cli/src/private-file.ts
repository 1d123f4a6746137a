import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** @returns null when there is no such file */
export async function readJsonFile(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Readable by its owner alone, and whole at every moment: a crash leaves the old file or the new one. */
export function writePrivateJson(file: string, value: unknown): Promise<void> {
  return writeBeside(file, value, (beside) => rename(beside, file));
}

/**
 * The same for a file that must not be there yet. A rename would replace the file of a program that began at the same time;
 * a second name for the same file does not.
 * @returns false when there is one
 */
export async function createPrivateJson(file: string, value: unknown): Promise<boolean> {
  try {
    await writeBeside(file, value, (beside) => link(beside, file));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function writeBeside(file: string, value: unknown, publish: (beside: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(beside, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    await publish(beside);
  } finally {
    await rm(beside, { force: true });
  }
}
