import type { FiscalField, ReceiptDocument } from '#fiscal-domain';

/**
 * What `receipts.document` holds: the fiscal document as it was accepted, and what the caller wanted kept beside it.
 * Written once with the row and never changed (docs/adr/0005-lines-as-jsonb.md).
 */
export interface StoredReceiptDocument extends ReceiptDocument {
  metadata: Record<string, string> | null;
  callbackUrl: string | null;
  /** Over which channels its buyer gets it once it is registered; absent: over none. Of a refund: as of its sale. */
  notify?: StoredNotify;
  /**
   * Without a register that takes these it must not be registered. Absent: it may go without any of them, because its merchant
   * omits what a register does not take, or because it was accepted before this was asked.
   */
  requiredFields?: readonly FiscalField[];
  /** Of a refund: what the document of its sale does not hold. It is not sent, whatever the register takes. */
  withheldFields?: readonly FiscalField[];
}

export interface StoredNotify {
  channels: readonly ('email' | 'sms' | 'telegram')[];
  language: 'uz' | 'ru' | 'en';
}
