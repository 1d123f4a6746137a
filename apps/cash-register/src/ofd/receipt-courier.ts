import { truncateText } from '#fiscal-domain';
import type { Logger } from '#runtime';
import { type FiscalModule, OFD_BATCH } from '#fiscal-module';
import type { Journal } from '../journal/journal.js';
import type { OfdAnswer, OfdClient, OfdResult } from './ofd-client.js';

export type Delivery = { readonly kind: 'sent' } | { readonly kind: 'unsent'; readonly error: string };

export interface ResendOutcome {
  readonly total: number;
  readonly sent: number;
  readonly errors: readonly { readonly seq: number; readonly code: 'T-001' | 'T-003'; readonly message: string }[];
}

/** What every OFD server failing reads like; the code is that of the local API. */
export const OFD_FAILED = 'all OFD servers failed (T-001)';
/** A resend has no customer waiting at the till: each call may take longer than a sale's budget. */
const RESEND_CALL_MS = 5_000;
/** Of one document alone, where more of them had no answer: with the call before and the next one, less than a gateway waits for a resend. */
const ALONE_CALL_MS = 2_000;
/** Documents in a row that have no answer even alone: then it is the line or the OFD. */
const MOST_UNANSWERED = 2;
/** Of a resend's call with more than one document: what also a slow line takes to the OFD in that time. */
const MAX_CALL_BYTES = 256 * 1024;
/** Documents in a row that the OFD takes not even alone: then it is the OFD that is at fault, and the others are not tried. */
const MOST_FAILURES = 3;
const MAX_REASON_LENGTH = 200;
const MAX_CODE_LENGTH = 40;

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
  /** The last resend had no answer at all: the next one asks with one document, so that an outage costs each of them little. */
  private isSilent = false;

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
    this.resending ??= this.resendAll().finally(() => {
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
      for (const one of due) one.settle(toDelivery(resultOf(answer, one.seq)));
    } finally {
      for (const one of batch) {
        this.inFlight.delete(one.seq);
        one.settle({ kind: 'unsent', error: OFD_FAILED });
      }
    }
  }

  /**
   * An OFD that answers, but not what it should, may do so because of one document, or of their number: then fewer go at a time. So may one
   * that does not answer at all, or a line that is too slow for so many: then one goes alone, and more with each that arrives. Otherwise the
   * same first documents would hold up all others, until the fuse stops the register.
   */
  private async resendAll(): Promise<ResendOutcome> {
    // A document that a sale is delivering right now is that sale's business.
    const seqs = this.parts.module.unsentReceipts().filter((seq) => !this.inFlight.has(seq));
    const errors: ResendOutcome['errors'][number][] = [];
    let [start, failures, unanswered, largest] = [0, 0, 0, OFD_BATCH];
    let [most, callMs] = this.isSilent ? [1, ALONE_CALL_MS] : [OFD_BATCH, RESEND_CALL_MS];
    while (start < seqs.length && failures < MOST_FAILURES && unanswered < MOST_UNANSWERED) {
      const batch = this.entries(seqs.slice(start, start + most));
      const answer = await this.send(batch, callMs);
      if (answer.kind === 'failed' && batch.length > 1) {
        const half = Math.ceil(batch.length / 2);
        // So many are not tried again: each such try costs the whole time of a call.
        if (!answer.isThere) largest = half;
        [most, callMs] = answer.isThere ? [half, RESEND_CALL_MS] : [1, ALONE_CALL_MS];
        continue;
      }
      errors.push(...batch.flatMap(({ seq }) => failureOf(seq, resultOf(answer, seq))));
      start += batch.length;
      if (answer.kind === 'answered') {
        [failures, unanswered, most, callMs] = [0, 0, Math.min(2 * most, largest), RESEND_CALL_MS];
      } else if (answer.isThere) failures += 1;
      else [unanswered, callMs] = [unanswered + 1, ALONE_CALL_MS];
    }
    this.isSilent = unanswered === MOST_UNANSWERED;
    errors.push(...seqs.slice(start).flatMap((seq) => failureOf(seq, undefined)));
    return { total: seqs.length, sent: seqs.length - errors.length, errors };
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

function resultOf(answer: OfdAnswer, seq: number): OfdResult | undefined {
  return answer.kind === 'answered' ? answer.results.get(seq) : undefined;
}

function failureOf(seq: number, result: OfdResult | undefined): ResendOutcome['errors'] {
  if (result?.status === 'accepted') return [];
  return result
    ? [{ seq, code: 'T-003', message: rejectionText(result) }]
    : [{ seq, code: 'T-001', message: 'all OFD servers failed' }];
}

function toDelivery(result: OfdResult | undefined): Delivery {
  if (result?.status === 'accepted') return { kind: 'sent' };
  return { kind: 'unsent', error: result ? `${rejectionText(result)} (T-003)` : OFD_FAILED };
}

/** With the beginning of the OFD's words: a resend answers them once per document, and no caller reads more than MAX_LOCAL_ANSWER_BYTES. */
export function rejectionText({ code, message }: OfdResult): string {
  const reason = truncateText(message ?? 'no reason given', MAX_REASON_LENGTH);
  return `the OFD rejected the document: ${reason}${code === undefined ? '' : ` [${truncateText(code, MAX_CODE_LENGTH)}]`}`;
}
