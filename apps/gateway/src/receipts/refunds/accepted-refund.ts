import type { Prisma, StoredReceiptDocument } from '#database';

/** A refund that is being accepted: its row is written, its transaction not yet committed. */
export interface AcceptedRefund {
  id: string;
  merchantId: string;
  /** The sale that it refunds. */
  saleId: string;
  /** The payment by which the gateway itself collected the sale's money; null: the caller had taken it. */
  salePaymentId: string | null;
  /** Total and its split in cash and card: `document.totalTiyin`, `document.payment`. */
  document: StoredReceiptDocument;
}

/**
 * What must happen with a refund or not at all: paying the money back. Called in the refund's transaction, after its row and its
 * event, while the sale's row is locked. What it throws rolls the refund back and is the caller's answer. Nothing in it may
 * talk to the network: it leaves a row behind, which is acted on after the commit. Not called for the refund of a surplus
 * registration: that moves no money.
 */
export type PayBack = (tx: Prisma.TransactionClient, refund: AcceptedRefund) => Promise<void>;
