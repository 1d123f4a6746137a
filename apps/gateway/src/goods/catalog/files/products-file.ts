import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Worker } from 'node:worker_threads';
import { startThread } from '#runtime';
import { UnreadableFile } from '../../sheets/sheet-row.js';
import type { FileFormat } from './product-table.js';
import type { FileProduct } from './read-products.js';

export interface ReadingJob {
  path: string;
  format: FileFormat;
  /** For what is too large to be kept in memory meanwhile. */
  scratch: string;
  /** The rows as they stand there, the first one among them: what they mean is the caller's business (a provider's register). */
  isPlain?: boolean;
}

/** What the thread says; each is answered with the wish for the next one. */
export type ReadingMessage =
  | { kind: 'columns'; columns: string[] }
  | { kind: 'rows'; rows: FileProduct[]; share: number | null }
  | { kind: 'end' }
  | { kind: 'unreadable'; reason: string };

/** Its shared texts are in a file, and nothing else of a file grows with it. */
const HEAP_MIB = 24;
/** Between two batches: nothing that a person sent takes so long to read. */
const SILENCE_MS = 60_000;
/**
 * For the reading of a whole file, the time that its rows are worked on left out: twenty times what a sheet of products takes. A
 * megabyte can be made that unpacks to hundreds, each of them slow to read.
 */
const READING = { ms: SILENCE_MS, msPerMib: 10_000 };
const THREAD_FILE = new URL('./reading-thread.mjs', import.meta.url);

/** A file of products, read in a thread of its own batch by batch: memory holds one. Close it, whatever happens. */
export class ProductsFile {
  /** How much of it was read, from 0 to 1; null while that is not known without reading it twice. */
  share: number | null = null;

  private constructor(
    private readonly thread: ReadingThread,
    /** Names of the columns; none in JSON lines. */
    readonly columns: readonly string[],
  ) {}

  /** @throws UnreadableFile */
  static async open(job: ReadingJob, reading = READING): Promise<ProductsFile> {
    const { size } = await stat(job.path);
    const thread = new ReadingThread(job, reading.ms + (size / 1024 ** 2) * reading.msPerMib);
    try {
      const first = await thread.next();
      if (first.kind === 'columns') return new ProductsFile(thread, first.columns);
      throw new Error(`the reading thread began with ${first.kind}`);
    } catch (error) {
      await thread.end();
      throw error;
    }
  }

  /** @throws UnreadableFile when it cannot be read on */
  async *batches(): AsyncGenerator<FileProduct[], void, undefined> {
    for (;;) {
      this.thread.ask();
      const message = await this.thread.next();
      if (message.kind !== 'rows') return;
      this.share = message.share;
      yield message.rows;
    }
  }

  close(): Promise<void> {
    return this.thread.end();
  }
}

class ReadingThread {
  private readonly worker: Worker;
  /** Why it died, also while no caller waits for it. */
  private failure: Error | null = null;

  /** @param readingMs how long it may be waited for altogether */
  constructor(
    job: ReadingJob,
    private readingMs: number,
  ) {
    this.worker = startThread(THREAD_FILE, { heapMib: HEAP_MIB, data: job });
    this.worker.on('error', (error: Error) => (this.failure = error));
  }

  ask(): void {
    this.worker.postMessage('next');
  }

  /** What it says next. Its running out of memory, its silence and what it cannot read are the file's fault. @throws UnreadableFile */
  async next(): Promise<Exclude<ReadingMessage, { kind: 'unreadable' }>> {
    if (this.failure) throw readable(this.failure);
    const patience = AbortSignal.timeout(Math.max(0, Math.min(SILENCE_MS, Math.ceil(this.readingMs))));
    const asked = performance.now();
    try {
      const [message] = (await once(this.worker, 'message', { signal: patience })) as [ReadingMessage];
      if (message.kind === 'unreadable') throw new UnreadableFile(message.reason);
      return message;
    } catch (error) {
      if (patience.aborted) throw new UnreadableFile('The file takes too long to read.', { cause: error });
      throw readable(error);
    } finally {
      this.readingMs -= performance.now() - asked;
    }
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

function readable(error: unknown): unknown {
  const isOutOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (!isOutOfMemory) return error;
  return new UnreadableFile(`The file needs more than ${HEAP_MIB} MiB of memory to be read.`, { cause: error });
}
