import { setTimeout as delay } from 'node:timers/promises';
import { Receiver } from '../../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import type { GatewayClient } from '../../system/gateway-client.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import { percentile } from './load.js';

/** How long a receiver takes for an answer. */
const ANSWER_MS = 20;
/** A webhook may be this late besides what its own merchant's backlog costs. */
const MOST_LATE_MS = 10_000;

interface Arrival {
  eventId: string;
  receiptId: string;
  merchantId: string;
  createdMs: number;
  arrivedMs: number;
}

/** What must have been delivered: a registered receipt and whose it is. */
export interface Due {
  receiptId: string;
  merchantId: string;
}

/** The receivers of all merchants, each at a path of its own, and what arrived there. */
export class WebhookBooks {
  private readonly arrivals: Arrival[] = [];
  private readonly astray: string[] = [];

  private constructor(private readonly receiver: Receiver) {
    receiver.answer = ({ path, event, body }, response) => {
      const arrivedMs = Date.now();
      const { timestamp } = JSON.parse(body) as { timestamp: string };
      const merchantId = path.slice(1);
      if (event.merchant_id !== merchantId) this.astray.push(`${event.id} of ${event.merchant_id} at ${merchantId}`);
      const receiptId = String(event.data['receipt_id']);
      this.arrivals.push({ eventId: event.id, receiptId, merchantId, createdMs: Date.parse(timestamp), arrivedMs });
      void delay(ANSWER_MS).then(() => response.writeHead(204).end());
    };
  }

  static async open(): Promise<WebhookBooks> {
    return new WebhookBooks(await Receiver.start());
  }

  /** The merchant wants to know which of its receipts were registered. */
  async subscribe(client: GatewayClient): Promise<void> {
    const url = `${this.receiver.url}/${client.merchant.merchantId}`;
    // As every client: what is 503 is asked for again.
    await until(
      'the merchant has its webhook',
      () => client.post('/v1/webhooks', { url, events: ['receipt.registered'] }),
      ({ status }) => status === 201,
    );
  }

  /** Waits until all that is due has arrived. @returns what is missing or went to another merchant */
  async settle(due: readonly Due[]): Promise<string[]> {
    const missing = (): string[] => {
      const arrived = new Set(this.arrivals.map(({ receiptId, merchantId }) => `${merchantId} ${receiptId}`));
      return due
        .filter(({ receiptId, merchantId }) => !arrived.has(`${merchantId} ${receiptId}`))
        .map(({ receiptId }) => receiptId);
    };
    const failures: string[] = [];
    await until(
      'every webhook has arrived',
      () => missing().length,
      (count) => count === 0,
      180_000,
    ).catch(() => {
      const left = missing();
      failures.push(`${left.length} of ${due.length} webhooks never arrived: ${left.slice(0, 5).join(', ')}`);
    });
    if (this.astray.length > 0) failures.push(`to another merchant: ${this.astray.slice(0, 5).join(', ')}`);
    return failures;
  }

  /** Of the events written between two moments (`Date.now()`): how late they were, first arrivals alone. */
  latenessBetween(fromMs: number, toMs: number): { p95Ms: number; mostMs: number; count: number; tooLate: number } {
    const lateMs: number[] = [];
    let tooLate = 0;
    for (const own of byMerchant(this.firstArrivals())) {
      for (const { createdMs, arrivedMs } of own.filter((one) => one.createdMs >= fromMs && one.createdMs < toMs)) {
        const backlog = own.filter((one) => one.createdMs <= createdMs && one.arrivedMs > createdMs).length;
        if (arrivedMs - createdMs > MOST_LATE_MS + backlog * ANSWER_MS) tooLate += 1;
        lateMs.push(arrivedMs - createdMs);
      }
    }
    const mostMs = lateMs.reduce((most, one) => Math.max(most, one), 0);
    return { p95Ms: percentile(lateMs, 0.95), mostMs, count: lateMs.length, tooLate };
  }

  get repeated(): number {
    return this.arrivals.length - this.firstArrivals().length;
  }

  close(): Promise<void> {
    return this.receiver.stop();
  }

  private firstArrivals(): Arrival[] {
    const first = new Map<string, Arrival>();
    for (const arrival of this.arrivals) if (!first.has(arrival.eventId)) first.set(arrival.eventId, arrival);
    return [...first.values()];
  }
}

function byMerchant(arrivals: readonly Arrival[]): Arrival[][] {
  const grouped = new Map<string, Arrival[]>();
  for (const arrival of arrivals) {
    const own = grouped.get(arrival.merchantId);
    if (own) own.push(arrival);
    else grouped.set(arrival.merchantId, [arrival]);
  }
  return [...grouped.values()];
}
