import { createHash } from 'node:crypto';
import { addAbortSignal, Readable, Transform } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { StoreUnavailable } from './archive-store.js';

/** What was written to a folder once, and copied into a bucket, is read as well; what is larger is none of ours. */
const MOST_BYTES = 64 * 2 ** 20;
/** Of an answer that is no object: a megabyte of spaces costs the client's reader of XML seconds. */
const MOST_BYTES_OF_REFUSAL = 64 * 2 ** 10;
/** Of what it says, in the log. */
const MOST_REASON = 500;
const CONNECTING_MS = 5_000;
/** One request with its answer, however slowly it moves. */
const REQUEST_MS = 60_000;

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

export interface S3Bounds {
  /** How long a connection may be without a byte. */
  silentMs: number;
  /** One request with its answer, however slowly it moves. */
  requestMs?: number;
  /** Ends what is under way. */
  end: AbortSignal;
}

/** The objects of a bucket, each in one request. AWS's client is in this module alone, which is loaded where there is a bucket. */
export class S3Objects {
  private readonly client: S3Client;

  constructor(
    private readonly bucket: Bucket,
    private readonly bounds: S3Bounds,
  ) {
    const { endpoint, keys } = bucket;
    const region = bucket.region ?? (endpoint === undefined ? undefined : 'us-east-1');
    this.client = new S3Client({
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...(region === undefined ? {} : { region }),
      ...(keys ? { credentials: keys } : {}),
      // Servers other than Amazon's refuse checksums that they do not know. What is put has an MD5, which all know.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        ...{ connectionTimeout: CONNECTING_MS, socketTimeout: bounds.silentMs },
        ...{ requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
      },
      // From 2 MiB on the client would wait for a "100 Continue", which not every server and proxy sends.
      expectContinueHeader: false,
    });
    this.boundAnswers();
  }

  /** With its MD5: a bucket with a lock of objects takes nothing without. */
  async put(file: string, bytes: Buffer): Promise<void> {
    const md5 = createHash('md5').update(bytes).digest('base64');
    const command = new PutObjectCommand({ ...this.address(file), Body: bytes, ContentMD5: md5 });
    await this.asked((abortSignal) => this.client.send(command, { abortSignal }));
  }

  /** The whole of it. Null: there is none. @throws StoreUnavailable when that could not be found out */
  get(file: string): Promise<Buffer[] | null> {
    return this.asked(async (abortSignal) => {
      try {
        const { Body: body } = await this.client.send(new GetObjectCommand(this.address(file)), { abortSignal });
        if (!(body instanceof Readable)) throw new Error(`${file} was answered without a body`);
        return (await addAbortSignal(abortSignal, body).toArray()) as Buffer[];
      } catch (error) {
        // Not by its status: a bucket that is not there is a 404, too.
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  async remove(file: string): Promise<void> {
    const command = new DeleteObjectCommand(this.address(file));
    await this.asked((abortSignal) => this.client.send(command, { abortSignal }));
  }

  /** Bounded by a timer of its own: on Node.js 20 a time-out within AbortSignal.any is collected as garbage, and never comes. */
  private async asked<T>(act: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    const { end } = this.bounds;
    const aborted = new AbortController();
    const abort = (): void => aborted.abort();
    const timer = setTimeout(abort, this.bounds.requestMs ?? REQUEST_MS);
    end.addEventListener('abort', abort);
    if (end.aborted) abort();
    try {
      return await act(aborted.signal);
    } catch (error) {
      // That is known of the file.
      if (error instanceof TooLarge) throw error;
      const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      throw new StoreUnavailable(`the bucket ${this.bucket.name}: ${why.slice(0, MOST_REASON)}`);
    } finally {
      clearTimeout(timer);
      end.removeEventListener('abort', abort);
    }
  }

  /** The client reads whatever it is sent to its end, also with a refusal. */
  private boundAnswers(): void {
    this.client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const response = result.response as { statusCode: number; body: unknown };
        if (response.body instanceof Readable)
          response.body =
            response.statusCode === 200
              ? bounded(response.body, MOST_BYTES, new TooLarge(`it is larger than any archive (${MOST_BYTES} bytes)`))
              : bounded(response.body, MOST_BYTES_OF_REFUSAL, new Error(`a long answer ${response.statusCode}`));
        return result;
      },
      { step: 'deserialize', priority: 'low' },
    );
  }

  private address(file: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket.name, Key: `${this.bucket.prefix}${file}` };
  }
}

/** An object that is none of ours. Of a refusal, however long, nothing is known of the file. */
class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** The same, as long as it has no more bytes; whatever ends the one ends the other. */
function bounded(body: Readable, most: number, beyond: Error): Readable {
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > most) done(beyond);
      else done(null, chunk);
    },
  });
  body.once('error', (error) => counted.destroy(error));
  counted.once('close', () => body.destroy());
  return body.pipe(counted);
}
