import { Inject, Injectable } from '@nestjs/common';
import { instrumentOwner } from '#database';
import type { StoredIdentity } from '#ledger';
import type { Instrument } from '#payments';
import { Problem } from '#problems';
import { newIdOf } from '#runtime';
import { seal } from '#secrets';
import { MerchantUsage } from '../fleet/usage/merchant-usage.js';
import { callerGone } from '../http/caller-gone.js';
import { judgeConflict } from '../receipts/accept-receipts.js';
import { identityOf, newReceipt, storedOrThrow, type CreateReceiptCommand } from '../receipts/create-receipt.js';
import { isLost, outcomeUnclear } from '../receipts/outcome-unclear.js';
import type { PaymentBody } from '../receipts/receipt-body.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { refuseCardData } from './card-data.js';
import { PaymentRows, type NewPayment } from './repository/payment-rows.repository.js';
import { PreparePayment, type PreparedPayment } from './prepare-payment.js';
import { checkoutOf } from './provider-clients.js';

export interface CreatedPayment {
  receiptId: string;
  paymentId: string;
  /** The provider has to be asked before the customer can go on. */
  hasBegun: boolean;
  replayed: boolean;
}

/**
 * POST /v1/payments, and POST /v1/receipts with the method "online": everything about the sale is checked before money moves, then
 * the receipt (waiting) and its payment (intent) are one commit. What follows is the saga's.
 */
@Injectable()
export class CreatePayment {
  constructor(
    private readonly preparing: PreparePayment,
    private readonly receipts: ReceiptRepository,
    private readonly payments: PaymentRows,
    private readonly usage: MerchantUsage,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** @throws Problem 422 (rules, card data, provider not set up, mismatch), 409 (same key being written), 503 (no device) */
  async execute(command: CreateReceiptCommand, operation: 'receipts' | 'payments'): Promise<CreatedPayment> {
    // Before anything is searched by what the caller sent.
    refuseCardData(command.body);
    const identity = identityOf(command, operation);
    const known = await this.findReplay(identity);
    if (known) return known;
    const prepared = await this.preparing.prepare(command.merchantId, command.body);
    const payment = this.newPayment(prepared, command.body.payment);
    const receipt = newReceipt(identity, prepared.route, prepared.document);
    if (command.isCallerGone?.() === true) throw callerGone();
    const bytes = Buffer.byteLength(JSON.stringify(prepared.document));
    const place = await this.usage.admit(command.merchantId, bytes);
    const isNew = await this.payments.insert(receipt, payment).catch((error: unknown) => {
      place.release();
      throw isLost(error) ? outcomeUnclear(error) : error;
    });
    if (isNew) place.keep();
    place.release();
    if (!isNew) {
      const taken = await this.findReplay(identity);
      if (taken) return taken;
      throw new Problem('idempotency_in_progress', 'The same request is still being written; ask again shortly.');
    }
    const { id: receiptId } = identity;
    return { receiptId, paymentId: payment.id, hasBegun: payment.state === 'pending', replayed: false };
  }

  private async findReplay(identity: StoredIdentity): Promise<CreatedPayment | null> {
    if (identity.idempotencyKey === null && identity.externalId === null) return null;
    const stored = await this.receipts.findIdentities([identity]);
    if (stored.length === 0) return null;
    const { id: receiptId } = storedOrThrow(judgeConflict(identity, stored));
    const payment = await this.payments.findOfReceipt(identity.merchantId, receiptId);
    if (!payment)
      throw new Problem('idempotency_mismatch', `The key belongs to receipt ${receiptId}, which has no payment.`);
    return { receiptId, paymentId: payment.id, hasBegun: true, replayed: true };
  }

  private newPayment(
    { account, flow, fiscalMode, document, alternatives }: PreparedPayment,
    body: PaymentBody,
  ): NewPayment {
    const id = newIdOf('pay', account.merchantId);
    const { token = null, phone = null, qr_code: qr = null, otp = null, return_url: returnUrl = null } = body;
    const instrument: Instrument = { token, phone, qr, otp };
    const hasInstrument = token !== null || phone !== null || qr !== null;
    const sealed = hasInstrument
      ? seal(JSON.stringify(instrument), instrumentOwner(id), this.settings.SECRETS_KEY)
      : null;
    return {
      ...{ id, accountId: account.id, provider: account.provider, flow, fiscalMode, returnUrl },
      // The customer goes to the provider first: no call has to be made before.
      state: flow === 'inbound' ? 'pending' : 'created',
      nextAction: flow === 'inbound' ? checkoutOf(account, { id, returnUrl, totalTiyin: document.totalTiyin }) : null,
      alternatives,
      instrumentSealed: sealed,
      waitsForCapture: body.capture === 'manual',
      customerMs: this.settings.PAYMENT_CUSTOMER_MS,
    };
  }
}
