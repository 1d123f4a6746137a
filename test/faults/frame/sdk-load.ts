import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError, type FiscalGateway, type Receipt } from '#sdk';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { Till } from '../../system/merchant.js';
import type { Sold } from './load.js';

export interface SdkLoadOptions {
  prefix: string;
  chance: Chance;
  total: number;
  tills: readonly Till[];
}

const PER_TILL = 3;
const ASYNC_SHARE = 0.2;
const WAIT_S = 5;
const WAIT_LIMIT_MS = 150_000;

/** Cash desks that sell by the SDK alone: what it throws is a complaint, whatever was done to its requests. */
export class SdkLoad {
  readonly sold: Sold[] = [];
  readonly complaints: string[] = [];
  private issued = 0;
  private readonly desks: Promise<unknown>;

  constructor(
    private readonly fgw: FiscalGateway,
    private readonly options: SdkLoadOptions,
  ) {
    const { tills } = options;
    const desks = Array.from({ length: tills.length * PER_TILL }, (_, index) => tills[index % tills.length]);
    this.desks = Promise.all(desks.map((till) => this.desk(till as Till)));
  }

  /** Waits until so many have been sold. */
  async reaches(count: number, limitMs = 180_000): Promise<void> {
    const deadline = performance.now() + limitMs;
    while (this.sold.length + this.complaints.length < count) {
      if (performance.now() > deadline) throw new Error(`only ${this.sold.length} of ${count} receipts were sold`);
      await delay(20);
    }
  }

  async end(): Promise<Sold[]> {
    await this.desks;
    return this.sold;
  }

  private async desk(till: Till): Promise<void> {
    while (this.issued < this.options.total) {
      this.issued += 1;
      await this.sell(till, `${this.options.prefix}-${this.issued}`);
    }
  }

  private async sell({ deviceId, cashierId }: Till, marker: string): Promise<void> {
    const startedMs = performance.now();
    const sale = {
      items: [{ sku: 'sku-0', name: marker, price: 112_000, qty: 1 }],
      payment: { method: 'cash' as const },
      cashier_id: cashierId,
      device_id: deviceId,
    };
    const waitS = this.options.chance.happens(ASYNC_SHARE) ? 0 : WAIT_S;
    try {
      const receipt = await this.fgw.receipts.create(sale, { idempotencyKey: marker, waitS });
      this.note(marker, { deviceId, startedMs, waitS, receipt });
      const final = await this.fgw.receipts.waitUntilFinal(receipt.id, { timeoutMs: WAIT_LIMIT_MS });
      if (final.status !== 'registered') this.complaints.push(`${marker} ended as ${final.status}`);
    } catch (error) {
      this.complaints.push(`${marker}: ${error instanceof ProblemError ? error.code : String(error)}`);
    }
  }

  private note(
    marker: string,
    { deviceId, startedMs, waitS, receipt }: { deviceId: string; startedMs: number; waitS: number; receipt: Receipt },
  ): void {
    const answeredMs = performance.now();
    const status = receipt.status === 'registered' ? 201 : 202;
    this.sold.push({
      ...{ marker, deviceId, startedMs, answeredMs, tookMs: answeredMs - startedMs, prefer: `wait=${waitS}` },
      answer: { status, headers: new Headers(), body: { id: receipt.id } },
      setbacks: [],
    });
  }
}
