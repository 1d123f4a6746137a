import { Prisma } from '#database';
import { insertEvents } from '../events.js';
import type { HotStatements } from '../statements.js';
import type { NewReceipt } from './new-receipt.js';

const NOTED = insertEvents(
  Prisma.raw(`
          SELECT i.event_id, i.merchant_id, 'receipt.accepted', i.id, jsonb_build_object('receipt_id', i.id)
          FROM incoming i JOIN written w ON w.id = i.id`),
);

/**
 * Writes all rows in one statement and returns the new ones: id → created_at. Rows whose key or external id exists are
 * skipped, not reported: their callers read them afterwards (a new snapshot sees the winner). They are written in the order of
 * their keys, so that two groups that share keys meet them in the same order, and stand in their lanes in the order in which they are given:
 * the places are drawn first, as one list.
 * The receipt and its `receipt.accepted` event are one statement, hence one transaction.
 */
export async function insertReceipts(database: HotStatements, rows: readonly NewReceipt[]): Promise<Map<string, Date>> {
  // One JSON text instead of an array for each column: what Prisma does to every element costs more than the INSERT.
  const inserted = await database.queryHot<{ id: string; created_at: Date }>(Prisma.sql`
        WITH incoming AS (
          SELECT * FROM json_to_recordset(${JSON.stringify(byKey(rows))}::json) AS r(
            arrival int, id text, event_id text, merchant_id text, client_id text, operation text, idempotency_key text,
            external_id text, body_hash text, type receipt_type, device_id text, branch_id text, cashier_id text,
            document jsonb, total_tiyin bigint, vat_total_tiyin bigint, trace_parent text)
        ), written AS (
          INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type,
                                status, lane_place, device_id, branch_id, cashier_id, document, total_tiyin,
                                vat_total_tiyin, trace_parent)
          SELECT id, merchant_id, client_id, operation, idempotency_key, external_id, decode(body_hash, 'hex'), type,
                 'accepted', (ARRAY(SELECT nextval('lane_place_seq') FROM incoming))[arrival], device_id, branch_id, cashier_id, document, total_tiyin,
                 vat_total_tiyin, trace_parent
          FROM incoming
          ON CONFLICT DO NOTHING
          RETURNING id, created_at
        ), noted AS (${NOTED}
        )
        SELECT id, created_at FROM written`);
  return new Map(inserted.map((row) => [row.id, row.created_at]));
}

/** Each with its number in the order in which they are given. */
function byKey(rows: readonly NewReceipt[]): Record<string, unknown>[] {
  return rows
    .map((row, index) => ({ key: keyOf(row), record: { arrival: index + 1, ...recordOf(row) } }))
    .sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    .map(({ record }) => record);
}

function keyOf(row: NewReceipt): string {
  return `${row.clientId}\n${row.operation}\n${row.idempotencyKey ?? ''}\n${row.externalId ?? ''}\n${row.id}`;
}

/** A row as json_to_recordset names its columns. */
function recordOf(row: NewReceipt): Record<string, unknown> {
  return {
    id: row.id,
    event_id: row.eventId,
    merchant_id: row.merchantId,
    client_id: row.clientId,
    operation: row.operation,
    idempotency_key: row.idempotencyKey,
    external_id: row.externalId,
    body_hash: row.bodyHash.toString('hex'),
    type: row.type,
    device_id: row.deviceId,
    branch_id: row.branchId,
    cashier_id: row.cashierId,
    document: row.document,
    total_tiyin: row.document.totalTiyin,
    vat_total_tiyin: row.document.vatTotalTiyin,
    ...(row.traceParent && { trace_parent: row.traceParent }),
  };
}
