import { Inject, Injectable } from '@nestjs/common';
import { instrumentOwner, SalesDatabase, type Prisma } from '#database';
import { isWithoutMoney, type Instrument, type PaymentState } from '#payments';
import type { ReceiptStatus } from '#fiscal-domain';
import { Problem } from '#problems';
import { seal } from '#secrets';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { missingPayment } from './missing-payment.js';
import { payBackWhole } from './pay-back-refund.js';
import { PaymentWorker } from './payment-worker.js';
import type { PaymentFacts } from './payment.rows.js';
import { ALL_RECEIPTS } from './several-receipts.js';
import { giveCode, noteDelivery, requestCancel, requestCapture } from './repository/payment-writes.js';

interface Locked extends Pick<PaymentFacts, 'state' | 'waits_for_capture' | 'fiscal_mode' | 'flow' | 'code'> {
  /** Of all its receipts. */
  receipts: ReceiptStatus[];
}

/** Nothing is taken yet, and nothing is being taken. */
const UNTAKEN: ReadonlySet<PaymentState> = new Set(['created', 'pending', 'reserved', 'authorized']);

/** At its register, or perhaps. */
const SOLD: ReadonlySet<ReceiptStatus> = new Set(['registered', 'sending', 'unknown']);

/** What a client may still want of a payment. The wish is written down; the saga carries it out, now or after a crash. */
@Injectable()
export class ChangePayment {
  constructor(
    private readonly prisma: SalesDatabase,
    private readonly worker: PaymentWorker,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** One that ended without money is left as it is. @throws Problem 404; 409 payment_not_cancellable */
  async cancel(merchantId: string, id: string): Promise<void> {
    await this.locked(merchantId, id, async (tx, { state, receipts, fiscal_mode: mode, flow }) => {
      if (isWithoutMoney(state)) return;
      // A provider that asked has the answer that it may keep the money.
      const isKept = flow === 'veto' && state === 'reserved';
      if (mode === 'provider' && (isKept || !UNTAKEN.has(state)))
        throw new Problem(
          'payment_not_cancellable',
          'The provider registers the sale with the money; refund it instead.',
        );
      const isSold = receipts.some((receipt) => SOLD.has(receipt));
      if (isSold) {
        const detail = receipts.includes('registered')
          ? 'The sale is registered; refund its receipt instead.'
          : 'The receipt has left for its register, which may have it.';
        throw new Problem('payment_not_cancellable', detail);
      }
      await requestCancel(tx, id);
    });
    await this.worker.process(id);
  }

  /**
   * The code that the provider has sent to the customer. Kept sealed until it was tried.
   * @throws Problem 404; 409 payment_not_confirmable
   */
  async confirm(merchantId: string, id: string, otp: string): Promise<void> {
    await this.locked(merchantId, id, async (tx, { state, code }) => {
      if (state === 'authorizing' || state === 'authorized' || state === 'captured') return;
      if (state !== 'pending' || code === 'none')
        throw new Problem('payment_not_confirmable', `The payment is ${state} and waits for no code.`);
      const instrument: Instrument = { token: null, phone: null, qr: null, otp };
      const sealed = seal(JSON.stringify(instrument), instrumentOwner(id), this.settings.SECRETS_KEY);
      await giveCode(tx, id, sealed);
    });
    await this.worker.process(id);
  }

  /** @throws Problem 404; 409 payment_not_capturable */
  async capture(merchantId: string, id: string): Promise<void> {
    await this.locked(merchantId, id, async (tx, { state, waits_for_capture: isAwaited }) => {
      if (!isAwaited && (state === 'captured' || state === 'authorized')) return;
      if (!isAwaited || state !== 'authorized') {
        throw new Problem('payment_not_capturable', `The payment is ${state} and waits for no capture.`);
      }
      await requestCapture(tx, id);
    });
    await this.worker.process(id);
  }

  /**
   * What was delivered, or is not any more: a provider that asks before it gives money back (Payme) is refused meanwhile.
   * @throws Problem 404; 409 payment_not_deliverable
   */
  async deliver(merchantId: string, id: string, isDelivered: boolean): Promise<void> {
    await this.locked(merchantId, id, async (tx, { state }) => {
      if (isDelivered && state !== 'captured')
        throw new Problem('payment_not_deliverable', `The payment is ${state}; only what is paid is delivered.`);
      await noteDelivery(tx, id, isDelivered);
    });
  }

  /** @throws Problem 404; 409 payment_of_one_receipt, payment_not_settled, refund_by_provider */
  async refundWhole(merchantId: string, id: string): Promise<void> {
    await this.locked(merchantId, id, (tx) => payBackWhole(tx, id));
    await this.worker.process(id);
  }

  /** Receipts first, then payment: the order in which every transaction takes them. */
  private locked(
    merchantId: string,
    id: string,
    change: (tx: Prisma.TransactionClient, row: Locked) => Promise<void>,
  ): Promise<void> {
    return this.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`
        SELECT FROM payments p JOIN receipts r ON r.id = ANY(${ALL_RECEIPTS})
         WHERE p.id = ${id} AND p.merchant_id = ${merchantId} ORDER BY r.id FOR UPDATE OF r`;
      const [row] = await tx.$queryRaw<Locked[]>`
        SELECT p.state, p.waits_for_capture, p.fiscal_mode, p.flow, p.code,
               ARRAY(SELECT r.status::text FROM receipts r WHERE r.id = ANY(${ALL_RECEIPTS})) AS receipts
          FROM payments p
         WHERE p.id = ${id} AND p.merchant_id = ${merchantId} FOR UPDATE OF p`;
      if (!row) throw await missingPayment(tx, merchantId, id);
      await change(tx, row);
    });
  }
}
