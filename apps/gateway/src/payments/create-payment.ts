import { Inject, Injectable } from '@nestjs/common';
import { instrumentOwner, type StoredReceiptDocument } from '#database';
import {
  paymeCheckoutLink,
  tiyinToSom,
  unsayable,
  type Instrument,
  type NextAction,
  type PaymentFlow,
} from '#payments';
import { newId, Problem, seal, type ProblemError } from '#runtime';
import { callerGone } from '../http/caller-gone.js';
import { judgeConflict } from '../receipts/accept-receipts.js';
import { identityOf, newReceipt, storedOrThrow, type CreateReceiptCommand } from '../receipts/create-receipt.js';
import { isLost, outcomeUnclear } from '../receipts/outcome-unclear.js';
import { PrepareReceipt } from '../receipts/prepare-receipt.js';
import type { PaymentBody, ReceiptBody } from '../receipts/receipt-body.js';
import { ReceiptRepository, type StoredIdentity } from '../receipts/receipt.repository.js';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { isProvider, valueOf, type OpenAccount } from './accounts/account-settings.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { refuseCardData } from './card-data.js';
import { capabilitiesOf, lineFormOf } from './provider-clients.js';
import { PaymentRows, type NewPayment } from './payment-rows.repository.js';

export interface CreatedPayment {
  receiptId: string;
  paymentId: string;
  /** Somebody has to be asked before the customer can go on. */
  hasBegun: boolean;
  replayed: boolean;
}

const NO_ACCOUNT: ProblemError = {
  pointer: '/payment/provider',
  code: 'provider_unknown',
  detail: 'The merchant has no account at this payment provider; set one up under /v1/provider-accounts.',
};

/**
 * POST /v1/payments, and POST /v1/receipts with the method "online": everything about the sale is checked before money moves, then
 * the receipt (waiting) and its payment (intent) are one commit. What follows is the saga's.
 */
@Injectable()
export class CreatePayment {
  constructor(
    private readonly preparing: PrepareReceipt,
    private readonly accounts: ProviderAccounts,
    private readonly receipts: ReceiptRepository,
    private readonly payments: PaymentRows,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** @throws Problem 422 (rules, card data, provider not set up, mismatch), 409 (same key being written), 503 (no device) */
  async execute(command: CreateReceiptCommand, operation: 'receipts' | 'payments'): Promise<CreatedPayment> {
    refuseCardData(command.body);
    const identity = identityOf(command, operation);
    const known = await this.findReplay(identity);
    if (known) return known;
    const account = await this.accountFor(command);
    const fiscalMode = account ? fiscalModeOf(account, command.body) : 'gateway';
    const prepared =
      fiscalMode === 'provider'
        ? await this.preparing.prepareForProvider(command.merchantId, command.body)
        : await this.preparing.prepare(command.merchantId, command.body, { collects: true });
    if (prepared.kind === 'refused' && (account || prepared.problem.errors.length === 0)) throw prepared.problem;
    if (!account || prepared.kind === 'refused') {
      // All that is wrong at once, as with every sale.
      const others = prepared.kind === 'refused' ? prepared.problem.errors : [];
      throw Problem.fromErrors([...others, NO_ACCOUNT]);
    }
    if (prepared.document.type !== 'sale') {
      throw fault('/type', 'invalid_value', 'Only the money of a sale can be collected online.');
    }
    if (fiscalMode === 'provider') refuseUnsayable(account, prepared.document);
    const payment = { ...this.newPayment(account, command.body.payment, prepared.document), fiscalMode };
    const receipt = newReceipt(identity, prepared.route, prepared.document);
    if (command.isCallerGone?.() === true) throw callerGone();
    const isNew = await this.payments.insert(receipt, payment).catch((error: unknown) => {
      throw isLost(error) ? outcomeUnclear(error) : error;
    });
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

  private async accountFor({ merchantId, body }: CreateReceiptCommand): Promise<OpenAccount | undefined> {
    const provider = body.payment.provider ?? '';
    return isProvider(provider) ? this.accounts.liveOf(merchantId, provider) : undefined;
  }

  private newPayment(
    account: OpenAccount,
    body: PaymentBody,
    document: StoredReceiptDocument,
  ): Omit<NewPayment, 'fiscalMode'> {
    const flow = flowFor(account, body);
    const id = newId('pay');
    const { token = null, phone = null, qr_code: qr = null, otp = null, return_url: returnUrl = null } = body;
    const instrument: Instrument = { token, phone, qr, otp };
    const hasInstrument = token !== null || phone !== null || qr !== null;
    const sealed = hasInstrument
      ? seal(JSON.stringify(instrument), instrumentOwner(id), this.settings.SECRETS_KEY)
      : null;
    if (body.capture === 'manual' && (flow !== 'hold' || token === null)) {
      const detail = 'Only money that is held first can be captured later; this provider holds it by token alone.';
      throw fault('/payment/capture', 'invalid_value', detail);
    }
    return {
      ...{ id, accountId: account.id, provider: account.provider, flow, returnUrl },
      // The customer goes to the provider first: nobody has to be asked before.
      state: flow === 'inbound' ? 'pending' : 'created',
      nextAction: flow === 'inbound' ? checkoutOf(account, { id, returnUrl, document }) : null,
      instrumentSealed: sealed,
      waitsForCapture: body.capture === 'manual',
      customerMs: this.settings.PAYMENT_CUSTOMER_MS,
    };
  }
}

/** Who registers this sale. Pieces with marking codes are our own registers' business, whatever the account says. */
function fiscalModeOf(account: OpenAccount, { items }: ReceiptBody): NewPayment['fiscalMode'] {
  const isMarked = items.some(({ labels }) => labels !== undefined && labels.length > 0);
  return valueOf(account, 'fiscal_mode') === 'provider' && !isMarked ? 'provider' : 'gateway';
}

/** What a provider's form of a line has no room for, or not for sure: better no sale than one that it registers wrongly. */
function refuseUnsayable(account: OpenAccount, { lines }: StoredReceiptDocument): void {
  const form = lineFormOf(account);
  const faults = lines.flatMap((line, index): ProblemError[] => {
    const lost = unsayable(line, form);
    if (!lost) return [];
    const detail = `${account.provider} registers this sale, and takes ${lost.detail}.`;
    return [{ pointer: `/items/${String(index)}/${lost.field}`, code: 'invalid_value', detail }];
  });
  if (faults.length > 0) throw Problem.fromErrors(faults);
}

function flowFor(account: OpenAccount, { token, qr_code: qr, phone }: PaymentBody): PaymentFlow {
  const { provider } = account;
  const { flows } = capabilitiesOf(account);
  if (token !== undefined && qr !== undefined)
    throw fault('/payment/qr_code', 'invalid_value', 'Say token or qr_code, not both.');
  const given = token !== undefined ? 'token' : qr !== undefined ? 'qr' : phone !== undefined ? 'phone' : 'none';
  const flow = flows[given];
  if (flow !== null) return flow;
  throw fault(
    `/payment/${given === 'qr' ? 'qr_code' : given}`,
    'invalid_value',
    `${provider} cannot be asked for a payment by ${given}.`,
  );
}

function checkoutOf(
  account: OpenAccount,
  { id, returnUrl, document }: { id: string; returnUrl: string | null; document: StoredReceiptDocument },
): NextAction {
  const value = (name: string): string => valueOf(account, name);
  const amountTiyin = document.totalTiyin;
  if (account.provider === 'payme') {
    const where = { host: value('checkout_url'), cashboxId: value('cashbox_id'), accountField: value('account_field') };
    return { type: 'redirect', url: paymeCheckoutLink({ ...where, account: id, amountTiyin, returnUrl }) };
  }
  const url = new URL(value('checkout_url'));
  const query = {
    ...{ service_id: value('service_id'), merchant_id: value('merchant_id'), amount: tiyinToSom(amountTiyin) },
    ...{ transaction_param: id, ...(returnUrl !== null && { return_url: returnUrl }) },
  };
  for (const [name, text] of Object.entries(query)) url.searchParams.set(name, text);
  return { type: 'redirect', url: url.href };
}

function fault(pointer: string, code: 'invalid_value', detail: string): Problem {
  return Problem.fromErrors([{ pointer, code, detail }]);
}
