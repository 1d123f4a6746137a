import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { ArchiveStore, NewFile } from './archive-store.js';

/** Whose rows an archive may hold: a name of an archive begins with it. */
export const ARCHIVED_TABLES = [
  ...(['receipts', 'attempts', 'payments', 'webhook_deliveries', 'webhook_attempts', 'events'] as const),
  ...(['payment_calls', 'provider_callbacks'] as const),
] as const;
export type ArchivedTable = (typeof ARCHIVED_TABLES)[number];

/** What an archive holds, and how to find out whether it still does. */
export interface Manifest {
  version: 1;
  name: string;
  table: ArchivedTable;
  /** Rows, one JSON object a line. */
  rows: number;
  first_id: string;
  last_id: string;
  /** Of the file. */
  bytes: number;
  sha256: string;
  /** Of its lines, without compression. */
  lines_sha256: string;
  written_at: string;
}

export type FileState =
  /** The file is what its manifest says, to the last byte and line. */
  | 'whole'
  | 'no_manifest'
  | 'no_file'
  /** Its bytes are not those of the manifest. */
  | 'changed'
  /** File and manifest are not those that were recorded. */
  | 'other';

/** What is known of a file apart from its manifest. */
export interface Recorded {
  bytes: number;
  sha256: string;
}

const NAME = new RegExp(`^(${ARCHIVED_TABLES.join('|')})-[0-9a-z]{26}$`);

/** Archives are named by us; a name that comes from elsewhere must not lead out of the folder. */
export function isArchiveName(name: string): boolean {
  return NAME.test(name);
}

/** @throws for what is no name of an archive */
export function tableOfArchive(name: string): ArchivedTable {
  const table = ARCHIVED_TABLES.find((one) => NAME.exec(name)?.[1] === one);
  if (table === undefined) throw new Error(`${JSON.stringify(name)} is no name of an archive`);
  return table;
}

const LINE_FEED = 0x0a;

/**
 * Archives as files: NDJSON with gzip, and a manifest that is written last. A file has its name only when it is whole and durable.
 */
export class ArchiveFiles {
  constructor(private readonly store: ArchiveStore) {}

  /** Characters of one archive, before compression, that the store takes. */
  get maxCharacters(): number {
    return this.store.maxCharacters;
  }

  async begin(name: string): Promise<ArchiveWriter> {
    return new ArchiveWriter(name, this.store, await this.store.create(dataOf(name)));
  }

  /** Null: it has none. @throws when it cannot be read */
  async manifest(name: string): Promise<Manifest | null> {
    const text = await textOf(this.store, manifestOf(name));
    if (text === null) return null;
    const manifest = JSON.parse(text) as Partial<Manifest>;
    if (manifest.version !== 1 || manifest.name !== name || manifest.table !== tableOfArchive(name))
      throw new Error(`the manifest of ${name} is none of this version`);
    return manifest as Manifest;
  }

  /** The names of its files are durable: a process that died may have given them without that. */
  sync(): Promise<void> {
    return this.store.sync();
  }

  /** @throws when nothing can be read from where they are */
  reach(): Promise<void> {
    return this.store.reach();
  }

  /** Before the first is begun. @throws when none could be written */
  prepare(): Promise<void> {
    return this.store.prepare();
  }

  /** Who stops does not wait for them. */
  end(): void {
    this.store.end();
  }

  /** Reads the whole file. @param sha256 that was recorded when it was written */
  async check(name: string, sha256?: string): Promise<FileState> {
    const manifest = await this.manifest(name);
    if (!manifest) return 'no_manifest';
    const found = await digestOf(this.store, name);
    if (!found) return 'no_file';
    if (found.sha256 !== manifest.sha256 || found.bytes !== manifest.bytes) return 'changed';
    return sha256 === undefined || sha256 === found.sha256 ? 'whole' : 'other';
  }

  /**
   * Its rows as they were written, so many at a time. No row of a file that is not what was recorded: whatever was checked before, a store
   * may answer with something else now, and what it packs into its bytes has no bound.
   */
  async *read(name: string, atOnce: number, recorded: Recorded): AsyncGenerator<string[]> {
    const source = Readable.from(await this.recordedBytes(name, recorded));
    const unpacked = createGunzip();
    source.pipe(unpacked);
    let group: string[] = [];
    try {
      for await (const line of linesOf(unpacked)) {
        group.push(line);
        if (group.length < atOnce) continue;
        yield group;
        group = [];
      }
      if (group.length > 0) yield group;
    } finally {
      source.destroy();
      unpacked.destroy();
    }
  }

  private async recordedBytes(name: string, { bytes, sha256 }: Recorded): Promise<Buffer[]> {
    const source = await this.store.open(dataOf(name));
    if (!source) throw new Error(`the file of ${name} is gone`);
    const hash = createHash('sha256');
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) break;
      hash.update(chunk);
      chunks.push(chunk);
    }
    if (size !== bytes || hash.digest('hex') !== sha256)
      throw new Error(`the file of ${name} is not what was recorded`);
    return chunks;
  }

  /** What was never finished. */
  async discard(name: string): Promise<void> {
    for (const file of [dataOf(name), manifestOf(name)]) await this.store.remove(file);
  }
}

function dataOf(name: string): string {
  tableOfArchive(name);
  return `${name}.ndjson.gz`;
}

function manifestOf(name: string): string {
  tableOfArchive(name);
  return `${name}.json`;
}

/** Writes one archive. Compression is done beside the loop, in the threads of zlib. */
export class ArchiveWriter {
  private readonly packed = createGzip();
  private readonly lines: Hash = createHash('sha256');
  private readonly bytes = createHash('sha256');
  private readonly done: Promise<void>;
  private size = 0;
  private rows = 0;
  private firstId = '';
  private lastId = '';
  /** Characters, before compression. */
  written = 0;

  constructor(
    private readonly name: string,
    private readonly store: ArchiveStore,
    private readonly file: NewFile,
  ) {
    const { sink } = file;
    this.done = finished(sink);
    this.packed.once('error', (error) => sink.destroy(error));
    sink.once('error', () => this.packed.destroy());
    this.packed.on('data', (chunk: Buffer) => {
      this.bytes.update(chunk);
      this.size += chunk.length;
    });
    this.packed.pipe(sink);
    // Awaited in finish(); a failure before that must not end the program.
    this.done.catch(() => undefined);
  }

  async add(row: { id: string; line: string }): Promise<void> {
    const text = `${row.line}\n`;
    this.lines.update(text);
    if (this.rows === 0) this.firstId = row.id;
    this.rows += 1;
    this.lastId = row.id;
    this.written += text.length;
    if (!this.packed.write(text)) await Promise.race([once(this.packed, 'drain'), this.done]);
  }

  /** Closes what is open; what is left has no manifest. */
  async abort(): Promise<void> {
    this.packed.destroy();
    await this.file.drop();
  }

  /** Durable and read back, with its manifest, when this resolves. */
  async finish(): Promise<Manifest> {
    const { name, store } = this;
    this.packed.end();
    await this.file.keep();
    const written = { bytes: this.size, sha256: this.bytes.digest('hex') };
    const found = await digestOf(store, name);
    if (found?.bytes !== written.bytes || found.sha256 !== written.sha256)
      throw new Error(`the file of ${name} is ${found ? 'not what was written' : 'gone'}`);
    const manifest: Manifest = {
      version: 1,
      name,
      table: tableOfArchive(name),
      rows: this.rows,
      first_id: this.firstId,
      last_id: this.lastId,
      ...written,
      lines_sha256: this.lines.digest('hex'),
      written_at: new Date().toISOString(),
    };
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const file = await store.create(manifestOf(name));
    file.sink.end(text);
    await file.keep();
    if ((await textOf(store, manifestOf(name))) !== text)
      throw new Error(`the manifest of ${name} is not what was written`);
    return manifest;
  }
}

/** @throws for a line that is none of an archive of rows with ids */
export function idOfLine(line: string): string {
  const { id } = JSON.parse(line) as { id?: unknown };
  if (typeof id !== 'string') throw new Error('a line of an archive has no id');
  return id;
}

export function digestOfLine(line: string): string {
  return createHash('sha256').update(line).digest('hex');
}

async function textOf(store: ArchiveStore, file: string): Promise<string | null> {
  const source = await store.open(file);
  return source && Buffer.concat((await source.toArray()) as Buffer[]).toString('utf8');
}

async function digestOf(store: ArchiveStore, name: string): Promise<{ bytes: number; sha256: string } | null> {
  const source: Readable | null = await store.open(dataOf(name));
  if (!source) return null;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** At line feeds alone: newer readlines split at separators as well, which JSON leaves in a text as they are. */
async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)]).toString('utf8');
      begun = [];
      from = end + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) yield Buffer.concat(begun).toString('utf8');
}
