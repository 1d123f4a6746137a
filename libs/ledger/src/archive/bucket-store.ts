import { addAbortSignal, Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import type { ArchiveStore, NewFile } from './archive-store.js';

/** A file is sent in one request, from memory: a quarter of what a folder takes, some 4 MB when it is compressed. */
const MOST_CHARACTERS = 16 * 2 ** 20;
/** What was written to a folder once, and copied into a bucket, is read as well; what is larger is none of ours. */
const MOST_BYTES = 64 * 2 ** 20;
const CONNECTING_MS = 5_000;
/** A connection on which nothing moves. */
const SILENT_MS = 15_000;
/** One request with its answer, however slowly it moves. */
const REQUEST_MS = 120_000;

export interface Bucket {
  /** Its name, and what the names of its files begin with: empty, or ending with a slash. */
  name: string;
  prefix: string;
  /** Undefined: Amazon's own, of the region. */
  endpoint?: string | undefined;
  /** Undefined: the one that programs of AWS find. */
  region?: string | undefined;
  /** Undefined: those that programs of AWS find, such as the role of a pod. */
  keys?: { accessKeyId: string; secretAccessKey: string } | undefined;
}

type Sdk = typeof import('@aws-sdk/client-s3');

/**
 * A bucket of Amazon S3, or of a server that speaks as it does. An object is there when its PUT was answered, and not before: nothing is
 * renamed, and what a request that was cut off may have left stands under a name that is written again or removed.
 */
export class BucketStore implements ArchiveStore {
  readonly maxCharacters = MOST_CHARACTERS;
  private connected: Promise<{ sdk: Sdk; client: S3Client }> | null = null;

  /** @param silentMs how long a connection may be without a byte */
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
        const { sdk, client } = await this.connect();
        const command = new sdk.PutObjectCommand({ ...this.address(file), Body: Buffer.concat(chunks) });
        await client.send(command, { abortSignal: AbortSignal.timeout(REQUEST_MS) });
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
    const { sdk, client } = await this.connect();
    const abortSignal = AbortSignal.timeout(REQUEST_MS);
    try {
      const { Body: body } = await client.send(new sdk.GetObjectCommand(this.address(file)), { abortSignal });
      if (!(body instanceof Readable)) throw new Error(`${file} was answered without a body`);
      return Readable.from(await chunksOf(addAbortSignal(abortSignal, body), file));
    } catch (error) {
      // Not by its status: a bucket that is not there is a 404, too.
      if (error instanceof sdk.NoSuchKey) return null;
      throw error;
    }
  }

  async remove(file: string): Promise<void> {
    const { sdk, client } = await this.connect();
    const command = new sdk.DeleteObjectCommand(this.address(file));
    await client.send(command, { abortSignal: AbortSignal.timeout(REQUEST_MS) });
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  async reach(): Promise<void> {
    (await this.open('reached.json'))?.destroy();
  }

  /** Its client, 0.1 s and some 20 MB, is loaded where there is a bucket only. */
  private async connect(): Promise<{ sdk: Sdk; client: S3Client }> {
    this.connected ??= import('@aws-sdk/client-s3').then((sdk) => ({ sdk, client: this.clientOf(sdk) }));
    return this.connected;
  }

  private clientOf({ S3Client }: Sdk): S3Client {
    const { endpoint, region, keys } = this.bucket;
    const defaultRegion = endpoint === undefined ? undefined : 'us-east-1';
    return new S3Client({
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...((region ?? defaultRegion) ? { region: region ?? defaultRegion } : {}),
      ...(keys ? { credentials: keys } : {}),
      // Servers other than Amazon's refuse trailers with checksums; every file is read back and compared here.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        ...{ connectionTimeout: CONNECTING_MS, socketTimeout: this.silentMs },
        ...{ requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
      },
    });
  }

  private address(file: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket.name, Key: `${this.bucket.prefix}${file}` };
  }
}

async function chunksOf(body: Readable, file: string): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`${file} is larger than any archive (${String(MOST_BYTES)} bytes)`);
    chunks.push(chunk);
  }
  return chunks;
}
