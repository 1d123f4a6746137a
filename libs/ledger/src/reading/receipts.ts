import { LEDGER_REFUND, Prisma } from '#database';
import type { StoredIdentity } from '../accept/new-receipt.js';
import type { HotStatements, Statements } from '../statements.js';
import { receiptsWithin } from '../half-years.js';
import { IS_AWAY } from './archived-receipts.js';
import { receiptColumns, type ReceiptRow } from './receipt-row.js';

type Reading = Pick<Statements, '$queryRaw'>;

/** A merchant's receipt; another merchant's is as absent as a missing one. */
export async function findReceipt(database: HotStatements, merchantId: string, id: string): Promise<ReceiptRow | null> {
  const { receipts, refunds } = receiptsWithin([id]);
  const rows = await database.queryHot<ReceiptRow>(Prisma.sql`
      SELECT ${receiptColumns(refunds)}
      FROM receipts WHERE id = ${id} ${receipts} AND merchant_id = ${merchantId}`);
  return rows[0] ?? null;
}

/** Receipt `id` if this very request made it: the same key, external id and body; null says nothing about other receipts. */
export async function findMadeBy(
  database: HotStatements,
  request: StoredIdentity,
  id: string,
): Promise<ReceiptRow | null> {
  const { merchantId, clientId, operation, idempotencyKey, externalId, bodyHash } = request;
  const { receipts, refunds } = receiptsWithin([id]);
  const rows = await database.queryHot<ReceiptRow>(Prisma.sql`
      SELECT ${receiptColumns(refunds)}
      FROM receipts
      WHERE id = ${id} ${receipts} AND merchant_id = ${merchantId} AND body_hash = ${bodyHash}
        AND external_id IS NOT DISTINCT FROM ${externalId}
        AND (${idempotencyKey}::text IS NULL
             OR (client_id = ${clientId} AND operation = ${operation} AND idempotency_key = ${idempotencyKey}))`);
  return rows[0] ?? null;
}

/** Those of these receipts that no longer wait for a register. */
export async function findSettled(database: Reading, ids: readonly string[]): Promise<string[]> {
  const rows = await database.$queryRaw<{ id: string }[]>`
      SELECT id FROM receipts
      WHERE id = ANY(${[...ids]}::text[]) AND status IN ('registered', 'rejected', 'unknown', 'cancelled')`;
  return rows.map((row) => row.id);
}

/**
 * Documents of all refunds that hold a part of the sale. Under the sale's lock it sees who had the lock before. Of a sale that was brought back
 * from an archive a refund may not be: where it is, in the same snapshot, so that none is between here and there.
 */
export async function refundsOf(
  database: Reading,
  saleId: string,
): Promise<{ documents: ReceiptRow['document'][]; archive: string | null }> {
  const rows = await database.$queryRaw<{ document: ReceiptRow['document'] | null; archive: string | null }[]>`
      SELECT f.document, NULL AS archive, f.id FROM receipts f WHERE f.refund_of = ${saleId} AND ${LEDGER_REFUND}
      UNION ALL
      (SELECT NULL, k.archive, k.id FROM archived_receipts k WHERE k.refund_of = ${saleId} AND ${IS_AWAY} LIMIT 1)
      ORDER BY id`;
  return {
    documents: rows.flatMap(({ document }) => (document === null ? [] : [document])),
    archive: rows.find(({ archive }) => archive !== null)?.archive ?? null,
  };
}

/** Receipts of any merchant by their ids, in no order; those that are not there are left out. */
export function findReceipts(database: Reading, ids: readonly string[]): Promise<ReceiptRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  const { receipts, refunds } = receiptsWithin(ids);
  return database.$queryRaw<ReceiptRow[]>`
      SELECT ${receiptColumns(refunds)}
        FROM receipts WHERE id = ANY(${[...ids]}::text[]) ${receipts}`;
}

/** What was sold or returned, for a further document; null: there is no such receipt. */
export async function findDocument(
  database: Reading,
  id: string,
): Promise<Pick<ReceiptRow, 'type' | 'document'> | null> {
  const [row] = await database.$queryRaw<Pick<ReceiptRow, 'type' | 'document'>[]>`
      SELECT type, document FROM receipts WHERE id = ${id}`;
  return row ?? null;
}

/** Whose receipt it is; null: there is no such receipt. */
export async function findOwner(database: Reading, id: string): Promise<string | null> {
  const [row] = await database.$queryRaw<{ merchant_id: string }[]>`SELECT merchant_id FROM receipts WHERE id = ${id}`;
  return row?.merchant_id ?? null;
}

/** Of a merchant: it does not leave for an archive before this transaction ends. @returns its status; null: it is not here */
export async function holdReceipt(tx: Reading, merchantId: string, id: string): Promise<ReceiptRow['status'] | null> {
  const [row] = await tx.$queryRaw<{ status: ReceiptRow['status'] }[]>`
      SELECT status FROM receipts WHERE id = ${id} AND merchant_id = ${merchantId} FOR KEY SHARE`;
  return row?.status ?? null;
}

export interface Buyer {
  id: string;
  merchant_id: string;
  customer: ReceiptRow['document']['customer'];
}

/** Who bought, of these receipts. */
export function findBuyers(database: Reading, ids: readonly string[]): Promise<Buyer[]> {
  return database.$queryRaw<Buyer[]>`
      SELECT id, merchant_id, document -> 'customer' AS customer FROM receipts WHERE id = ANY(${[...ids]}::text[])`;
}

/** What a short message says of a receipt. */
export interface NoticeRow extends Pick<
  ReceiptRow,
  'id' | 'status' | 'type' | 'receipt_seq' | 'created_at' | 'registered_at'
> {
  merchant_id: string;
  device_id: string | null;
  total_tiyin: bigint;
}

/** Of any merchant, in no order; those that are not there are left out. */
export function findNotices(database: Reading, ids: readonly string[]): Promise<NoticeRow[]> {
  return database.$queryRaw<NoticeRow[]>`
      SELECT id, merchant_id, device_id, status, type, receipt_seq, created_at, registered_at, total_tiyin
        FROM receipts WHERE id = ANY(${[...ids]}::text[])`;
}
