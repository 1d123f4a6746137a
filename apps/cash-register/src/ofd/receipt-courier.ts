import type { Logger } from '#runtime';
import { type FiscalModule, OFD_BATCH } from '#fiscal-module';
import type { Journal } from '../journal/journal.js';
import { OFD_FAILED, toDelivery, type Delivery } from './delivery.js';
import type { OfdAnswer, OfdClient } from './ofd-client.js';
import { Resend, type ResendOutcome } from './resend.js';

/** Of a resend's call with more than one document: what also a slow line takes to the OFD in its time. */
const MAX_CALL_BYTES = 256 * 1024;

/** A document as it goes out. */
interface Entry {
  readonly seq: number;
  readonly text: string;
}

interface Waiting {
  readonly seq: number;
  readonly deadlineMs: number;
  readonly settle: (delivery: Delivery) => void;
}

export interface CourierParts {
  readonly module: FiscalModule;
  readonly journal: Journal;
  readonly ofd: Pick<OfdClient, 'send'>;
  readonly saleBudgetMs: number;
  readonly logger: Logger;
}

/**
 * Takes registered documents to the OFD, one call at a time, in order. What is registered while a call is under way
 * goes together with the next call, so a slow OFD costs a busy register one round trip per batch, not per receipt.
 */
export class ReceiptCourier {
  private readonly waiting: Waiting[] = [];
  private working = false;
  private readonly inFlight = new Set<number>();
  private resending: Promise<ResendOutcome> | null = null;
  private readonly unsent = new Resend(async (seqs, budgetMs) => {
    const entries = this.entries(seqs);
    return { tried: entries.length, answer: await this.send(entries, budgetMs) };
  });

  constructor(private readonly parts: CourierParts) {}

  /** Ends within the sale budget: sent, or left in the module for a resend. */
  deliver(seq: number): Promise<Delivery> {
    return new Promise((resolve) => {
      const { saleBudgetMs } = this.parts;
      const timer = setTimeout(() => resolve({ kind: 'unsent', error: OFD_FAILED }), saleBudgetMs);
      const settle = (delivery: Delivery): void => {
        clearTimeout(timer);
        resolve(delivery);
      };
      this.inFlight.add(seq);
      this.waiting.push({ seq, deadlineMs: performance.now() + saleBudgetMs, settle });
      if (!this.working) void this.work();
    });
  }

  /** Sends everything unsent, oldest first, at most 32 per call; a second call joins the one under way. */
  resend(): Promise<ResendOutcome> {
    // A document that a sale is delivering right now is that sale's business.
    const seqs = (): number[] => this.parts.module.unsentReceipts().filter((seq) => !this.inFlight.has(seq));
    this.resending ??= this.unsent.all(seqs()).finally(() => {
      this.resending = null;
    });
    return this.resending;
  }

  private async work(): Promise<void> {
    this.working = true;
    try {
      while (this.waiting.length > 0) await this.deliverBatch(this.waiting.splice(0, OFD_BATCH));
    } catch (error) {
      // The documents are registered and stay unsent: a resend is due, the sales are not failed.
      this.parts.logger.error({ err: error }, 'delivery to the OFD failed inside the register');
    } finally {
      this.working = false;
    }
    if (this.waiting.length > 0) void this.work();
  }

  private async deliverBatch(batch: readonly Waiting[]): Promise<void> {
    const nowMs = performance.now();
    // A caller whose budget is over has been answered; its document stays for a resend.
    const due = batch.filter((one) => one.deadlineMs > nowMs);
    const lastDeadlineMs = Math.max(...due.map((one) => one.deadlineMs), 0);
    try {
      const answer = await this.send(
        due.map((one) => this.entry(one.seq)),
        lastDeadlineMs - nowMs,
      );
      for (const one of due) one.settle(toDelivery(answer, one.seq));
    } finally {
      for (const one of batch) {
        this.inFlight.delete(one.seq);
        one.settle({ kind: 'unsent', error: OFD_FAILED });
      }
    }
  }

  /** The first of these, as many as go in one call; one always does. */
  private entries(seqs: readonly number[]): Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    for (const seq of seqs) {
      const entry = this.entry(seq);
      bytes += Buffer.byteLength(entry.text);
      if (entries.length > 0 && bytes > MAX_CALL_BYTES) break;
      entries.push(entry);
    }
    return entries;
  }

  private entry(seq: number): Entry {
    const entry = this.parts.journal.findBySeq(seq);
    if (!entry) throw new Error(`Document ${String(seq)} is unsent but not in the journal`);
    return { seq, text: signedEntry(entry.payload, entry.digest, entry.sign) };
  }

  /** What was acknowledged has left the module when this returns. */
  private async send(entries: readonly Entry[], budgetMs: number): Promise<OfdAnswer> {
    if (entries.length === 0) return { kind: 'answered', results: new Map() };
    const { module, ofd } = this.parts;
    const head = `{"terminal_id":${JSON.stringify(module.info().terminalId)},"documents":[`;
    const answer = await ofd.send('/documents', `${head}${entries.map(({ text }) => text).join(',')}]}`, budgetMs);
    if (answer.kind === 'failed') return answer;
    // Crash before this: the document stays unsent and is sent again, which the OFD takes by terminal and sequence.
    const accepted = entries.filter(({ seq }) => answer.results.get(seq)?.status === 'accepted');
    module.acknowledgeReceipts(accepted.map(({ seq }) => seq));
    return answer;
  }
}

/** The stored payload goes out byte by byte as the digest saw it. */
function signedEntry(payload: string, digest: string, sign: string | null): string {
  return `${payload.slice(0, -1)},"digest":"${digest}","fiscal_sign":${JSON.stringify(sign)}}`;
}
