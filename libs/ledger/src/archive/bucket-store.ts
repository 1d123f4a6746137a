import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ArchiveStore, NewFile } from './archive-store.js';
import type { Bucket, S3Objects } from './s3-objects.js';

/** A file is sent in one request, from memory: a quarter of what a folder takes, some 4 MB when it is compressed. */
const MOST_CHARACTERS = 16 * 2 ** 20;
/** A connection on which nothing moves. */
const SILENT_MS = 15_000;

/**
 * A bucket of Amazon S3, or of a server that speaks as it does. An object is there when its PUT was answered, and not before: nothing is
 * renamed, and what a request that was cut off may have left stands under a name that is removed, or never used again.
 */
export class BucketStore implements ArchiveStore {
  readonly maxCharacters = MOST_CHARACTERS;
  private loading: Promise<S3Objects> | null = null;
  private readonly ending = new AbortController();

  constructor(
    private readonly bucket: Bucket,
    private readonly silentMs = SILENT_MS,
  ) {}

  create(file: string): Promise<NewFile> {
    const chunks: Buffer[] = [];
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
    });
    const done = finished(sink);
    // Awaited in keep(); what is given up before that must not end the program.
    done.catch(() => undefined);
    return Promise.resolve({
      sink,
      keep: async () => {
        await done;
        await (await this.objects()).put(file, Buffer.concat(chunks));
      },
      drop: () => {
        sink.destroy();
        chunks.length = 0;
        return Promise.resolve();
      },
    });
  }

  /** The whole object is fetched first: who reads its rows into a database may take longer than a server keeps a connection. */
  async open(file: string): Promise<Readable | null> {
    const chunks = await (await this.objects()).get(file);
    return chunks && Readable.from(chunks);
  }

  async remove(file: string): Promise<void> {
    await (await this.objects()).remove(file);
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  async reach(): Promise<void> {
    (await this.open('reached.json'))?.destroy();
  }

  prepare(): Promise<void> {
    return this.reach();
  }

  end(): void {
    this.ending.abort();
  }

  /** The client behind it, 0.1 s and some 20 MB, is loaded where there is a bucket only. */
  private objects(): Promise<S3Objects> {
    this.loading ??= import('./s3-objects.js').then(
      ({ S3Objects }) => new S3Objects(this.bucket, { silentMs: this.silentMs, end: this.ending.signal }),
    );
    return this.loading;
  }
}
