import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, type WriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

/** Whose rows an archive may hold: a name of an archive begins with it. */
export const ARCHIVED_TABLES = ['attempts', 'webhook_deliveries', 'webhook_attempts', 'events'] as const;
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
  | 'changed';

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
 * Archives as files of a folder: NDJSON with gzip, and a manifest that is renamed into place last. A file has its name only when it
 * is whole and on disk.
 */
export class ArchiveFiles {
  constructor(private readonly folder: string) {}

  async begin(name: string): Promise<ArchiveWriter> {
    const made = await mkdir(this.folder, { recursive: true });
    if (made !== undefined) await syncFolder(dirname(made));
    return ArchiveWriter.open(this.pathsOf(name));
  }

  /** Null: it has none. @throws when it cannot be read */
  async manifest(name: string): Promise<Manifest | null> {
    const text = await readFile(this.pathsOf(name).manifest, 'utf8').catch(orNullWhenMissing);
    if (text === null) return null;
    const manifest = JSON.parse(text) as Partial<Manifest>;
    if (manifest.version !== 1 || manifest.name !== name || manifest.table !== tableOfArchive(name))
      throw new Error(`the manifest of ${name} is none of this version`);
    return manifest as Manifest;
  }

  /** The names of its files are on disk: a process that died may have given them without that. */
  sync(): Promise<void> {
    return syncFolder(this.folder);
  }

  /** Reads the whole file. */
  async check(name: string): Promise<FileState> {
    const manifest = await this.manifest(name);
    if (!manifest) return 'no_manifest';
    const found = await digestOf(this.pathsOf(name).data);
    if (!found) return 'no_file';
    return found.sha256 === manifest.sha256 && found.bytes === manifest.bytes ? 'whole' : 'changed';
  }

  /** Its rows as they were written, so many at a time. */
  async *read(name: string, atOnce: number): AsyncGenerator<string[]> {
    const source = createReadStream(this.pathsOf(name).data);
    const unpacked = createGunzip();
    source.once('error', (error) => unpacked.destroy(error));
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

  /** What was never finished. */
  async discard(name: string): Promise<void> {
    const { part, data, manifest } = this.pathsOf(name);
    for (const path of [part, data, `${manifest}.part`]) await rm(path, { force: true });
  }

  private pathsOf(name: string): Paths {
    tableOfArchive(name);
    const data = join(this.folder, `${name}.ndjson.gz`);
    return { name, folder: this.folder, data, part: `${data}.part`, manifest: join(this.folder, `${name}.json`) };
  }
}

interface Paths {
  name: string;
  folder: string;
  data: string;
  part: string;
  manifest: string;
}

/** Writes one archive. Compression is done beside the loop, in the threads of zlib. */
export class ArchiveWriter {
  private readonly packed = createGzip();
  private readonly lines: Hash = createHash('sha256');
  private rows = 0;
  private firstId = '';
  private lastId = '';
  /** Characters, before compression. */
  written = 0;

  private constructor(
    private readonly paths: Paths,
    private readonly sink: WriteStream,
    private readonly done: Promise<void>,
  ) {}

  static async open(paths: Paths): Promise<ArchiveWriter> {
    const file = await open(paths.part, 'w', 0o600);
    const sink = file.createWriteStream({ flush: true });
    const done = finished(sink);
    const writer = new ArchiveWriter(paths, sink, done);
    writer.packed.once('error', (error) => sink.destroy(error));
    sink.once('error', () => writer.packed.destroy());
    writer.packed.pipe(sink);
    // Awaited in finish(); a failure before that must not end the program.
    done.catch(() => undefined);
    return writer;
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

  /** Closes what is open; what is left on disk has no manifest. */
  async abort(): Promise<void> {
    this.packed.destroy();
    this.sink.destroy();
    await this.done.catch(() => 'given up');
  }

  /** On disk, with its manifest, when this resolves. */
  async finish(): Promise<Manifest> {
    const { paths } = this;
    this.packed.end();
    await this.done;
    await rename(paths.part, paths.data);
    await syncFolder(paths.folder);
    const found = await digestOf(paths.data);
    if (!found) throw new Error(`the file of ${paths.name} is gone`);
    const manifest: Manifest = {
      version: 1,
      name: paths.name,
      table: tableOfArchive(paths.name),
      rows: this.rows,
      first_id: this.firstId,
      last_id: this.lastId,
      ...found,
      lines_sha256: this.lines.digest('hex'),
      written_at: new Date().toISOString(),
    };
    const part = `${paths.manifest}.part`;
    const file = await open(part, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, paths.manifest);
    await syncFolder(paths.folder);
    return manifest;
  }
}

export function digestOfLine(line: string): string {
  return createHash('sha256').update(line).digest('hex');
}

async function digestOf(path: string): Promise<{ bytes: number; sha256: string } | null> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    return orNullWhenMissing(error as NodeJS.ErrnoException);
  }
  return { bytes, sha256: hash.digest('hex') };
}

function orNullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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
