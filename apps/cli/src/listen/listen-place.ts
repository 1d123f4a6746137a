import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readJsonFile, writePrivateJson } from '../private-file.js';

/** How far one receiver has been given the feed. */
export interface Place {
  /** Null: from the first event. */
  cursor: string | null;
  /** Done behind the cursor, within a page that is not done. */
  done: string[];
}

/** @returns the secret with which everything for this client is signed: drawn once, kept, so that a receiver is set up once */
export async function listenSecret(configFile: string, client: { url: string; client_id: string }): Promise<string> {
  const file = fileOf(configFile, 'secret', [client.url, client.client_id]);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const drawn = `whsec_${randomBytes(32).toString('base64')}`;
  try {
    // Two that begin at the same time: the first one's stays.
    await writeFile(file, `${JSON.stringify({ secret: drawn })}\n`, { mode: 0o600, flag: 'wx' });
    return drawn;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const { secret } = (await readJsonFile(file)) as { secret: string };
    return secret;
  }
}

/** Survives restarts of this program: it is written after each event that is done. */
export class ListenPlace {
  private readonly file: string;

  /** @param names what makes it another feed or another receiver */
  constructor(configFile: string, names: readonly string[]) {
    this.file = fileOf(configFile, 'place', names);
  }

  /** Null: this receiver was never listened for. */
  async read(): Promise<Place | null> {
    return (await readJsonFile(this.file)) as Place | null;
  }

  keep(place: Place): Promise<void> {
    return writePrivateJson(this.file, place);
  }
}

function fileOf(configFile: string, kind: string, names: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
  return join(dirname(configFile), 'listen', `${kind}-${digest}.json`);
}
