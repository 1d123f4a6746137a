import { Injectable } from '@nestjs/common';
import { acrossMerchants, SalesDatabase } from '#database';
import * as ledger from '#ledger';
import type { NewReceipt, ReceiptRow, StoredIdentity } from '#ledger';
import type { Problem } from '#problems';
import { missingReceipt, receiptArchived } from './missing-receipt.js';
import { storedAndGone } from './outcome-unclear.js';

/** Receipts over the connections that are kept for sales. */
@Injectable()
export class ReceiptRepository {
  constructor(private readonly prisma: SalesDatabase) {}

  insertGroup(rows: readonly NewReceipt[]): Promise<Map<string, Date>> {
    return ledger.insertReceipts(this.prisma, rows);
  }

  /** Whatever merchant a key was used for: a person has its keys at all its merchants together. */
  findIdentities(wanted: readonly StoredIdentity[]): Promise<StoredIdentity[]> {
    return acrossMerchants(async () => ledger.findIdentities(this.prisma, wanted));
  }

  find(merchantId: string, id: string): Promise<ReceiptRow | null> {
    return ledger.findReceipt(this.prisma, merchantId, id);
  }

  /** Why `find` has not found it: 404 or, where it has left for an archive, 410. */
  missing(merchantId: string, id: string): Promise<Problem> {
    return missingReceipt(this.prisma, merchantId, id);
  }

  /** The same of one that was stored, by this call or one before it. */
  async gone(merchantId: string, id: string): Promise<Problem> {
    const archive = await this.archiveOf(merchantId, id);
    return archive === null ? storedAndGone(`Receipt ${id}`) : receiptArchived(archive);
  }

  /** Null: it is here, or there never was one. */
  archiveOf(merchantId: string, id: string): Promise<string | null> {
    return ledger.findArchiveOf(this.prisma, merchantId, id);
  }

  findMadeBy(request: StoredIdentity, id: string): Promise<ReceiptRow | null> {
    return ledger.findMadeBy(this.prisma, request, id);
  }

  findSettled(ids: readonly string[]): Promise<string[]> {
    return ledger.findSettled(this.prisma, ids);
  }
}
