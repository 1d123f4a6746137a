import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import type { Logger } from '#runtime';
import { RECEIPT_SETTLED_CHANNEL } from '#database';
import { ReceiptRepository } from './receipt.repository.js';

/** Pauses between tries to get the LISTEN connection back, milliseconds. */
const RECONNECT_PAUSES_MS = [100, 250, 500, 1_000, 2_000];

/** A caller's wait for one receipt. Made before the receipt is committed, so that no answer can come too early. */
export interface SettledWaiter {
  /** True when the receipt left the lane within the time. The row is read afterwards in any case. */
  settledWithin(seconds: number): Promise<boolean>;
  /** Must be called when the answer is no longer wanted. */
  forget(): void;
}

/**
 * Tells waiting requests that their receipt is done: results come by NOTIFY on one connection of this process.
 * A notification that was missed while the connection was away is healed on reconnect (the rows of all who wait are
 * read again), and by the caller, who reads the row at his deadline.
 */
@Injectable()
export class SettledReceipts implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly waiters = new Map<string, Set<() => void>>();
  private client: pg.Client | null = null;
  private releasing = false;
  private failures = 0;
  private readonly listeners: ((receiptId: string) => void)[] = [];
  private listening = false;
  private stopped = false;

  constructor(
    private readonly settings: { databaseUrl: string },
    private readonly receipts: ReceiptRepository,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    void this.keepListening();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.client?.end().catch((error: unknown) => this.logger.debug({ err: error }, 'closing LISTEN failed'));
  }

  /** Whether news of every receipt arrives at this moment. */
  get isListening(): boolean {
    return this.listening;
  }

  /** Every receipt that leaves a lane, whoever waits for it; those settled while nobody listened are left out. */
  onSettled(listener: (receiptId: string) => void): void {
    this.listeners.push(listener);
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

  /** The program is about to stop: everybody who waits is answered now, with the receipt's present state. */
  releaseAll(): void {
    this.releasing = true;
    for (const wakes of this.waiters.values()) wakes.forEach((wake) => wake());
  }

  private async keepListening(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.listenUntilLost();
      } catch (error) {
        this.failures += 1;
        this.logger.warn({ err: error }, 'LISTEN connection failed; results are read at the deadline meanwhile');
      }
      if (!this.stopped) await delay(RECONNECT_PAUSES_MS[Math.min(this.failures, RECONNECT_PAUSES_MS.length - 1)]);
    }
  }

  private async listenUntilLost(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.settings.databaseUrl,
      application_name: 'gateway-listen',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    });
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      // Always, not once: a dying session may say so twice, and an 'error' nobody listens for ends the process.
      client.on('error', (error) => {
        this.logger.warn({ err: error }, 'LISTEN connection lost');
        resolve();
      });
    });
    client.on('notification', ({ payload }) => payload?.split(',').forEach((id) => this.settle(id)));
    try {
      await client.connect();
      this.client = client;
      await client.query(`LISTEN ${RECEIPT_SETTLED_CHANNEL}`);
      this.failures = 0;
      this.listening = true;
      await this.catchUp();
      await lost;
    } finally {
      this.listening = false;
      this.client = null;
      await client
        .end()
        .catch((error: unknown) => this.logger.debug({ err: error }, 'the lost session was gone already'));
    }
  }

  private async catchUp(): Promise<void> {
    const ids = [...this.waiters.keys()];
    if (ids.length === 0) return;
    for (const id of await this.receipts.findSettled(ids)) this.settle(id);
  }

  private settle(receiptId: string): void {
    for (const listener of this.listeners) listener(receiptId);
    this.waiters.get(receiptId)?.forEach((wake) => wake());
  }
}
