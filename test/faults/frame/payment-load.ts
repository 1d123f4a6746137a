import { setTimeout as delay } from 'node:timers/promises';
import type { PaymentView } from '../../../apps/gateway/src/payments/payment-view.js';
import type { PaymentsRig } from '../../system/payments-rig.js';
import { codeOf } from './load.js';

export interface SoldOnline {
  paymentId: string;
  receiptId: string;
  /** Name of the only item of each of its receipts, which comes out at the OFD. */
  markers: string[];
}

export interface PaymentLoadOptions {
  /** What the customers pay with, in turn. */
  ways: readonly Record<string, unknown>[];
  prefix: string;
  /** Payments in all; Infinity: until `stop()`. */
  total: number;
  desks?: number;
  /** Pause of a desk between two payments. */
  breathMs?: number;
  /** Every so often a payment for two receipts; by default there are such. */
  hasCarts?: boolean;
}

const DESKS = 8;
const GIVE_UP_MS = 180_000;
/** How often a customer presses the button of a payment that still waits for it. */
const PRESSES = 4;
/** Between the request and the page. */
const IS_ASKED: readonly string[] = ['created', 'authorizing', 'authorize_unknown'];
const PRICE_TIYIN = 112_000;
/** Every so often the money is for two sellers, each with a receipt at a register of its own. */
const CART_EVERY = 4;
const itemNamed = (name: string) => ({ sku: 'sku-0', name, price: PRICE_TIYIN, qty: 1 });

/** Shops whose sales are paid online: each sale under its own key, asked again until it is answered. */
export class PaymentLoad {
  readonly sold: SoldOnline[] = [];
  readonly complaints: string[] = [];
  /** What shops were answered before they were answered well: "503 database_unavailable", "ECONNREFUSED". */
  readonly setbacks: string[] = [];
  private issued = 0;
  private isStopped = false;
  private readonly desks: Promise<unknown>;

  constructor(
    private readonly rig: PaymentsRig,
    private readonly options: PaymentLoadOptions,
  ) {
    this.desks = Promise.all(Array.from({ length: options.desks ?? DESKS }, () => this.desk()));
  }

  stop(): void {
    this.isStopped = true;
  }

  async reaches(count: number): Promise<void> {
    while (this.sold.length + this.complaints.length < count) await delay(20);
  }

  async end(): Promise<SoldOnline[]> {
    await this.desks;
    return this.sold;
  }

  private async desk(): Promise<void> {
    while (!this.isStopped && this.issued < this.options.total) {
      if (this.options.breathMs) await delay(this.options.breathMs);
      this.issued += 1;
      const nth = this.issued;
      const marker = `${this.options.prefix}-${String(nth)}`;
      const answered = await this.pay(nth, marker);
      if (!answered) continue;
      // A release before knows payments for one receipt only.
      const further = (answered as Partial<PaymentView>).further_receipts ?? [];
      const markers = [marker, ...further.map(({ items }) => items[0]?.name ?? '')];
      this.sold.push({ paymentId: answered.id, receiptId: answered.receipt.id, markers });
      const view = await this.whenBegun(answered);
      if (view.status === 'pending') await this.pressUntilBegun(view);
    }
  }

  /** A gateway that was killed answers nothing, an invoice that could not be made yet has no page: the same is asked again. */
  private async pay(nth: number, marker: string): Promise<PaymentView | null> {
    const { client } = this.rig.system;
    const { tills } = client.merchant;
    const isCart = this.options.hasCarts !== false && nth % CART_EVERY === 0;
    const body = client.saleOf(nth % tills.length, {
      items: [itemNamed(marker)],
      payment: { method: 'online', ...this.options.ways[nth % this.options.ways.length] },
      device_id: tills[nth % tills.length]?.deviceId,
      ...(isCart && {
        further_receipts: [{ items: [itemNamed(`${marker}/2`)], device_id: tills[(nth + 1) % tills.length]?.deviceId }],
      }),
    });
    const deadline = Date.now() + GIVE_UP_MS;
    let last = '';
    while (Date.now() < deadline) {
      try {
        const answer = await client.post('/v1/payments', body, { 'idempotency-key': marker, prefer: 'wait=2' });
        const view = answer.body as unknown as PaymentView;
        if (answer.status < 300 && view.status !== 'created') return view;
        last = `${String(answer.status)} ${answer.body.code ?? view.status}`;
        if (answer.status >= 300) this.setbacks.push(last);
        if (answer.status === 401) client.forgetToken();
        else if (answer.status >= 400 && answer.body.retryable !== true) break;
      } catch (error) {
        last = codeOf(error);
        this.setbacks.push(last);
      }
      await delay(150 + Math.random() * 100);
    }
    this.complaints.push(`${marker} was never answered, last: ${last}`);
    return null;
  }

  /** A repeat is answered as the payment stands: while the provider is being asked there is no page yet, and the shop reads on. */
  private async whenBegun(answered: PaymentView): Promise<PaymentView> {
    const deadline = Date.now() + GIVE_UP_MS;
    let view = answered;
    while (IS_ASKED.includes(view.status) && Date.now() < deadline) {
      await delay(200);
      view = (await this.read(view.id)) ?? view;
    }
    return view;
  }

  private async pressUntilBegun(view: PaymentView): Promise<void> {
    for (let presses = 0; presses < PRESSES; presses += 1) {
      await this.rig.press(view);
      if (((await this.read(view.id)) ?? view).status !== 'pending') return;
    }
  }

  /** Null: it was not answered, or by a gateway that cannot say now. */
  private async read(id: string): Promise<PaymentView | null> {
    const { client } = this.rig.system;
    const answer = await client.get(`/v1/payments/${id}`).catch(() => null);
    if (answer?.status === 401) client.forgetToken();
    return answer?.status === 200 ? (answer.body as unknown as PaymentView) : null;
  }
}
