import { Injectable } from '@nestjs/common';
import { SalesDatabase } from '#database';
import * as ledger from '#ledger';
import type { NewReceipt, ReceiptRow, StoredIdentity } from '#ledger';

/** Receipts over the connections that are kept for sales. */
@Injectable()
export class ReceiptRepository {
  constructor(private readonly prisma: SalesDatabase) {}

  insertGroup(rows: readonly NewReceipt[]): Promise<Map<string, Date>> {
    return ledger.insertReceipts(this.prisma, rows);
  }

  findIdentities(wanted: readonly StoredIdentity[]): Promise<StoredIdentity[]> {
    return ledger.findIdentities(this.prisma, wanted);
  }

  find(merchantId: string, id: string): Promise<ReceiptRow | null> {
    return ledger.findReceipt(this.prisma, merchantId, id);
  }

  findMadeBy(request: StoredIdentity, id: string): Promise<ReceiptRow | null> {
    return ledger.findMadeBy(this.prisma, request, id);
  }

  findSettled(ids: readonly string[]): Promise<string[]> {
    return ledger.findSettled(this.prisma, ids);
  }
}
