import { Injectable } from '@nestjs/common';
import { LEDGER_REFUND, Prisma, PrismaService, type DeviceBusiness, type DeviceReading } from '#database';
import type { ReceiptLine, ReceiptStatus, ReceiptType } from '#fiscal-domain';
import { receiptColumns, receiptsWithin, type ReceiptRow } from '#ledger';
import { unitName } from '#paper';
import type { Problem } from '#problems';
import { logoSize } from '../../fleet/merchants/logo.js';
import { missingAtAddress, missingReceipt } from '../missing-receipt.js';
import { ReceiptUrls } from '../receipt-url.js';
import {
  packageKey,
  shownReceipt,
  type Around,
  type RelatedReceipt,
  type ShownLogo,
  type ShownReceipt,
} from './shown-receipt.js';

/** A sale can be refunded piece by piece; the first ones are linked, the sum counts all. */
const MAX_RELATED = 20;

const SECOND_MS = 1_000;

type OwnedRow = ReceiptRow & { merchant_id: string };

interface SellerRow {
  name: string;
  tin: string;
  branch_address: string | null;
  business: DeviceBusiness | null;
  cashier: string | null;
  reading: DeviceReading | null;
  reading_at: Date | null;
  channels: string[];
  bot: string | null;
  header: string | null;
  footer: string | null;
  logo: Uint8Array | null;
  now: Date;
}

interface RelatedRow {
  id: string;
  type: ReceiptType;
  status: ReceiptStatus;
  receipt_seq: bigint | null;
  total_tiyin: bigint;
}

/** Reads a receipt with what stands around it on paper. */
@Injectable()
export class ReadShownReceipt {
  constructor(
    private readonly prisma: PrismaService,
    private readonly urls: ReceiptUrls,
  ) {}

  /** @param merchantId null: of any merchant, for a reader that holds its address */
  async execute(id: string, merchantId: string | null): Promise<ShownReceipt | null> {
    const mine = merchantId === null ? Prisma.empty : Prisma.sql`AND merchant_id = ${merchantId}`;
    const { receipts, refunds } = receiptsWithin([id]);
    const [row] = await this.prisma.$queryRaw<OwnedRow[]>`
      SELECT merchant_id, ${receiptColumns(refunds)} FROM receipts WHERE id = ${id} ${receipts} ${mine}`;
    if (!row) return null;
    const [around, related, packageNames] = await Promise.all([
      this.around(row),
      this.relatedTo(row),
      this.packagesOf(row.document.lines),
    ]);
    return shownReceipt(row, {
      merchantId: row.merchant_id,
      url: this.urls.urlOf(row.id),
      ...around,
      related,
      packageNames,
    });
  }

  /** Why there is none: 404 or, where it has left for an archive, 410. */
  missing(id: string, merchantId: string | null): Promise<Problem> {
    return merchantId === null ? missingAtAddress(this.prisma, id) : missingReceipt(this.prisma, merchantId, id);
  }

  private async around(
    row: OwnedRow,
  ): Promise<Pick<Around, 'seller' | 'cashier' | 'asOf' | 'observedShift' | 'sendWays' | 'brand'>> {
    const [known] = await this.prisma.$queryRaw<SellerRow[]>`
      SELECT m.name, m.tin, b.address AS branch_address, d.business, c.name AS cashier, d.reading, d.reading_at, now() AS now,
             ARRAY(SELECT a.channel::text FROM message_accounts a
                    WHERE a.merchant_id = m.id AND a.deleted_at IS NULL AND a.disabled_at IS NULL) AS channels,
             (SELECT a.settings -> 'values' ->> 'bot' FROM message_accounts a
               WHERE a.merchant_id = m.id AND a.channel = 'telegram' AND a.deleted_at IS NULL AND a.disabled_at IS NULL) AS bot,
             mb.header, mb.footer, mb.logo
      FROM merchants m
        LEFT JOIN merchant_brands mb ON mb.merchant_id = m.id
        LEFT JOIN branches b ON b.id = ${row.branch_id} AND b.merchant_id = m.id
        LEFT JOIN devices d ON d.id = ${row.device_id} AND d.merchant_id = m.id
        LEFT JOIN cashiers c ON c.id = ${row.cashier_id} AND c.merchant_id = m.id
      WHERE m.id = ${row.merchant_id}`;
    if (!known) throw new Error(`Receipt ${row.id} belongs to a merchant that is not there`);
    const { business } = known;
    return {
      seller: {
        // The register prints its own words on the fiscal receipt: ours must not differ from them.
        name: business?.name || known.name,
        tin: business?.tin || known.tin,
        address: business?.branchAddress || known.branch_address || business?.actualAddress || '',
        phone: business?.phone ?? '',
      },
      cashier: known.cashier,
      asOf: known.now,
      brand: { header: known.header ?? '', footer: known.footer ?? '', logo: logoOf(known.logo) },
      sendWays: { email: known.channels.includes('email'), sms: known.channels.includes('sms'), bot: known.bot },
      observedShift: row.shift_number === null ? await this.shiftOf(row, known) : null,
    };
  }

  /**
   * The shift in which a register that does not say so itself has registered a receipt: one that was seen to be open before and
   * after. Its opening is known to the second, and a receipt whose time is a guess belongs to no shift.
   */
  private async shiftOf(row: OwnedRow, { reading, reading_at: readAt }: SellerRow): Promise<number | null> {
    const { terminal_id: terminalId, registered_at: registeredAt, evidence } = row;
    if (terminalId === null || registeredAt === null || (evidence !== 'answer' && evidence !== 'journal')) return null;
    const shift = reading?.terminalId === terminalId ? reading.shift : null;
    const isStillOpen =
      shift?.closedAt === null &&
      Date.parse(shift.openedAt) + SECOND_MS <= registeredAt.getTime() &&
      readAt !== null &&
      registeredAt < readAt;
    if (isStillOpen) return shift.number;
    const [closed] = await this.prisma.$queryRaw<{ number: number }[]>`
      SELECT s.number FROM shifts s JOIN z_reports z ON z.shift_id = s.id
       WHERE s.merchant_id = ${row.merchant_id} AND s.terminal_id = ${terminalId} AND s.opened_at + interval '1 second' <= ${registeredAt}::timestamptz
         AND s.closed_at >= ${registeredAt}::timestamptz
       ORDER BY s.number DESC LIMIT 1`;
    return closed?.number ?? null;
  }

  /** Codes of units that only the register of goods knows stand for a package: its name is what the goods were sold by. */
  private async packagesOf(lines: readonly ReceiptLine[]): Promise<ReadonlyMap<string, string>> {
    const unnamed = lines.filter(({ units, packageCode }) => packageCode !== '' && unitName(units, 'en') === null);
    if (unnamed.length === 0) return new Map();
    const spics = [...new Set(unnamed.map(({ spic }) => spic))];
    const rows = await this.prisma.$queryRaw<{ spic: string; code: string; name: string }[]>`
      SELECT e.spic, p.code, p.name FROM classifier_entries e, jsonb_to_recordset(e.packages) AS p(code text, name text)
       WHERE e.spic = ANY(${spics}::text[]) AND p.name <> ''`;
    return new Map(rows.map(({ spic, code, name }) => [packageKey({ spic, packageCode: code }), name]));
  }

  private async relatedTo({ id, merchant_id: merchantId, refund_of: saleId }: OwnedRow): Promise<RelatedReceipt[]> {
    const [sale, { refunds }] = [receiptsWithin([saleId ?? id]), receiptsWithin([id])];
    const rows = await this.prisma.$queryRaw<RelatedRow[]>`
      SELECT id, type, status, receipt_seq, total_tiyin FROM receipts
      WHERE id = ${saleId} ${sale.receipts} AND merchant_id = ${merchantId}
      UNION ALL
      (SELECT f.id, f.type, f.status, f.receipt_seq, f.total_tiyin FROM receipts f
       WHERE f.refund_of = ${id} AND f.merchant_id = ${merchantId} AND ${LEDGER_REFUND} ${refunds}
       ORDER BY f.id LIMIT ${MAX_RELATED})`;
    return rows.map((row) => ({
      ...{ type: row.type, status: row.status, receiptSeq: row.receipt_seq, url: this.urls.urlOf(row.id) },
      totalTiyin: Number(row.total_tiyin),
    }));
  }
}

/** The gateway wrote it itself: its size stands where PNG has it. */
function logoOf(png: Uint8Array | null): ShownLogo | null {
  return png && { png: Buffer.from(png), ...logoSize(png) };
}
