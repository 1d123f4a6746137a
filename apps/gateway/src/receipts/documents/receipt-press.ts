import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { qrCode, type ReceiptLanguage } from '#paper';
import { Problem } from '#problems';
import { FairSlots, startThread, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { paperSize, type PaperColumns, type PaperLine, type PaperSize } from './paper.js';

/** What is to be drawn; one sheet, as long as it gets. */
export interface PrintOrder {
  /** Whose receipt it is. */
  merchantId: string;
  format: 'pdf' | 'png';
  language: ReceiptLanguage;
  title: string;
  createdAt: Date;
  columns: PaperColumns;
  lines: readonly PaperLine[];
}

/** A message to the thread: press-worker.mjs. */
interface PrintJob extends Omit<PrintOrder, 'createdAt' | 'lines' | 'merchantId'> {
  id: number;
  createdAtMs: number;
  size: PaperSize;
  lines: (PaperLine | { kind: 'qr'; link: string; side: number; path: string })[];
}

type PrintResult =
  | { id: number; kind: 'printed'; bytes: Uint8Array }
  | { id: number; kind: 'too_long' }
  | { id: number; kind: 'failed'; message: string };

/** Threads: a merchant has one at a time, so that another one's receipts never stand behind all of its own. */
const THREADS = { total: 2, perKey: 1, waitingPerKey: 7 };
const TIMEOUT_MS = 60_000;
/** The second thread is for the moment in which two merchants want something drawn. */
const IDLE_MS = 60_000;
const HEAP_MIB = 256;
const WORKER_FILE = new URL('./press-worker.mjs', import.meta.url);

/**
 * Draws receipts in threads beside the one that serves requests. One starts with the first order, and another one after a thread
 * died; an order that it cannot finish takes its thread with it, not the program.
 */
@Injectable()
export class ReceiptPress implements OnApplicationShutdown {
  private readonly slots = new FairSlots(THREADS);
  private readonly threads = new Set<PressThread>();
  private readonly idle: PressThread[] = [];
  private lastId = 0;

  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  /** @throws Problem 406 for a picture that no program could show, 503 while too many of the merchant's wait */
  async print(order: PrintOrder): Promise<Buffer> {
    const refused = (): Problem => new Problem('service_unavailable', 'Many receipts are being drawn.');
    const result = await this.slots.run(order.merchantId, () => this.draw(order), refused);
    if (result.kind === 'failed') throw new Error(`a receipt could not be drawn: ${result.message}`);
    if (result.kind === 'printed') return Buffer.from(result.bytes);
    throw new Problem('not_acceptable', 'This receipt is too long for a picture: take it as PDF, text or page.');
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.threads].map((thread) => thread.end()));
  }

  private async draw(order: PrintOrder): Promise<PrintResult> {
    this.lastId += 1;
    // Before a thread is taken: one that is taken and given nothing to do would never come back.
    const job = jobOf(this.lastId, order);
    const thread = this.idle.pop() ?? this.start();
    const result = await thread.draw(job);
    this.rest(thread);
    return result;
  }

  private start(): PressThread {
    const thread = new PressThread(this.logger, () => {
      this.threads.delete(thread);
      const at = this.idle.indexOf(thread);
      if (at >= 0) this.idle.splice(at, 1);
    });
    this.threads.add(thread);
    return thread;
  }

  private rest(thread: PressThread): void {
    this.idle.push(thread);
    if (this.idle.length === 1) return;
    const [oldest] = this.idle;
    setTimeout(() => {
      if (this.idle.length > 1 && oldest && this.idle.includes(oldest)) void oldest.end();
    }, IDLE_MS).unref();
  }
}

/** One thread, with one order at a time. */
class PressThread {
  private readonly worker: Worker;

  constructor(logger: Logger, onEnd: () => void) {
    this.worker = startThread(WORKER_FILE, { heapMib: HEAP_MIB });
    // It must keep no program alive that has nothing else to do.
    this.worker.unref();
    this.worker.on('error', (error: Error) => logger.error({ err: error }, 'a thread that draws receipts died'));
    this.worker.once('exit', onEnd);
  }

  /** @throws Problem 503 when the thread dies of it, or takes too long */
  async draw(job: PrintJob): Promise<PrintResult> {
    const timer = setTimeout(() => void this.end(), TIMEOUT_MS);
    const died = new AbortController();
    const onExit = (): void => died.abort();
    this.worker.once('exit', onExit);
    try {
      this.worker.postMessage(job);
      const [result] = (await once(this.worker, 'message', { signal: died.signal })) as [PrintResult];
      return result;
    } catch (error) {
      throw new Problem('service_unavailable', 'The receipt could not be drawn in time.', { cause: error });
    } finally {
      clearTimeout(timer);
      this.worker.off('exit', onExit);
    }
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

function jobOf(id: number, { createdAt, lines, merchantId: _whose, ...order }: PrintOrder): PrintJob {
  return {
    ...{ ...order, id, createdAtMs: createdAt.getTime(), size: paperSize(order.columns) },
    lines: lines.map((line) => (line.kind === 'qr' ? { ...line, ...qrCode(line.link) } : line)),
  };
}
