import { addAbortSignal, Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';

/** What was written to a folder once, and copied into a bucket, is read as well; what is larger is none of ours. */
const MOST_BYTES = 64 * 2 ** 20;
const CONNECTING_MS = 5_000;
/** One request with its answer, however slowly it moves. */
const REQUEST_MS = 120_000;

export interface Bucket {
  name: string;
  /** What the names of its files begin with: empty, or ending with a slash. */
  prefix: string;
  /** Undefined: Amazon's own, of the region. */
  endpoint?: string | undefined;
  /** Undefined: the one that programs of AWS find. */
  region?: string | undefined;
  /** Undefined: those that programs of AWS find, such as the role of a pod. */
  keys?: { accessKeyId: string; secretAccessKey: string } | undefined;
}

/** The objects of a bucket, each in one request. AWS's client is in this module alone, which is loaded where there is a bucket. */
export class S3Objects {
  private readonly client: S3Client;

  /** @param silentMs how long a connection may be without a byte */
  constructor(
    private readonly bucket: Bucket,
    silentMs: number,
  ) {
    const { endpoint, keys } = bucket;
    const region = bucket.region ?? (endpoint === undefined ? undefined : 'us-east-1');
    this.client = new S3Client({
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...(region === undefined ? {} : { region }),
      ...(keys ? { credentials: keys } : {}),
      // Servers other than Amazon's refuse trailers with checksums; every file is read back and compared by who writes it.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        ...{ connectionTimeout: CONNECTING_MS, socketTimeout: silentMs },
        ...{ requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
      },
    });
  }

  async put(file: string, bytes: Buffer): Promise<void> {
    const command = new PutObjectCommand({ ...this.address(file), Body: bytes });
    await this.client.send(command, { abortSignal: AbortSignal.timeout(REQUEST_MS) });
  }

  /** The whole of it. Null: there is none. @throws when that could not be found out */
  async get(file: string): Promise<Buffer[] | null> {
    const abortSignal = AbortSignal.timeout(REQUEST_MS);
    try {
      const { Body: body } = await this.client.send(new GetObjectCommand(this.address(file)), { abortSignal });
      if (!(body instanceof Readable)) throw new Error(`${file} was answered without a body`);
      return await chunksOf(addAbortSignal(abortSignal, body), file);
    } catch (error) {
      // Not by its status: a bucket that is not there is a 404, too.
      if (error instanceof NoSuchKey) return null;
      throw error;
    }
  }

  async remove(file: string): Promise<void> {
    const command = new DeleteObjectCommand(this.address(file));
    await this.client.send(command, { abortSignal: AbortSignal.timeout(REQUEST_MS) });
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
