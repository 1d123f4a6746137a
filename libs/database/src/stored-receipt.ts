import type { ReceiptDocument } from '#fiscal-domain';

/**
 * What `receipts.document` holds: the fiscal document as it was accepted, and what the caller wanted kept beside it.
 * Written once with the row and never changed (docs/adr/0005-lines-as-jsonb.md).
 */
export interface StoredReceiptDocument extends ReceiptDocument {
  metadata: Record<string, string> | null;
  callbackUrl: string | null;
}
