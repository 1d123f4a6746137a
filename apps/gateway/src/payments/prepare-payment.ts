import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { isProvider, unsayable, type PaymentFlow } from '#payments';
import { Problem, type ProblemError } from '#problems';
import { PrepareReceipt, type Prepared, type PreparedForProvider } from '../receipts/prepare-receipt.js';
import type { PaymentBody, ReceiptBody } from '../receipts/receipt-body.js';
import { valueOf, type OpenAccount } from './accounts/account-settings.js';
import { ProviderAccounts } from './accounts/provider-accounts.js';
import { refuseCardData } from './card-data.js';
import { capabilitiesOf, lineFormOf } from './provider-clients.js';

type Route = Extract<Prepared | PreparedForProvider, { kind: 'prepared' }>['route'];

/** A sale whose money can be collected: through which account, how the money moves, who registers it, and what it becomes. */
export interface PreparedPayment {
  account: OpenAccount;
  flow: PaymentFlow;
  fiscalMode: 'gateway' | 'provider';
  route: Route;
  document: StoredReceiptDocument;
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
  ) {}

  /** @throws Problem 422 (rules, card data, provider not set up, mismatch), 503 (no device) */
  async prepare(merchantId: string, body: ReceiptBody): Promise<PreparedPayment> {
    refuseCardData(body);
    const account = await this.accountFor(merchantId, body);
    const fiscalMode = account ? fiscalModeOf(account, body) : 'gateway';
    const prepared =
      fiscalMode === 'provider'
        ? await this.preparing.prepareForProvider(merchantId, body)
        : await this.preparing.prepare(merchantId, body, { collects: true });
    if (prepared.kind === 'refused' && (account || prepared.problem.errors.length === 0)) throw prepared.problem;
    if (!account || prepared.kind === 'refused') {
      // All that is wrong at once, as with every sale.
      const others = prepared.kind === 'refused' ? prepared.problem.errors : [];
      throw Problem.fromErrors([...others, NO_ACCOUNT]);
    }
    const { route, document } = prepared;
    if (document.type !== 'sale') {
      throw fault('/type', 'invalid_value', 'Only the money of a sale can be collected online.');
    }
    if (fiscalMode === 'provider') refuseUnsayable(account, document);
    const flow = flowFor(account, body.payment);
    if (fiscalMode === 'provider') refuseUnregistered(account, flow);
    refuseAmount(account, document.totalTiyin);
    refuseLaterCapture(body.payment, flow);
    return { account, flow, fiscalMode, route, document };
  }

  private async accountFor(merchantId: string, { payment }: ReceiptBody): Promise<OpenAccount | undefined> {
    const provider = payment.provider ?? '';
    return isProvider(provider) ? this.accounts.liveOf(merchantId, provider) : undefined;
  }
}

/** Who registers this sale. Pieces with marking codes are our own registers' business, whatever the account says. */
function fiscalModeOf(account: OpenAccount, { items }: ReceiptBody): PreparedPayment['fiscalMode'] {
  const isMarked = items.some(({ labels }) => labels !== undefined && labels.length > 0);
  return valueOf(account, 'fiscal_mode') === 'provider' && !isMarked ? 'provider' : 'gateway';
}

/** What a provider's form of a line cannot express, or not for sure: better no sale than one that it registers wrongly. */
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

/** Some providers register only what is paid in one of their ways. */
function refuseUnregistered(account: OpenAccount, flow: PaymentFlow): void {
  if (capabilitiesOf(account).fiscalFlows.includes(flow)) return;
  const detail = `${account.provider} registers no receipt of a payment that is made this way, and the account leaves it to ${account.provider}.`;
  throw fault('/payment/provider', 'invalid_value', detail);
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
    `/payment/${FIELD_OF[given]}`,
    'invalid_value',
    `${provider} cannot be asked for a payment by ${given === 'none' ? 'its own page with this account' : given}.`,
  );
}

/** A provider that would refuse the sum is not asked, and nothing is stored. */
function refuseAmount(account: OpenAccount, totalTiyin: number): void {
  const { amountTiyin: range } = capabilitiesOf(account);
  if (!range || (totalTiyin >= range.least && totalTiyin <= range.most)) return;
  const bound = totalTiyin < range.least ? `from ${String(range.least)}` : `up to ${String(range.most)}`;
  throw fault('/payment/provider', 'invalid_value', `${account.provider} takes sums ${bound} tiyin with this account.`);
}

const FIELD_OF = { token: 'token', qr: 'qr_code', phone: 'phone', none: 'provider' } as const;

function refuseLaterCapture({ capture, token }: PaymentBody, flow: PaymentFlow): void {
  if (capture !== 'manual' || (flow === 'hold' && token !== undefined)) return;
  const detail = 'Only money that is held first can be captured later; this provider holds it by token alone.';
  throw fault('/payment/capture', 'invalid_value', detail);
}

function fault(pointer: string, code: 'invalid_value', detail: string): Problem {
  return Problem.fromErrors([{ pointer, code, detail }]);
}
