import { Injectable } from '@nestjs/common';
import { PrismaService, StatementGroup, type DeviceBusiness } from '#database';
import { tiyin, type ReceiptStatus, type ReceiptType, type Tiyin } from '#fiscal-domain';
import { findNotices } from '#ledger';
import { ReceiptUrls } from '../receipt-url.js';

/** A receipt in a few words, for a message that has no room for more. */
export interface Notice {
  id: string;
  merchantId: string;
  status: ReceiptStatus;
  type: ReceiptType;
  sellerName: string;
  totalTiyin: Tiyin;
  /** When it was registered; before that, when it was accepted. */
  at: Date;
  /** Null: no register has recorded it. */
  receiptSeq: bigint | null;
  /** Its public page. */
  url: string;
}

interface SellerRow {
  merchant_id: string;
  name: string;
  device_id: string | null;
  business: DeviceBusiness | null;
}

/** Reads receipts for messages: those that are sent together are read together. */
@Injectable()
export class ReadNotices {
  private readonly notices = new StatementGroup((ids: readonly string[]) => this.read(ids));

  constructor(
    private readonly prisma: PrismaService,
    private readonly urls: ReceiptUrls,
  ) {}

  /** Null: the merchant has no such receipt. */
  async one(id: string, merchantId: string): Promise<Notice | null> {
    const notice = await this.notices.one(id);
    return notice?.merchantId === merchantId ? notice : null;
  }

  private async read(ids: readonly string[]): Promise<(Notice | null)[]> {
    const rows = await findNotices(this.prisma, ids);
    const [merchants, devices] = [rows.map((row) => row.merchant_id), rows.flatMap((row) => row.device_id ?? [])];
    const sellers = await this.prisma.$queryRaw<SellerRow[]>`
      SELECT m.id AS merchant_id, m.name, d.id AS device_id, d.business
        FROM merchants m LEFT JOIN devices d ON d.merchant_id = m.id AND d.id = ANY(${devices}::text[])
       WHERE m.id = ANY(${[...new Set(merchants)]}::text[])`;
    const notices = new Map<string, Notice>();
    for (const row of rows) {
      const mine = sellers.filter((seller) => seller.merchant_id === row.merchant_id);
      const register = mine.find((seller) => seller.device_id === row.device_id);
      notices.set(row.id, {
        ...{
          id: row.id,
          merchantId: row.merchant_id,
          status: row.status,
          type: row.type,
          url: this.urls.urlOf(row.id),
        },
        // As the register itself prints it (read-shown-receipt.ts).
        sellerName: register?.business?.name || (mine[0]?.name ?? ''),
        ...{ totalTiyin: tiyin(Number(row.total_tiyin)), at: row.registered_at ?? row.created_at },
        receiptSeq: row.registered_at === null ? null : row.receipt_seq,
      });
    }
    return ids.map((id) => notices.get(id) ?? null);
  }
}
