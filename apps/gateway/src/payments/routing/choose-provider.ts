import { rankProviders, type PaymentFlow, type ProviderCode } from '#payments';
import type { ProblemError } from '#problems';
import type { PaymentBody } from '../../receipts/receipt-body.js';
import type { OpenAccount } from '../accounts/account-settings.js';
import type { PaymentRequestBody } from '../payment-request-body.js';
import type { Alternative } from './alternative.js';
import { fiscalModeOf, termsOf, type FiscalMode, type Whole } from './payment-terms.js';
import type { MerchantRouting } from './payment-routing.js';

/** What a caller writes as the provider where the merchant's rules are to choose. */
export const AUTO = 'auto';

export interface ChosenProvider {
  account: OpenAccount;
  flow: PaymentFlow;
  alternatives: Alternative[];
}

/**
 * Our own register as soon as one of the accounts leaves it to us: a sale is registered by one of both, and stays so when it goes
 * to another provider.
 */
export function routedFiscalMode({ routes }: MerchantRouting, body: PaymentRequestBody): FiscalMode {
  const isEachProviders =
    routes.length > 0 && routes.every(({ account }) => fiscalModeOf(account, body) === 'provider');
  return isEachProviders ? 'provider' : 'gateway';
}

/** A token and a wallet's code belong to one provider: there is nothing to choose. */
export function autoFault({ token, qr_code: qr, otp }: PaymentBody): ProblemError | null {
  const field = token !== undefined ? 'token' : qr !== undefined ? 'qr_code' : otp !== undefined ? 'otp' : null;
  if (field === null) return null;
  const detail = `${field} belongs to one provider; name that provider instead of "${AUTO}".`;
  return { pointer: `/payment/${field}`, code: 'invalid_value', detail };
}

/** The merchant's rules, held against what each account can do with this sale. @returns the fault where none fits */
export function chooseProvider(
  routing: MerchantRouting,
  body: PaymentRequestBody,
  document: Whole,
  fiscalMode: FiscalMode,
): ChosenProvider | ProblemError {
  const byProvider = new Map(routing.routes.map((route) => [route.account.provider, route]));
  const sale = { amountTiyin: document.totalTiyin, cardRange: body.payment.card_range ?? null };
  const { providers, unfit } = rankProviders(routing.rules, sale, (code) => byProvider.get(code)?.isDown ?? false);
  const reasons = new Map(unfit);
  const taken = providers.flatMap((provider): { account: OpenAccount; flow: PaymentFlow }[] => {
    const account = byProvider.get(provider)?.account;
    if (!account || fiscalModeOf(account, body) !== fiscalMode) {
      reasons.set(provider, account ? 'it registers receipts itself, and others do not' : 'there is no account');
      return [];
    }
    const terms = termsOf(account, body.payment, document, fiscalMode);
    if (terms.kind === 'taken') return [{ account, flow: terms.flow }];
    reasons.set(provider, terms.faults[0]?.detail ?? '');
    return [];
  });
  const [first, ...others] = taken;
  if (!first) return noneFits(reasons);
  const alternatives = others.map(({ account, flow }) => ({
    account_id: account.id,
    provider: account.provider,
    flow,
  }));
  return { ...first, alternatives };
}

function noneFits(reasons: ReadonlyMap<ProviderCode, string>): ProblemError {
  const why = [...reasons].map(([provider, reason]) => `${provider}: ${reason.replace(/\.$/, '')}`).join('; ');
  const detail = why === '' ? 'The merchant has no account at a payment provider.' : `No provider fits. ${why}.`;
  return { pointer: '/payment/provider', code: 'no_provider_fits', detail };
}
