import { Inject, Injectable } from '@nestjs/common';
import { instrumentOwner } from '#database';
import type { NewReceipt, StoredIdentity } from '#ledger';
import type { Instrument } from '#payments';
import { Problem, type ProblemError } from '#problems';
import { canonicalJson, newIdOf, sha256 } from '#runtime';
import { seal } from '#secrets';
import { MerchantUsage, type Place } from '../fleet/usage/merchant-usage.js';
import { callerGone } from '../http/caller-gone.js';
import { judgeConflict } from '../receipts/accept-receipts.js';
import { identityOf, newReceipt, storedOrThrow, type CreateReceiptCommand } from '../receipts/create-receipt.js';
import { isLost, outcomeUnclear } from '../receipts/outcome-unclear.js';
import type { PaymentBody } from '../receipts/receipt-body.js';
import { receiptArchived } from '../receipts/missing-receipt.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { refuseCardData } from './card-data.js';
import { PaymentRows, type NewPayment } from './repository/payment-rows.repository.js';
import type { PaymentRequestBody } from './payment-request-body.js';
import { PreparePayment, type PreparedFurther, type PreparedPayment } from './prepare-payment.js';
import { checkoutOf } from './provider-clients.js';

/** A payment's request: as a receipt's, with the receipts of other sellers. */
export type CreatePaymentCommand = Omit<CreateReceiptCommand, 'body'> & { body: PaymentRequestBody };

export interface CreatedPayment {
  /** The first one's. */
  receiptId: string;
  furtherReceiptIds: readonly string[];
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

  /** @throws Problem 422 (rules, card data, provider not set up, mismatch), 409 (same key being written), 410 (archived), 503 (no device) */
  async execute(command: CreatePaymentCommand, operation: 'receipts' | 'payments'): Promise<CreatedPayment> {
    // Before anything is searched by what the caller sent.
    refuseCardData(command.body);
    const identity = identityOf(command, operation);
    const known = await this.findReplay(identity);
    if (known) return known;
    const prepared = await this.preparing.prepare(command.merchantId, command.body);
    const payment = this.newPayment(prepared, command.body.payment);
    const receipt = newReceipt(identity, prepared.route, prepared.document);
    const further = prepared.further.map((each) =>
      newReceipt(furtherIdentity(identity, each), each.route, each.document),
    );
    if (command.isCallerGone?.() === true) throw callerGone();
    const isNew = await this.store([receipt, ...further], () => this.payments.insert(receipt, payment, further));
    if (!isNew) {
      const taken = await this.findReplay(identity);
      if (taken) return taken;
      await this.refuseTaken(further);
      throw new Problem('idempotency_in_progress', 'The same request is still being written; ask again shortly.');
    }
    const { id: receiptId } = identity;
    const furtherReceiptIds = further.map(({ id }) => id);
    const hasBegun = payment.state === 'pending';
    return { receiptId, furtherReceiptIds, paymentId: payment.id, hasBegun, replayed: false };
  }

  /** Within the merchant's quota, which each receipt counts for. @returns whether it was written */
  private async store(
    receipts: readonly NewReceipt<string | null>[],
    insert: () => Promise<boolean>,
  ): Promise<boolean> {
    const places: Place[] = [];
    try {
      for (const { merchantId, document } of receipts)
        places.push(await this.usage.admit(merchantId, Buffer.byteLength(JSON.stringify(document))));
      const isNew = await insert();
      if (isNew) for (const place of places) place.keep();
      return isNew;
    } catch (error) {
      throw isLost(error) ? outcomeUnclear(error) : error;
    } finally {
      for (const place of places) place.release();
    }
  }

  /** @throws Problem 422: a further receipt's external_id belongs to a receipt of another request */
  private async refuseTaken(further: readonly NewReceipt[]): Promise<void> {
    const known = await this.receipts.findIdentities(further.filter(({ externalId }) => externalId !== null));
    const faults = further.flatMap(({ externalId }, index): ProblemError[] => {
      const taken = externalId === null ? undefined : known.find((each) => each.externalId === externalId);
      if (!taken) return [];
      const pointer = `/further_receipts/${String(index)}/external_id`;
      return [{ pointer, code: 'invalid_value', detail: `It belongs to receipt ${taken.id} of another request.` }];
    });
    if (faults.length > 0) throw Problem.fromErrors(faults);
  }

  private async findReplay(identity: StoredIdentity): Promise<CreatedPayment | null> {
    if (identity.idempotencyKey === null && identity.externalId === null) return null;
    const stored = await this.receipts.findIdentities([identity]);
    if (stored.length === 0) return null;
    const { id: receiptId } = storedOrThrow(judgeConflict(identity, stored));
    const payment = await this.payments.findOfReceipt(identity.merchantId, receiptId);
    if (!payment) {
      const archive = await this.receipts.archiveOf(identity.merchantId, receiptId);
      if (archive !== null) throw receiptArchived(archive);
      throw new Problem('idempotency_mismatch', `The key belongs to receipt ${receiptId}, which has no payment.`);
    }
    const furtherReceiptIds = payment.further_receipts;
    return { receiptId, furtherReceiptIds, paymentId: payment.id, hasBegun: true, replayed: true };
  }

  private newPayment(
    { account, flow, fiscalMode, whole, alternatives }: PreparedPayment,
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
      nextAction: flow === 'inbound' ? checkoutOf(account, { id, returnUrl, totalTiyin: whole.totalTiyin }) : null,
      alternatives,
      instrumentSealed: sealed,
      waitsForCapture: body.capture === 'manual',
      customerMs: this.settings.PAYMENT_CUSTOMER_MS,
    };
  }
}

/** The request's key belongs to the first receipt; the others are written with it or not at all. */
function furtherIdentity(first: StoredIdentity, { body }: PreparedFurther): StoredIdentity {
  return {
    ...first,
    id: newIdOf('rcp', first.merchantId),
    idempotencyKey: null,
    externalId: body.external_id ?? null,
    bodyHash: sha256(canonicalJson(body)),
  };
}
