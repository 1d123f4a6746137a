import { createHash, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { createPrivateJson, readJsonFile, writePrivateJson } from '../private-file.js';

/** How far one receiver has been given the feed. */
export interface Place {
  /** Null: from the first event. */
  cursor: string | null;
  /** Done behind the cursor, within a page that is not done. */
  done: string[];
}

export interface ListenSecret {
  secret: string;
  /** Drawn by this call. */
  isNew: boolean;
}

/** The secret with which everything for this client is signed: drawn once, kept, so that a receiver is set up once. */
export async function listenSecret(
  configFile: string,
  client: { url: string; client_id: string },
): Promise<ListenSecret> {
  const file = fileOf(configFile, 'secret', [client.url, client.client_id]);
  const kept = await readSecret(file);
  if (kept !== null) return { secret: kept, isNew: false };
  const drawn = `whsec_${randomBytes(32).toString('base64')}`;
  if (await createPrivateJson(file, { secret: drawn })) return { secret: drawn, isNew: true };
  // Two that begin at the same time: the first one's stays.
  const theirs = await readSecret(file);
  if (theirs !== null) return { secret: theirs, isNew: false };
  // A file without a secret: a version that wrote it in place was interrupted.
  await writePrivateJson(file, { secret: drawn });
  return { secret: drawn, isNew: true };
}

/** @returns null when there is no file, or none with a secret */
async function readSecret(file: string): Promise<string | null> {
  try {
    const content = (await readJsonFile(file)) as { secret?: string } | null;
    return content?.secret ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
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
