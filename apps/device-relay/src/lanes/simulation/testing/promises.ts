import type { Trace } from './chance.js';
import type { AttemptRow, ReceiptRow } from './ledger-rows.js';

/** One document in a fiscal module, whatever program sold it. */
export interface JournalEntry {
  /** Null: not sold by the gateway. */
  receiptId: string | null;
  deviceId: string;
  terminalId: string;
  seq: number;
}

/** Thrown out of the world's loop as soon as one of the product's promises is broken. */
export class BrokenPromise extends Error {}

/**
 * The judge: knows what really stands in every fiscal module, which no relay can know, and compares it with every move
 * in the ledger at the moment at which it is made.
 */
export class Promises {
  readonly broken: string[] = [];
  doubled = 0;
  lost = 0;
  /** What really is in the modules, by receipt. */
  private readonly journal = new Map<string, JournalEntry>();
  private readonly lastPlace = new Map<string, { place: number; receiptId: string }>();

  constructor(
    private readonly clock: { readonly nowMs: number },
    private readonly trace: Trace,
  ) {}

  entryOf(receiptId: string): JournalEntry | undefined {
    return this.journal.get(receiptId);
  }

  /** A document of ours was written into a fiscal module just now. */
  appended(
    entry: JournalEntry & { receiptId: string },
    receipt: ReceiptRow,
    sent: { attemptId: string; keyed: boolean },
  ): void {
    const before = this.journal.get(entry.receiptId);
    if (before) {
      this.doubled += 1;
      this.breaks(
        `${entry.receiptId} is in the journal twice: ${before.terminalId}/${before.seq} and ${entry.terminalId}/${entry.seq}`,
        receipt,
      );
    }
    this.journal.set(entry.receiptId, entry);
    const isAwaited =
      receipt.status === 'unknown' || (receipt.status === 'sending' && receipt.openAttemptId === sent.attemptId);
    // Under the same key a late request and its repetition are one document.
    const isSameByKey = sent.keyed && (receipt.status === 'sending' || receipt.status === 'accepted');
    if (!isAwaited && !isSameByKey) {
      this.breaks(`${entry.receiptId} was registered by ${sent.attemptId} while it is ${receipt.status}`, receipt);
    }
    this.checkOrder(receipt);
  }

  private checkOrder(receipt: ReceiptRow): void {
    // A receipt without proof, or that an operator sent again, has left the order of its lane.
    if (receipt.status === 'unknown' || receipt.sentAgainByOperator) return;
    const last = this.lastPlace.get(receipt.deviceId);
    if (last && last.place > receipt.place)
      this.breaks(`${receipt.id} was registered after ${last.receiptId}, which stands behind it`, receipt);
    this.lastPlace.set(receipt.deviceId, { place: receipt.place, receiptId: receipt.id });
  }

  /** The ledger calls it registered. */
  registered(receipt: ReceiptRow, named: { terminalId: string; seq: number }): void {
    const entry = this.journal.get(receipt.id);
    if (entry?.terminalId === named.terminalId && entry.seq === named.seq) return;
    this.lost += 1;
    const really = entry ? `${entry.terminalId}/${entry.seq}` : 'nowhere';
    this.breaks(`${receipt.id} is called registered as ${named.terminalId}/${named.seq}, but it is ${really}`, receipt);
  }

  /** The ledger calls it not registered: it will be sent again. */
  calledBack(receipt: ReceiptRow, keyed: boolean): void {
    // Under its key a repetition finds the registration again.
    if (!keyed && this.journal.has(receipt.id))
      this.breaks(`${receipt.id} is called back, but it is in the journal`, receipt);
  }

  /** The ledger gives it up for good: rejected or cancelled. */
  givenUp(receipt: ReceiptRow): void {
    if (!this.journal.has(receipt.id)) return;
    this.lost += 1;
    this.breaks(`${receipt.id} is ${receipt.status}, but it is in the journal`, receipt);
  }

  /** An unknown receipt must carry its facts: what was known before, and why it is not enough. */
  unknown(receipt: ReceiptRow, attempt: AttemptRow): void {
    const { outcome } = attempt;
    const reasons = ['difference', 'why', 'reason']
      .map((key) => outcome?.[key])
      .filter((reason) => typeof reason === 'string' && reason !== '');
    if (!outcome?.['baseline'] || reasons.length === 0)
      this.breaks(`${receipt.id} is unknown without evidence`, receipt);
  }

  breaks(what: string, receipt?: ReceiptRow): void {
    this.broken.push(`at ${(this.clock.nowMs / 1_000).toFixed(3)} s: ${what}`);
    if (this.broken.length > 1) return;
    const names = receipt ? [receipt.id, receipt.deviceId, 'rly'] : [];
    this.broken.push(...this.trace.tail(names).slice(-120));
  }
}
