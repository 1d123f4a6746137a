import { Injectable } from '@nestjs/common';
import { LEDGER_REFUND, Prisma, SalesDatabase, type StoredReceiptDocument } from '#database';
import type { FiscalField, ReceiptStatus, ReceiptType } from '#fiscal-domain';

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

/** `receipts` as the API reads it. */
export interface ReceiptRow {
  id: string;
  status: ReceiptStatus;
  type: ReceiptType;
  external_id: string | null;
  device_id: string | null;
  branch_id: string | null;
  cashier_id: string | null;
  document: StoredReceiptDocument;
  refund_of: string | null;
  payment_id: string | null;
  created_at: Date;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  verification_url: string | null;
  registered_at: Date | null;
  evidence: 'answer' | 'journal' | 'counters' | 'operator' | null;
  recorded_fields: FiscalField[] | null;
  shift_number: number | null;
  ofd_status: 'pending' | 'sent' | null;
  ofd_deadline_at: Date | null;
  ofd_sent_at: Date | null;
  ofd_error: string | null;
  rejection: { code: string; rule: string | null; detail: string; line: number | null } | null;
  /** Sum of what refunds hold of it, also those that are still on their way. */
  refunded_tiyin: bigint;
}

/** What a {@link ReceiptRow} is read from; the table goes by its own name. */
export const RECEIPT_COLUMNS = Prisma.sql`
  receipts.id, receipts.status, receipts.type, external_id, device_id, branch_id, cashier_id, document, refund_of,
  payment_id, created_at, terminal_id, receipt_seq, fiscal_sign, verification_url, registered_at, evidence, recorded_fields,
  shift_number, ofd_status,
  ofd_deadline_at, ofd_sent_at, ofd_error, rejection,
  (SELECT coalesce(sum(f.total_tiyin), 0)::bigint FROM receipts f
    WHERE f.refund_of = receipts.id AND ${LEDGER_REFUND}) AS refunded_tiyin`;

interface IdentityRow {
  id: string;
  merchant_id: string;
  client_id: string;
  operation: string;
  idempotency_key: string | null;
  external_id: string | null;
  body_hash: Uint8Array;
}

@Injectable()
export class ReceiptRepository {
  constructor(private readonly prisma: SalesDatabase) {}

  /**
   * Writes all rows in one statement and returns the new ones: id → created_at. Rows whose key or external id exists are
   * skipped, not reported: their callers read them afterwards (a new snapshot sees the winner). The rows come sorted
   * by key, so that two groups that share keys meet them in the same order.
   * The receipt and its `receipt.accepted` event are one statement, hence one transaction.
   */
  async insertGroup(rows: readonly NewReceipt[]): Promise<Map<string, Date>> {
    // One JSON text instead of an array for each column: what Prisma does to every element costs more than the INSERT.
    const inserted = await this.prisma.queryHot<{ id: string; created_at: Date }>(Prisma.sql`
        WITH incoming AS (
          SELECT * FROM json_to_recordset(${JSON.stringify(rows.map(recordOf))}::json) AS r(
            id text, event_id text, merchant_id text, client_id text, operation text, idempotency_key text,
            external_id text, body_hash text, type receipt_type, device_id text, branch_id text, cashier_id text,
            document jsonb, total_tiyin bigint, vat_total_tiyin bigint)
        ), written AS (
          INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type,
                                status, lane_place, device_id, branch_id, cashier_id, document, total_tiyin,
                                vat_total_tiyin)
          SELECT id, merchant_id, client_id, operation, idempotency_key, external_id, decode(body_hash, 'hex'), type,
                 'accepted', nextval('lane_place_seq'), device_id, branch_id, cashier_id, document, total_tiyin,
                 vat_total_tiyin
          FROM incoming
          ON CONFLICT DO NOTHING
          RETURNING id, created_at
        ), told AS (
          INSERT INTO events (id, merchant_id, type, subject_id, data)
          SELECT i.event_id, i.merchant_id, 'receipt.accepted', i.id, jsonb_build_object('receipt_id', i.id)
          FROM incoming i JOIN written w ON w.id = i.id
        )
        SELECT id, created_at FROM written`);
    return new Map(inserted.map((row) => [row.id, row.created_at]));
  }

  /** The stored receipts that hold one of these keys, external ids or ids; at most three per wanted row. */
  async findIdentities(wanted: readonly StoredIdentity[]): Promise<StoredIdentity[]> {
    const column = <T>(pick: (row: StoredIdentity) => T): T[] => wanted.map(pick);
    const rows = await this.prisma.$queryRaw<IdentityRow[]>`
      WITH wanted AS (
        SELECT * FROM unnest(
          ${column((r) => r.id)}::text[], ${column((r) => r.merchantId)}::text[], ${column((r) => r.clientId)}::text[],
          ${column((r) => r.operation)}::text[], ${column((r) => r.idempotencyKey)}::text[],
          ${column((r) => r.externalId)}::text[]
        ) AS w(id, merchant_id, client_id, operation, idempotency_key, external_id)
      )
      SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash
      FROM wanted w JOIN receipts r
        ON r.client_id = w.client_id AND r.operation = w.operation AND r.idempotency_key = w.idempotency_key
      UNION
      SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash
      FROM wanted w JOIN receipts r ON r.merchant_id = w.merchant_id AND r.external_id = w.external_id
      UNION
      SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash
      FROM wanted w JOIN receipts r ON r.id = w.id`;
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

  /** A merchant's receipt; somebody else's is as absent as a missing one. */
  async find(merchantId: string, id: string): Promise<ReceiptRow | null> {
    const rows = await this.prisma.queryHot<ReceiptRow>(Prisma.sql`
      SELECT ${RECEIPT_COLUMNS}
      FROM receipts WHERE id = ${id} AND merchant_id = ${merchantId}`);
    return rows[0] ?? null;
  }

  /** Receipt `id` if this very request made it: the same key, external id and body; null says nothing about other receipts. */
  async findMadeBy(request: StoredIdentity, id: string): Promise<ReceiptRow | null> {
    const { merchantId, clientId, operation, idempotencyKey, externalId, bodyHash } = request;
    const rows = await this.prisma.queryHot<ReceiptRow>(Prisma.sql`
      SELECT ${RECEIPT_COLUMNS}
      FROM receipts
      WHERE id = ${id} AND merchant_id = ${merchantId} AND body_hash = ${bodyHash}
        AND external_id IS NOT DISTINCT FROM ${externalId}
        AND (${idempotencyKey}::text IS NULL
             OR (client_id = ${clientId} AND operation = ${operation} AND idempotency_key = ${idempotencyKey}))`);
    return rows[0] ?? null;
  }

  /** Those of these receipts that no longer wait for a register. */
  async findSettled(ids: readonly string[]): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM receipts
      WHERE id = ANY(${[...ids]}::text[]) AND status IN ('registered', 'rejected', 'unknown', 'cancelled')`;
    return rows.map((row) => row.id);
  }
}

/** A row as json_to_recordset of `insertGroup` names its columns. */
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
  };
}
