import type { Statements } from '../statements.js';
import type { StoredIdentity } from './new-receipt.js';

interface IdentityRow {
  id: string;
  merchant_id: string;
  client_id: string;
  operation: string;
  idempotency_key: string | null;
  external_id: string | null;
  body_hash: Uint8Array;
}

/**
 * The receipts that hold one of these keys, external ids or ids, also those that have left for an archive; at most three per wanted row.
 */
export async function findIdentities(
  database: Pick<Statements, '$queryRaw'>,
  wanted: readonly StoredIdentity[],
): Promise<StoredIdentity[]> {
  const column = <T>(pick: (row: StoredIdentity) => T): T[] => wanted.map(pick);
  const rows = await database.$queryRaw<IdentityRow[]>`
      WITH wanted AS (
        SELECT * FROM unnest(
          ${column((r) => r.id)}::text[], ${column((r) => r.merchantId)}::text[], ${column((r) => r.clientId)}::text[],
          ${column((r) => r.operation)}::text[], ${column((r) => r.idempotencyKey)}::text[],
          ${column((r) => r.externalId)}::text[]
        ) AS w(id, merchant_id, client_id, operation, idempotency_key, external_id)
      ), held AS MATERIALIZED (
        SELECT k.receipt_id AS id FROM wanted w JOIN idempotency_claims k
            ON k.client_id = w.client_id AND k.operation = w.operation AND k.idempotency_key = w.idempotency_key
        UNION
        SELECT e.receipt_id FROM wanted w JOIN external_id_claims e
            ON e.merchant_id = w.merchant_id AND e.external_id = w.external_id
        UNION
        SELECT w.id FROM wanted w
      )
      SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash
        FROM held JOIN receipts r ON r.id = held.id
      UNION ALL
      SELECT k.id, k.merchant_id, k.client_id, k.operation, k.idempotency_key, k.external_id, k.body_hash
        FROM held JOIN archived_receipts k ON k.id = held.id WHERE NOT EXISTS (SELECT FROM receipts r WHERE r.id = k.id)`;
  return rows.map((row) => ({
    id: row.id,
    merchantId: row.merchant_id,
    clientId: row.client_id,
    operation: row.operation,
    idempotencyKey: row.idempotency_key,
    externalId: row.external_id,
    bodyHash: Buffer.from(row.body_hash),
  }));
}
