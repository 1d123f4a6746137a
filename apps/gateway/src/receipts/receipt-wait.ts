import { Injectable } from '@nestjs/common';
import { RingLanes } from './ring-lanes.js';
import { SettledReceipts } from './settled-receipts.js';

/** Stored by this very call, under `deviceId`'s lane if it has one, or known before. */
type Stored = { kind: 'accepted'; deviceId: string | null } | { kind: 'replay' };

/** What follows the writing of a receipt: ring for its lane, and wait for the register as long as the caller wants. */
@Injectable()
export class ReceiptWait {
  constructor(
    private readonly lanes: RingLanes,
    private readonly settled: SettledReceipts,
  ) {}

  /**
   * The waiter is there before the receipt is written, so that no answer can come too early.
   * @param store writes the receipt; what it throws is thrown
   */
  async forReceipt<T extends Stored>(receiptId: string, seconds: number, store: () => Promise<T>): Promise<T> {
    const waiter = this.settled.watch(receiptId);
    try {
      const stored = await store();
      if (stored.kind === 'accepted') {
        if (stored.deviceId !== null) this.lanes.ring(stored.deviceId, receiptId);
        await waiter.settledWithin(seconds);
      }
      return stored;
    } finally {
      waiter.forget();
    }
  }
}
