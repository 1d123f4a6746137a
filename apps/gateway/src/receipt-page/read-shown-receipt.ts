import { Injectable } from '@nestjs/common';
import { LEDGER_REFUND, Prisma, PrismaService, type DeviceBusiness } from '#database';
import type { ReceiptStatus, ReceiptType } from '#fiscal-domain';
import { RECEIPT_COLUMNS, type ReceiptRow } from '../receipts/receipt.repository.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { shownReceipt, type RelatedReceipt, type Seller, type ShownReceipt } from './shown-receipt.js';

/** A sale can be refunded piece by piece; the first ones are linked, the sum counts all. */
const MAX_RELATED = 20;

type OwnedRow = ReceiptRow & { merchant_id: string };

interface SellerRow {
  name: string;
  tin: string;
  branch_address: string | null;
  business: DeviceBusiness | null;
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

  /** @param merchantId null: of whomever, for somebody who holds its address */
  async execute(id: string, merchantId: string | null): Promise<ShownReceipt | null> {
    const mine = merchantId === null ? Prisma.empty : Prisma.sql`AND merchant_id = ${merchantId}`;
    const [row] = await this.prisma.$queryRaw<OwnedRow[]>`
      SELECT merchant_id, ${RECEIPT_COLUMNS} FROM receipts WHERE id = ${id} ${mine}`;
    if (!row) return null;
    const [seller, related] = await Promise.all([this.sellerOf(row), this.relatedTo(row)]);
    return shownReceipt(row, { merchantId: row.merchant_id, url: this.urls.urlOf(row.id), seller, related });
  }

  private async sellerOf(row: OwnedRow): Promise<Seller> {
    const [known] = await this.prisma.$queryRaw<SellerRow[]>`
      SELECT m.name, m.tin, b.address AS branch_address, d.business
      FROM merchants m
        LEFT JOIN branches b ON b.id = ${row.branch_id} AND b.merchant_id = m.id
        LEFT JOIN devices d ON d.id = ${row.device_id} AND d.merchant_id = m.id
      WHERE m.id = ${row.merchant_id}`;
    if (!known) throw new Error(`Receipt ${row.id} belongs to a merchant that is not there`);
    const { business } = known;
    return {
      // The register prints its own words on the fiscal receipt: ours must not differ from them.
      name: business?.name || known.name,
      tin: business?.tin || known.tin,
      address: business?.branchAddress || known.branch_address || business?.actualAddress || '',
      phone: business?.phone ?? '',
    };
  }

  private async relatedTo({ id, merchant_id: merchantId, refund_of: saleId }: OwnedRow): Promise<RelatedReceipt[]> {
    const rows = await this.prisma.$queryRaw<RelatedRow[]>`
      SELECT id, type, status, receipt_seq, total_tiyin FROM receipts
      WHERE id = ${saleId} AND merchant_id = ${merchantId}
      UNION ALL
      (SELECT f.id, f.type, f.status, f.receipt_seq, f.total_tiyin FROM receipts f
       WHERE f.refund_of = ${id} AND f.merchant_id = ${merchantId} AND ${LEDGER_REFUND}
       ORDER BY f.id LIMIT ${MAX_RELATED})`;
    return rows.map((row) => ({
      ...{ type: row.type, status: row.status, receiptSeq: row.receipt_seq, url: this.urls.urlOf(row.id) },
      totalTiyin: Number(row.total_tiyin),
    }));
  }
}
