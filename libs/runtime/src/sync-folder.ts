import { open } from 'node:fs/promises';

/** A name that was given in this folder, by a rename or a new file, is on disk when this resolves, and not before. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
