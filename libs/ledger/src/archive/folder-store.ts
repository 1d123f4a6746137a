import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { syncFolder } from '#runtime';
import type { ArchiveStore, NewFile } from './archive-store.js';

const MOST_CHARACTERS = 64 * 2 ** 20;

/** A folder. A file is written beside its name, flushed, and renamed into place. */
export class FolderStore implements ArchiveStore {
  readonly maxCharacters = MOST_CHARACTERS;

  constructor(private readonly folder: string) {}

  async create(file: string): Promise<NewFile> {
    const path = join(this.folder, file);
    const part = partOf(path);
    const sink = (await open(part, 'w', 0o600)).createWriteStream({ flush: true });
    const done = finished(sink);
    // Awaited in keep() and drop(); a failure before that must not end the program.
    done.catch(() => undefined);
    return {
      sink,
      keep: async () => {
        await done;
        await rename(part, path);
        await syncFolder(this.folder);
      },
      drop: async () => {
        sink.destroy();
        await done.catch(() => 'given up');
      },
    };
  }

  async open(file: string): Promise<Readable | null> {
    try {
      return (await open(join(this.folder, file), 'r')).createReadStream();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async remove(file: string): Promise<void> {
    const path = join(this.folder, file);
    for (const one of [partOf(path), path]) await rm(one, { force: true });
  }

  sync(): Promise<void> {
    return syncFolder(this.folder);
  }

  reach(): Promise<void> {
    return access(this.folder, constants.R_OK);
  }

  async prepare(): Promise<void> {
    const made = await mkdir(this.folder, { recursive: true });
    if (made !== undefined) await syncFolder(dirname(made));
  }

  end(): void {
    // Nothing here waits for another machine for longer than the system does.
  }
}

function partOf(path: string): string {
  return `${path}.part`;
}
