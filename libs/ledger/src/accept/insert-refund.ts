import { Prisma, type StoredReceiptDocument } from '#database';
import { insertEvents, newReceiptEventId } from '../events.js';
import type { Statements } from '../statements.js';
import type { StoredIdentity } from './new-receipt.js';

/** A refund ready to be written; its lane place is the database's. */
export interface NewRefund extends StoredIdentity {
  saleId: string;
  /** Null: the payment provider that registered the sale registers it. */
  deviceId: string | null;
  document: StoredReceiptDocument;
  /** Of the request, where it is sampled. */
  traceParent?: string | null;
}

const IN_ITS_LANE = Prisma.raw(`nextval('lane_place_seq')`);
const IN_NO_LANE = Prisma.raw('NULL');

/**
 * The refund in its lane (or waiting for its provider), and its event, with branch and cashier of the sale. Null: its id, key or
 * external id is taken. @returns when it was created
 */
export async function insertRefund(tx: Statements, refund: NewRefund): Promise<Date | null> {
  const { document, deviceId } = refund;
  const noted = insertEvents(Prisma.sql`
    SELECT ${newReceiptEventId(refund.id)}, merchant_id, 'refund.accepted', id,
           jsonb_build_object('receipt_id', id, 'refund_of', refund_of)
      FROM written`);
  const [written] = await tx.$queryRaw<{ created_at: Date }[]>`
    WITH written AS (
      INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status,
                            lane_place, device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin,
                            refund_of, trace_parent)
      SELECT ${refund.id}::text, s.merchant_id, ${refund.clientId}::text, ${refund.operation}::text,
             ${refund.idempotencyKey}::text, ${refund.externalId}::text, ${refund.bodyHash}::bytea,
             'refund'::receipt_type, ${deviceId === null ? 'awaiting_payment' : 'accepted'}::receipt_status,
             ${deviceId === null ? IN_NO_LANE : IN_ITS_LANE}, ${deviceId}::text, s.branch_id, s.cashier_id,
             ${JSON.stringify(document)}::jsonb, ${document.totalTiyin}::bigint, ${document.vatTotalTiyin}::bigint, s.id,
             ${refund.traceParent ?? null}::text
        FROM receipts s WHERE s.id = ${refund.saleId} AND s.merchant_id = ${refund.merchantId}
      ON CONFLICT DO NOTHING
      RETURNING id, merchant_id, refund_of, created_at
    ), noted AS (${noted})
    SELECT created_at FROM written`;
  return written?.created_at ?? null;
}
