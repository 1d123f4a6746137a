import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { Answer, GatewayClient } from '../../system/gateway-client.js';
import type { Till } from '../../system/merchant.js';

/** A sale that was answered with 2xx: from here on it must exist, once. */
export interface Sold {
  /** Name of its only item, which comes out at the OFD. */
  marker: string;
  deviceId: string;
  /** Of the first try. */
  startedMs: number;
  answeredMs: number;
  /** Of the last try alone. */
  tookMs: number;
  prefer: string;
  answer: Answer;
  /** What the client was answered before: "503 database_unavailable", "ECONNREFUSED". */
  setbacks: string[];
}

export interface LoadOptions {
  prefix: string;
  chance: Chance;
  /** Sales in all; without it they go on until `stop()`. */
  total?: number;
  perTill?: number;
  /** Share of sales that do not wait for the register. */
  asyncShare?: number;
  waitS?: number;
  breathMs?: number;
  /** The desks begin one after the other within this time, drawn by chance, instead of all at once. */
  startWithinMs?: number;
  tills?: readonly Till[];
}

const GIVE_UP_MS = 150_000;
const PRICE_TIYIN = 112_000;

/**
 * Cash desks that sell one after the other and, as clients should, ask again with the same key until they
 * are answered. Every answer that they should not have got is kept as a complaint.
 */
export class Load {
  readonly sold: Sold[] = [];
  readonly complaints: string[] = [];
  /** Answers with 503, also to those who are still asking. */
  refusals = 0;
  /** What was said to those who were. */
  readonly refusedBecause = new Set<string>();
  private issued = 0;
  private count = 0;
  private readonly stopping = new AbortController();
  private readonly desks: Promise<unknown>;

  constructor(
    private readonly client: GatewayClient,
    private readonly options: LoadOptions,
  ) {
    const { perTill = 3, tills = client.merchant.tills } = options;
    setMaxListeners(tills.length * perTill + 1, this.stopping.signal);
    this.desks = Promise.all(
      Array.from({ length: tills.length * perTill }, (_, index) => this.desk(tills[index % tills.length] as Till)),
    );
  }

  stop(): void {
    this.stopping.abort();
  }

  get isOver(): boolean {
    return this.stopping.signal.aborted || this.issued >= (this.options.total ?? Infinity);
  }

  /** Waits until so many have been sold. */
  async reaches(count: number, limitMs = 180_000): Promise<void> {
    const deadline = performance.now() + limitMs;
    while (this.sold.length < count) {
      if (performance.now() > deadline) throw new Error(`only ${this.sold.length} of ${count} receipts were sold`);
      await delay(20);
    }
  }

  /** All that was sold; waits for those who are still asking. */
  async end(): Promise<Sold[]> {
    if (this.options.total === undefined) this.stop();
    await this.desks;
    return this.sold;
  }

  /** One sale more, for measuring when the system works again. */
  sellOnce(till: Till, prefer: string): Promise<Sold | null> {
    return this.sell(till, prefer);
  }

  private async desk(till: Till): Promise<void> {
    const { chance, asyncShare = 0.2, waitS = 5, breathMs = 40, startWithinMs = 0 } = this.options;
    if (startWithinMs > 0) await this.breathe(chance.between(0, startWithinMs));
    while (!this.isOver) {
      this.issued += 1;
      await this.sell(till, chance.happens(asyncShare) ? 'respond-async' : `wait=${waitS}`);
      if (breathMs > 0) await this.breathe(breathMs);
    }
  }

  /** Ends early when the load is stopped. */
  private async breathe(ms: number): Promise<void> {
    const { signal } = this.stopping;
    await delay(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  private async sell({ deviceId, cashierId }: Till, prefer: string): Promise<Sold | null> {
    this.count += 1;
    const marker = `${this.options.prefix}-${this.count}`;
    const body = {
      items: [{ sku: 'sku-0', name: marker, price: PRICE_TIYIN, qty: 1 }],
      payment: { method: 'cash' },
      cashier_id: cashierId,
      device_id: deviceId,
    };
    const startedMs = performance.now();
    const setbacks: string[] = [];
    for (;;) {
      const triedMs = performance.now();
      const reply = await this.client
        .post('/v1/receipts', body, { 'idempotency-key': marker, prefer })
        .then((answer) => ({ answer }))
        .catch((error: unknown) => ({ error }));
      const answeredMs = performance.now();
      if ('answer' in reply && [201, 202].includes(reply.answer.status)) {
        const tookMs = answeredMs - triedMs;
        const sold = { marker, deviceId, startedMs, answeredMs, tookMs, prefer, answer: reply.answer, setbacks };
        this.sold.push(sold);
        return sold;
      }
      setbacks.push('answer' in reply ? `${reply.answer.status} ${reply.answer.body.code}` : codeOf(reply.error));
      if ('answer' in reply && reply.answer.status === 503) {
        this.refusals += 1;
        this.refusedBecause.add(String(reply.answer.body.detail));
      }
      if ('answer' in reply && !this.maySayThat(marker, reply.answer)) return null;
      if (answeredMs - startedMs > GIVE_UP_MS) {
        this.complaints.push(`${marker} was never accepted, last: ${setbacks.at(-1)}`);
        return null;
      }
      await delay(50 + Math.random() * 100);
    }
  }

  /** False when asking again makes no sense. A refusal in an outage must say that it does, and when. */
  private maySayThat(marker: string, { status, headers, body }: Answer): boolean {
    if (status === 401) {
      this.client.forgetToken();
      return true;
    }
    const isPolite = body.retryable === true && headers.has('retry-after');
    if (!isPolite || ![409, 429, 503].includes(status))
      this.complaints.push(`${marker}: ${status} ${body.code} ${body.detail}`);
    return body.retryable === true;
  }
}

/** What a balancer hides from clients: it asks the other gateway. */
const ASKED_THE_OTHER_ONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE']);

/** Setbacks that clients behind a balancer see while programs are replaced one after the other. */
export function seenBehindBalancer(setbacks: readonly string[]): { refused: string[]; unfit: string[] } {
  const seen = setbacks.filter((setback) => !ASKED_THE_OTHER_ONE.has(setback));
  const isRefused = (setback: string): boolean => setback.startsWith('503 ');
  return { refused: seen.filter(isRefused), unfit: [...new Set(seen.filter((setback) => !isRefused(setback)))] };
}

/** fetch says "fetch failed"; what failed is its cause. */
export function codeOf(error: unknown): string {
  const { cause, name, message } = error as { cause?: { code?: string }; name?: string; message?: string };
  return cause?.code ?? (message?.startsWith('no token') ? message.slice(0, 13) : name) ?? 'unknown';
}

/** Strikes `times` times at moments drawn over the course of a load with a total. */
export async function strikeAlong(
  load: Pick<Load, 'reaches'>,
  { times, total, chance }: { times: number; total: number; chance: Chance },
  strike: (nth: number) => Promise<void>,
): Promise<number> {
  let struck = 0;
  for (let nth = 0; nth < times; nth += 1) {
    const due = Math.floor(((nth + chance.next()) / times) * total * 0.95);
    await load.reaches(due);
    await strike(nth);
    struck += 1;
  }
  return struck;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
