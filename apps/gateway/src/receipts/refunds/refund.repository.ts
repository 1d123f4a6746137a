import { Injectable } from '@nestjs/common';
import { LEDGER_REFUND, Prisma, SalesDatabase, type StoredReceiptDocument } from '#database';
import {
  knownFiscalFields,
  type FiscalField,
  type ReceiptStatus,
  type ReceiptType,
  type VatRule,
} from '#fiscal-domain';
import { RECEIPT_COLUMNS, type ReceiptRow } from '../receipt.repository.js';

type Tx = Prisma.TransactionClient;

/** A sale as a refund needs it, its row locked: what may still change about it. */
export interface LockedSale {
  status: ReceiptStatus;
  type: ReceiptType;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  verification_url: string | null;
  /** Somebody has been shown the secret that signs what `callback_url`s are told. */
  has_callback_secret: boolean;
  recorded_fields: FiscalField[] | null;
  /** Its merchant has what a register does not take left out. */
  omits_fields: boolean;
}

/** A refund ready to be written; its lane place is the database's. */
export interface NewRefund {
  id: string;
  merchantId: string;
  clientId: string;
  operation: string;
  idempotencyKey: string | null;
  externalId: string | null;
  bodyHash: Buffer;
  saleId: string;
  /** Null: the payment provider that registered the sale registers it. */
  deviceId: string | null;
  document: StoredReceiptDocument;
}

/** The device that has the terminal which sold. */
export interface SellingDevice {
  deviceId: string;
  vatRule: VatRule;
  /** It takes no new receipts: drained, disabled, or its module counts as replaced. */
  isClosed: boolean;
  /** What it takes into the fiscal document beyond the specification. */
  takesFields: readonly FiscalField[];
}

@Injectable()
export class RefundRepository {
  constructor(private readonly prisma: SalesDatabase) {}

  /** Until the end of the transaction nobody else refunds anything of this sale. */
  async lockSale(tx: Tx, saleId: string): Promise<LockedSale | null> {
    const rows = await tx.$queryRaw<LockedSale[]>`
      SELECT status, type, terminal_id, receipt_seq, fiscal_sign, verification_url,
             EXISTS (SELECT FROM webhook_secrets s WHERE s.owner_id = merchant_id) AS has_callback_secret, recorded_fields,
             coalesce((SELECT m.settings ->> 'unsupported_fields' = 'omit' FROM merchants m WHERE m.id = merchant_id),
                      false) AS omits_fields
        FROM receipts WHERE id = ${saleId} FOR NO KEY UPDATE`;
    return rows[0] ?? null;
  }

  /** Documents of all refunds that hold a part of the sale. In a statement after the lock: it sees who had it before. */
  async ledgerOf(client: Pick<Tx, '$queryRaw'>, saleId: string): Promise<StoredReceiptDocument[]> {
    const rows = await client.$queryRaw<{ document: StoredReceiptDocument }[]>`
      SELECT f.document FROM receipts f WHERE f.refund_of = ${saleId} AND ${LEDGER_REFUND} ORDER BY f.id`;
    return rows.map(({ document }) => document);
  }

  /** The same, outside of any transaction: what it says may be old when it arrives. */
  readLedger(saleId: string): Promise<StoredReceiptDocument[]> {
    return this.ledgerOf(this.prisma, saleId);
  }

  /**
   * The refund in its lane (or waiting for its provider), and its event, with branch and cashier of the sale. Null: its id, key or external id is taken.
   * @returns when it was created
   */
  async insert(tx: Tx, refund: NewRefund): Promise<Date | null> {
    const { document, deviceId } = refund;
    const [written] = await tx.$queryRaw<{ created_at: Date }[]>`
      WITH written AS (
        INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status,
                              lane_place, device_id, branch_id, cashier_id, document, total_tiyin, vat_total_tiyin,
                              refund_of)
        SELECT ${refund.id}::text, s.merchant_id, ${refund.clientId}::text, ${refund.operation}::text,
               ${refund.idempotencyKey}::text, ${refund.externalId}::text, ${refund.bodyHash}::bytea,
               'refund'::receipt_type, ${deviceId === null ? 'awaiting_payment' : 'accepted'}::receipt_status,
               ${deviceId === null ? Prisma.sql`NULL` : Prisma.sql`nextval('lane_place_seq')`}, ${deviceId}::text, s.branch_id, s.cashier_id, ${JSON.stringify(document)}::jsonb,
               ${document.totalTiyin}::bigint, ${document.vatTotalTiyin}::bigint, s.id
          FROM receipts s WHERE s.id = ${refund.saleId} AND s.merchant_id = ${refund.merchantId}
        ON CONFLICT DO NOTHING
        RETURNING id, merchant_id, refund_of, created_at
      ), told AS (
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        SELECT ${refund.id.replace('rcp_', 'evt_')}, merchant_id, 'refund.accepted', id,
               jsonb_build_object('receipt_id', id, 'refund_of', refund_of)
          FROM written
      )
      SELECT created_at FROM written`;
    return written?.created_at ?? null;
  }

  /** The live device that has this terminal now; null: the terminal is gone, or nobody has met it since its module was exchanged. */
  async findDeviceOf(
    merchantId: string,
    terminalId: string,
    client: Pick<Tx, '$queryRaw'> = this.prisma,
  ): Promise<SellingDevice | null> {
    const [row] = await client.$queryRaw<DeviceRow[]>`
      SELECT id, profile ->> 'vatRule' AS vat_rule, draining_since, state, capabilities FROM devices
       WHERE terminal_id = ${terminalId} AND merchant_id = ${merchantId} AND deleted_at IS NULL
         AND registered_at IS NOT NULL`;
    return row ? deviceOf(row) : null;
  }

  /** The same for the terminal that registered this sale; null also where there is no such sale. */
  async findDeviceOfSale(merchantId: string, saleId: string): Promise<SellingDevice | null> {
    const [row] = await this.prisma.$queryRaw<DeviceRow[]>`
      SELECT d.id, d.profile ->> 'vatRule' AS vat_rule, d.draining_since, d.state, d.capabilities
        FROM receipts s JOIN devices d ON d.terminal_id = s.terminal_id AND d.merchant_id = s.merchant_id
       WHERE s.id = ${saleId} AND s.merchant_id = ${merchantId} AND d.deleted_at IS NULL AND d.registered_at IS NOT NULL`;
    return row ? deviceOf(row) : null;
  }

  /** Refunds of a sale by their ids, which sort by time; one more than fits. */
  list(merchantId: string, saleId: string, page: { limit: number; afterId: string | null }): Promise<ReceiptRow[]> {
    return this.prisma.$queryRaw<ReceiptRow[]>`
      SELECT ${RECEIPT_COLUMNS} FROM receipts
       WHERE refund_of = ${saleId} AND merchant_id = ${merchantId} AND id > ${page.afterId ?? ''}
       ORDER BY id LIMIT ${page.limit + 1}::int4`;
  }
}

interface DeviceRow {
  id: string;
  vat_rule: VatRule | null;
  draining_since: Date | null;
  state: string;
  capabilities: string[] | null;
}

/** States that end by a person or a proof alone. */
const CLOSED: ReadonlySet<string> = new Set(['disabled', 'replaced', 'claimed_elsewhere']);

function deviceOf(row: DeviceRow): SellingDevice {
  const isClosed = row.draining_since !== null || CLOSED.has(row.state);
  const takesFields = knownFiscalFields(row.capabilities ?? []);
  return { deviceId: row.id, vatRule: row.vat_rule ?? 'unit', isClosed, takesFields };
}
