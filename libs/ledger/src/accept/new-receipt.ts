import type { StoredReceiptDocument } from '#database';
import type { ReceiptType } from '#fiscal-domain';

/** A receipt ready to be written: everything decided but its lane place, which the database draws. */
export interface NewReceipt<Device extends string | null = string> {
  /** Made before the first try, so that every retry of the write speaks of the same row. */
  id: string;
  eventId: string;
  merchantId: string;
  clientId: string;
  operation: string;
  idempotencyKey: string | null;
  externalId: string | null;
  bodyHash: Buffer;
  type: ReceiptType;
  /** Null: a payment provider registers it. */
  deviceId: Device;
  branchId: string;
  cashierId: string;
  document: StoredReceiptDocument;
  /** Of the request, where it is sampled. */
  traceParent?: string | null;
}

/** What decides whether a request replays a stored receipt: the columns of its unique indexes and the body. */
export interface StoredIdentity {
  id: string;
  merchantId: string;
  clientId: string;
  operation: string;
  idempotencyKey: string | null;
  externalId: string | null;
  bodyHash: Buffer;
}
