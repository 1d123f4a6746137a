import { Prisma } from '#database';
import type { NewReceipt } from './new-receipt.js';

/**
 * A part of the statement that writes a payment: its receipt, which waits for the money and has no place in a lane. Returns id,
 * merchant_id and total_tiyin, or nothing where the key or the external id is taken.
 */
export function insertUnpaid(receipt: NewReceipt<string | null>, paymentId: string): Prisma.Sql {
  const { document } = receipt;
  return Prisma.sql`
    INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status,
                          device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, payment_id, trace_parent)
    VALUES (${receipt.id}, ${receipt.merchantId}, ${receipt.clientId}, ${receipt.operation}, ${receipt.idempotencyKey},
            ${receipt.externalId}, ${receipt.bodyHash}, ${receipt.type}::receipt_type, 'awaiting_payment',
            ${receipt.deviceId}::text, ${receipt.branchId}, ${receipt.cashierId}, ${JSON.stringify(document)}::jsonb,
            ${document.totalTiyin}::bigint, ${document.vatTotalTiyin}::bigint, ${paymentId}, ${receipt.traceParent ?? null}::text)
    ON CONFLICT DO NOTHING RETURNING id, merchant_id, total_tiyin`;
}
