import { PROVIDERS, type ProviderCode } from '#payments';

/** One field of a provider account: where it is kept, and its required form. */
export interface AccountField {
  secret: boolean;
  required: boolean;
  pattern: RegExp;
  fallback?: string;
}

const URL_PATTERN = /^https?:\/\/[^\s]{1,500}$/;
const TEXT = /^[\x21-\x7e]{1,200}$/;
const field = (more: Partial<AccountField> = {}): AccountField => ({
  secret: false,
  required: true,
  pattern: TEXT,
  ...more,
});
const secret = field({ secret: true });
const url = (fallback: string): AccountField => field({ pattern: URL_PATTERN, required: false, fallback });

/** Who registers the receipts of this account's payments: never both. */
const fiscalMode = field({ pattern: /^(gateway|provider)$/, required: false, fallback: 'gateway' });

/** The merchant's own number at the tax office, for lines that the provider registers. */
const sellerTin = field({ pattern: /^\d{9}$/, required: false });

/** What each provider needs to know about a merchant (docs/payments.md, "Provider accounts"). */
export const ACCOUNT_FIELDS: Readonly<Record<ProviderCode, Readonly<Record<string, AccountField>>>> = {
  payme: {
    cashbox_id: field(),
    key: secret,
    /** For the sandbox, beside the key. */
    test_key: field({ secret: true, required: false }),
    account_field: field({ pattern: /^[A-Za-z][A-Za-z0-9_]{0,31}$/, required: false, fallback: 'order_id' }),
    login: field({ required: false, fallback: 'Paycom' }),
    api_url: url('https://checkout.paycom.uz/api'),
    checkout_url: url('https://checkout.paycom.uz'),
    /** What CheckPerformTransaction says of an order that is paid or busy: the documentation leaves it open. */
    check_busy_code: field({ pattern: /^-310(08|50)$/, required: false, fallback: '-31008' }),
    /** Hours that a hold is trusted to last: no official number is known. */
    hold_hours: field({ pattern: /^\d{1,3}$/, required: false, fallback: '24' }),
    fiscal_mode: fiscalMode,
  },
  click: {
    service_id: field({ pattern: /^\d{1,12}$/ }),
    merchant_id: field({ pattern: /^\d{1,12}$/ }),
    merchant_user_id: field({ pattern: /^\d{1,12}$/ }),
    secret_key: secret,
    api_url: url('https://api.click.uz/v2/merchant'),
    checkout_url: url('https://my.click.uz/services/pay'),
    fiscal_mode: fiscalMode,
    tin: sellerTin,
    /** How lines that Click registers count: which of the two is nowhere confirmed. */
    ofd_amount_scale: field({ pattern: /^(1|1000)$/, required: false, fallback: '1' }),
    /** Click's documents say of nothing that has to be enabled for them. */
    partial_refunds: field({ pattern: /^(on|off)$/, required: false, fallback: 'on' }),
    /** The answer to a repeated Complete of the attempt that paid: -4 as documented, or 0. */
    repeated_complete: field({ pattern: /^(-4|0)$/, required: false, fallback: '-4' }),
    /** Whether click_paydoc_id is the Merchant API's payment_id, or that has to be found by our reference. */
    payment_number: field({ pattern: /^(paydoc|lookup)$/, required: false, fallback: 'paydoc' }),
    /** Whether the link of a payment becomes the refund's after a reversal is nowhere confirmed either. */
    refund_documents: field({ pattern: /^(operator|link)$/, required: false, fallback: 'operator' }),
  },
  multicard: {
    application_id: field(),
    secret,
    store_id: field(),
    api_url: url('https://mesh.multicard.uz'),
    token_header: field({ pattern: /^(authorization|x-access-token)$/, required: false, fallback: 'authorization' }),
    hold_minutes: field({ pattern: /^\d{1,5}$/, required: false, fallback: '60' }),
    /** What an invoice names of a sale that our register makes: `lines` only where Multicard's fiscalisation is off. */
    invoice_ofd: field({ pattern: /^(empty|lines)$/, required: false, fallback: 'empty' }),
    /** Has to be enabled by Multicard. */
    partial_refunds: field({ pattern: /^(on|off)$/, required: false, fallback: 'off' }),
    fiscal_mode: fiscalMode,
    tin: sellerTin,
  },
};

/** Addresses from which the provider's calls come; documented ones, for the operator to copy. */
export const DOCUMENTED_SOURCES: Readonly<Record<ProviderCode, readonly string[]>> = {
  payme: ['185.234.113.0/28'],
  click: [],
  multicard: ['195.158.26.90/32'],
};

export function isProvider(text: string): text is ProviderCode {
  return (PROVIDERS as readonly string[]).includes(text);
}

/** An account with its secrets opened. */
export interface OpenAccount {
  id: string;
  merchantId: string;
  provider: ProviderCode;
  /** Settings and credentials together, defaults filled in. */
  values: Readonly<Record<string, string>>;
  /** Networks from which its calls may come; empty = anywhere, the signature decides. */
  sources: readonly string[];
  isDisabled: boolean;
}

export function valueOf(account: Pick<OpenAccount, 'provider' | 'values'>, name: string): string {
  return account.values[name] ?? ACCOUNT_FIELDS[account.provider][name]?.fallback ?? '';
}
