import { Injectable } from '@nestjs/common';
import { SalesDatabase, type Prisma } from '#database';
import {
  knownFiscalFields,
  type FiscalField,
  type ReceiptStatus,
  type ReceiptType,
  type VatRule,
} from '#fiscal-domain';
import { receiptColumns, refundsOf, type ReceiptRow } from '#ledger';

type Tx = Prisma.TransactionClient;

/** A sale as a refund needs it, its row locked: what may still change about it. */
export interface LockedSale {
  status: ReceiptStatus;
  type: ReceiptType;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  verification_url: string | null;
  /** The secret that signs callbacks has been shown to a client. */
  has_callback_secret: boolean;
  recorded_fields: FiscalField[] | null;
  /** Its merchant has what a register does not take left out. */
  omits_fields: boolean;
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

  /** Until the end of the transaction no other transaction refunds anything of this sale. */
  async lockSale(tx: Tx, saleId: string): Promise<LockedSale | null> {
    const rows = await tx.$queryRaw<LockedSale[]>`
      SELECT status, type, terminal_id, receipt_seq, fiscal_sign, verification_url,
             EXISTS (SELECT FROM webhook_secrets s WHERE s.owner_id = merchant_id) AS has_callback_secret, recorded_fields,
             coalesce((SELECT m.settings ->> 'unsupported_fields' = 'omit' FROM merchants m WHERE m.id = merchant_id),
                      false) AS omits_fields
        FROM receipts WHERE id = ${saleId} FOR NO KEY UPDATE`;
    return rows[0] ?? null;
  }

  /** Outside of any transaction: what it says may be old when it arrives. */
  readLedger(saleId: string): ReturnType<typeof refundsOf> {
    return refundsOf(this.prisma, saleId);
  }

  /** The live device that has this terminal now; null: the terminal is gone, or it has not been met since its module was exchanged. */
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
      SELECT ${receiptColumns()} FROM receipts
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
