import { setTimeout as delay } from 'node:timers/promises';
import { documentsAtOfd } from '../../test/system/outside-world.js';
import type { TestSystem } from '../../test/system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const GIVE_UP_MS = 180_000;
const PAUSE_MS = 300;

/** One desk that takes back each of its sales: both asked again, each under its own key, until they are registered. */
export class RefundLoad {
  readonly refunded: string[] = [];
  readonly complaints: string[] = [];
  private isStopped = false;
  private readonly desk: Promise<void>;

  constructor(
    private readonly system: TestSystem,
    private readonly options: { prefix: string; breathMs: number },
  ) {
    this.desk = this.work();
  }

  stop(): void {
    this.isStopped = true;
  }

  async end(): Promise<void> {
    this.stop();
    await this.desk;
  }

  /** What the OFD holds of it: each sale once and each refund once. */
  async judge(): Promise<{ lost: number; doubled: number }> {
    const { prefix } = this.options;
    const held = await until(
      'the OFD holds all refunds',
      async () => (await documentsAtOfd(this.system)).filter(({ items }) => items[0]?.name.startsWith(`${prefix}-`)),
      ({ length }) => length >= this.refunded.length * 2,
      120_000,
    ).catch(() => null);
    const documents = held ?? (await documentsAtOfd(this.system));
    const counts = new Map<string, number>();
    for (const { items, type } of documents) {
      const key = `${items[0]?.name ?? ''} ${type === 'refund' ? 'refund' : 'sale'}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const all = this.refunded.flatMap((marker) => [`${marker} sale`, `${marker} refund`].map((key) => counts.get(key)));
    return {
      lost: all.filter((count) => count === undefined).length,
      doubled: all.filter((count) => (count ?? 0) > 1).length,
    };
  }

  private async work(): Promise<void> {
    const { client } = this.system;
    for (let nth = 1; !this.isStopped; nth += 1) {
      await delay(this.options.breathMs);
      const marker = `${this.options.prefix}-${String(nth)}`;
      const items = [{ sku: 'sku-0', name: marker, price: 112_000, qty: 1 }];
      const till = nth % client.merchant.tills.length;
      const sale = await this.registered(marker, '/v1/receipts', client.saleOf(till, { items }));
      if (sale === null) continue;
      const refund = await this.registered(`${marker}-back`, `/v1/receipts/${sale}/refunds`, {});
      if (refund !== null) this.refunded.push(marker);
    }
  }

  private async registered(key: string, path: string, body: unknown): Promise<string | null> {
    const { client } = this.system;
    const deadline = performance.now() + GIVE_UP_MS;
    for (let last = ''; ; await delay(PAUSE_MS)) {
      if (performance.now() > deadline) {
        this.complaints.push(`${key} was not registered, last: ${last}`);
        return null;
      }
      const answer = await client
        .post(path, body, { 'idempotency-key': key, prefer: 'wait=5' })
        .catch((error: unknown) => ((last = String(error)), null));
      if (answer === null) continue;
      last = `${String(answer.status)} ${answer.body.code ?? answer.body.status ?? ''}`;
      if (answer.body.status === 'registered') return answer.body.id ?? null;
      if (answer.status === 401) client.forgetToken();
      else if (answer.status >= 400 && answer.body.retryable !== true) {
        this.complaints.push(`${key}: ${last} ${answer.body.detail ?? ''}`);
        return null;
      }
    }
  }
}
