import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { qrCode, type ReceiptLanguage } from '#paper';
import { Problem, type Logger } from '#runtime';
import { LOGGER } from '../tokens.js';
import { paperSize, type PaperColumns, type PaperLine, type PaperSize } from './paper.js';

/** What is to be drawn; one sheet, as long as it gets. */
export interface PrintOrder {
  format: 'pdf' | 'png';
  language: ReceiptLanguage;
  title: string;
  createdAt: Date;
  columns: PaperColumns;
  lines: readonly PaperLine[];
}

/** A message to the thread: press-worker.mjs. */
interface PrintJob extends Omit<PrintOrder, 'createdAt' | 'lines'> {
  id: number;
  createdAtMs: number;
  size: PaperSize;
  lines: (PaperLine | { kind: 'qr'; link: string; side: number; path: string })[];
}

type PrintResult =
  | { id: number; kind: 'printed'; bytes: Uint8Array }
  | { id: number; kind: 'too_long' }
  | { id: number; kind: 'failed'; message: string };

interface Waiting {
  resolve: (result: PrintResult) => void;
  reject: (error: Error) => void;
}

/** Orders in the thread at once; it works on one. Whoever comes when so many wait is asked to come again. */
const MAX_WAITING = 8;
const TIMEOUT_MS = 60_000;
const WORKER_FILE = new URL('./press-worker.mjs', import.meta.url);

/**
 * Draws receipts in one thread beside the one that serves requests. It starts with the first order and starts anew after
 * it died; an order that it cannot finish takes the thread with it, not the program.
 */
@Injectable()
export class ReceiptPress implements OnApplicationShutdown {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;

  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  /** @throws Problem 406 for a picture that no program could show, 503 while too many wait */
  async print(order: PrintOrder): Promise<Buffer> {
    if (this.waiting.size >= MAX_WAITING) throw new Problem('service_unavailable', 'Many receipts are being drawn.');
    const result = await this.ask(order);
    if (result.kind === 'failed') throw new Error(`a receipt could not be drawn: ${result.message}`);
    if (result.kind === 'printed') return Buffer.from(result.bytes);
    throw new Problem('not_acceptable', 'This receipt is too long for a picture: take it as PDF, text or page.');
  }

  async onApplicationShutdown(): Promise<void> {
    await this.worker?.terminate();
  }

  private async ask(order: PrintOrder): Promise<PrintResult> {
    const worker = (this.worker ??= this.start());
    this.lastId += 1;
    const id = this.lastId;
    const timer = setTimeout(() => void worker.terminate(), TIMEOUT_MS);
    try {
      return await new Promise<PrintResult>((resolve, reject) => {
        this.waiting.set(id, { resolve, reject });
        worker.postMessage(jobOf(id, order));
      });
    } finally {
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  private start(): Worker {
    // It needs none of our secrets.
    const worker = new Worker(WORKER_FILE, { resourceLimits: { maxOldGenerationSizeMb: 256 }, env: {}, execArgv: [] });
    // It must keep no program alive that has nothing else to do.
    worker.unref();
    worker.on('message', (result: PrintResult) => this.waiting.get(result.id)?.resolve(result));
    worker.on('error', (error: Error) => this.logger.error({ err: error }, 'the thread that draws receipts died'));
    worker.once('exit', () => this.forget(worker));
    return worker;
  }

  /** Whoever waits for it will never hear of it. */
  private forget(worker: Worker): void {
    if (this.worker === worker) this.worker = null;
    for (const { reject } of this.waiting.values()) {
      reject(new Problem('service_unavailable', 'The receipt could not be drawn in time.'));
    }
  }
}

function jobOf(id: number, { createdAt, lines, ...order }: PrintOrder): PrintJob {
  return {
    ...{ ...order, id, createdAtMs: createdAt.getTime(), size: paperSize(order.columns) },
    lines: lines.map((line) => (line.kind === 'qr' ? { ...line, ...qrCode(line.link) } : line)),
  };
}
