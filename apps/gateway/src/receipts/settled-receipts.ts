import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '#runtime';
import { RECEIPT_SETTLED_CHANNEL, type DatabaseAddresses } from '#database';
import { NoticeReceiver } from '../notice-receiver.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { ReceiptRepository } from './receipt.repository.js';

/** A caller's wait for one receipt. Made before the receipt is committed, so that no answer can come too early. */
export interface SettledWaiter {
  /** True when the receipt left the lane within the time. The row is read afterwards in any case. */
  settledWithin(seconds: number): Promise<boolean>;
  /** Must be called when the answer is no longer wanted. */
  forget(): void;
}

/**
 * Notifies waiting requests that their receipt is done: results come by NOTIFY on one connection of this process.
 * A notification that was missed while the connection was away is healed on reconnect (the rows of all who wait are
 * read again), and by the caller, which reads the row at its deadline.
 */
@Injectable()
export class SettledReceipts extends NoticeReceiver {
  private readonly waiters = new Map<string, Set<() => void>>();
  private releasing = false;
  private readonly listeners: ((receiptId: string) => void)[] = [];
  private readonly takenListeners: ((deviceId: string) => void)[] = [];

  constructor(
    @Inject(SETTINGS_TOKEN) settings: DatabaseAddresses,
    private readonly receipts: ReceiptRepository,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      settings,
      {
        channel: RECEIPT_SETTLED_CHANNEL,
        onNotice: (ids) => ids.split(',').forEach((id) => this.receive(id)),
        onListening: () => this.catchUp(),
      },
      logger,
    );
  }

  /** Every receipt that leaves a lane, waited for or not; those settled while the connection was away are left out. */
  onSettled(listener: (receiptId: string) => void): void {
    this.listeners.push(listener);
  }

  /** Every lane that a relay has taken in hand. */
  onTaken(listener: (deviceId: string) => void): void {
    this.takenListeners.push(listener);
  }

  watch(receiptId: string): SettledWaiter {
    let done = false;
    let wake: () => void = () => undefined;
    const onSettled = (): void => {
      done = true;
      wake();
    };
    const set = this.waiters.get(receiptId) ?? new Set();
    set.add(onSettled);
    this.waiters.set(receiptId, set);
    return {
      settledWithin: (seconds) =>
        new Promise<boolean>((resolve) => {
          if (done || seconds <= 0 || this.releasing) return resolve(done);
          const timer = setTimeout(() => resolve(done), seconds * 1_000);
          wake = () => {
            clearTimeout(timer);
            resolve(true);
          };
        }),
      forget: () => {
        set.delete(onSettled);
        if (set.size === 0 && this.waiters.get(receiptId) === set) this.waiters.delete(receiptId);
      },
    };
  }

  /** The program is about to stop: every waiting caller is answered now, with the receipt's present state. */
  releaseAll(): void {
    this.releasing = true;
    for (const wakes of this.waiters.values()) wakes.forEach((wake) => wake());
  }

  private async catchUp(): Promise<void> {
    const ids = [...this.waiters.keys()];
    if (ids.length === 0) return;
    for (const id of await this.receipts.findSettled(ids)) this.settle(id);
  }

  private receive(id: string): void {
    if (id.startsWith('dev_')) this.takenListeners.forEach((listener) => listener(id));
    else this.settle(id);
  }

  private settle(receiptId: string): void {
    for (const listener of this.listeners) listener(receiptId);
    this.waiters.get(receiptId)?.forEach((wake) => wake());
  }
}
