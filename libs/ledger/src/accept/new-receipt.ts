import type { StoredReceiptDocument } from '#database';
import type { ReceiptType } from '#fiscal-domain';

/** What decides whether a request replays a stored receipt: the columns of its unique indexes and the body. */
export interface StoredIdentity {
  /** Made before the first try, so that every retry of the write speaks of the same row. */
  id: string;
  merchantId: string;
  clientId: string;
  operation: string;
  idempotencyKey: string | null;
  externalId: string | null;
  bodyHash: Buffer;
}

/** A receipt ready to be written: everything decided but its lane place, which the database draws. */
export interface NewReceipt<Device extends string | null = string> extends StoredIdentity {
  eventId: string;
  type: ReceiptType;
  /** Null: a payment provider registers it. */
  deviceId: Device;
  branchId: string;
  cashierId: string;
  document: StoredReceiptDocument;
  /** Of the request, where it is sampled. */
  traceParent?: string | null;
}
