import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { isProvider, type PaymentFlow } from '#payments';
import { Problem, type ProblemError } from '#problems';
import { PrepareReceipt, type Prepared, type PreparedForProvider } from '../receipts/prepare-receipt.js';
import type { ReceiptBody } from '../receipts/receipt-body.js';
import type { OpenAccount } from './accounts/account-settings.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { refuseCardData } from './card-data.js';
import type { Alternative } from './routing/alternative.js';
import { AUTO, autoFault, chooseProvider, routedFiscalMode } from './routing/choose-provider.js';
import { fiscalModeOf, termsOf, type FiscalMode } from './routing/payment-terms.js';
import { PaymentRouting } from './routing/payment-routing.js';

type Refused = Extract<Prepared, { kind: 'refused' }>;
type Sale = Extract<Prepared | PreparedForProvider, { kind: 'prepared' }>;

/** A sale whose money can be collected: through which account, how the money moves, who registers it, and what it becomes. */
export interface PreparedPayment {
  account: OpenAccount;
  flow: PaymentFlow;
  fiscalMode: FiscalMode;
  route: Sale['route'];
  document: StoredReceiptDocument;
  /** Where it may go instead while no money has moved; null: the caller has named its provider. */
  alternatives: Alternative[] | null;
}

const NO_ACCOUNT: ProblemError = {
  pointer: '/payment/provider',
  code: 'provider_unknown',
  detail: 'The merchant has no account at this payment provider; set one up under /v1/provider-accounts.',
};

/** Everything about a sale and its payment that can be wrong before money moves. Stores nothing. */
@Injectable()
export class PreparePayment {
  constructor(
    private readonly preparing: PrepareReceipt,
    private readonly accounts: ProviderAccounts,
    private readonly routing: PaymentRouting,
  ) {}

  /** @throws Problem 422 (rules, card data, provider not set up, none fits, mismatch), 503 (no device) */
  prepare(merchantId: string, body: ReceiptBody): Promise<PreparedPayment> {
    refuseCardData(body);
    return body.payment.provider === AUTO ? this.prepareRouted(merchantId, body) : this.prepareNamed(merchantId, body);
  }

  private async prepareNamed(merchantId: string, body: ReceiptBody): Promise<PreparedPayment> {
    const account = await this.accountFor(merchantId, body);
    const fiscalMode = account ? fiscalModeOf(account, body) : 'gateway';
    const prepared = await this.prepareSale(merchantId, body, fiscalMode);
    if (prepared.kind === 'refused' && (account || prepared.problem.errors.length === 0)) throw prepared.problem;
    // All that is wrong at once, as with every sale.
    if (!account || prepared.kind === 'refused') throw withOthers(prepared, NO_ACCOUNT);
    const { route, document } = sale(prepared);
    const terms = termsOf(account, body.payment, document, fiscalMode);
    if (terms.kind === 'refused') throw Problem.fromErrors(terms.faults);
    return { account, flow: terms.flow, fiscalMode, route, document, alternatives: null };
  }

  private async prepareRouted(merchantId: string, body: ReceiptBody): Promise<PreparedPayment> {
    const routing = await this.routing.of(merchantId);
    const fiscalMode = routedFiscalMode(routing, body);
    const prepared = await this.prepareSale(merchantId, body, fiscalMode);
    const wrong = autoFault(body.payment);
    if (prepared.kind === 'refused') throw wrong ? withOthers(prepared, wrong) : prepared.problem;
    if (wrong) throw Problem.fromErrors([wrong]);
    const { route, document } = sale(prepared);
    const chosen = chooseProvider(routing, body, document, fiscalMode);
    if ('pointer' in chosen) throw Problem.fromErrors([chosen]);
    return { ...chosen, fiscalMode, route, document };
  }

  private prepareSale(
    merchantId: string,
    body: ReceiptBody,
    fiscalMode: FiscalMode,
  ): Promise<Prepared | PreparedForProvider> {
    return fiscalMode === 'provider'
      ? this.preparing.prepareForProvider(merchantId, body)
      : this.preparing.prepare(merchantId, body, { collects: true });
  }

  private async accountFor(merchantId: string, { payment }: ReceiptBody): Promise<OpenAccount | undefined> {
    const provider = payment.provider ?? '';
    return isProvider(provider) ? this.accounts.liveOf(merchantId, provider) : undefined;
  }
}

function withOthers(prepared: Prepared | PreparedForProvider, fault: ProblemError): Problem {
  const refusal: Refused | null = prepared.kind === 'refused' ? prepared : null;
  return Problem.fromErrors([...(refusal?.problem.errors ?? []), fault]);
}

function sale(prepared: Sale): Sale {
  if (prepared.document.type === 'sale') return prepared;
  const detail = 'Only the money of a sale can be collected online.';
  throw Problem.fromErrors([{ pointer: '/type', code: 'invalid_value', detail }]);
}
