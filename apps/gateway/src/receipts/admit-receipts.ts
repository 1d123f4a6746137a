import { Injectable } from '@nestjs/common';
import type { NewReceipt } from '#ledger';
import { MerchantUsage, type Place } from '../fleet/usage/merchant-usage.js';
import type { IsCallerGone } from '../http/caller-gone.js';
import { AcceptReceipts, judgeConflict, type Acceptance } from './accept-receipts.js';
import { ReceiptRepository } from './receipt.repository.js';

/** Accepts what the merchant's quota still has a place for, and counts what was accepted. */
@Injectable()
export class AdmitReceipts {
  constructor(
    private readonly usage: MerchantUsage,
    private readonly acceptReceipts: AcceptReceipts,
    private readonly receipts: ReceiptRepository,
  ) {}

  /** As AcceptReceipts. @throws Problem 429 quota_exceeded, 422 storage_limit_reached */
  async accept(row: NewReceipt, isCallerGone?: IsCallerGone): Promise<Acceptance> {
    let place: Place;
    try {
      place = await this.usage.admit(row.merchantId, Buffer.byteLength(JSON.stringify(row.document)));
    } catch (error) {
      // What is stored is answered whatever the quota says now.
      const stored = await this.receipts.findIdentities([row]);
      if (stored.length > 0) return judgeConflict(row, stored);
      throw error;
    }
    try {
      const acceptance = await this.acceptReceipts.accept(row, isCallerGone);
      if (acceptance.kind === 'accepted') place.keep();
      return acceptance;
    } finally {
      place.release();
    }
  }
}
