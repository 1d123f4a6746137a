import { choice, field, optional, type AccountFields, type ReadValue } from '#outgoing';
import type { LineForm } from './fiscal.js';
import type { HintProtocol, TransactionProtocol } from './inbound.js';
import type { HttpExchange } from './http-exchange.js';
import type { NextAction, PaymentProvider, PaymentRef, ProviderCapabilities } from './port.js';

/** What is wrong with the fields together, beyond what each says for itself. */
export interface FieldFault {
  field: string;
  detail: string;
  /** Absent: the field is missing. */
  code?: 'out_of_range';
}

/** A payment that its customer begins at the provider. */
export interface CheckoutOrder {
  ourRef: string;
  amountTiyin: number;
  returnUrl: string | null;
}

/** All that the gateway has to know of a provider beside its calls to us (docs/payments/new-provider.md). */
export interface ProviderDefinition {
  readonly fields: AccountFields;
  /** @returns fields that are missing because of what others say */
  faults?(read: ReadValue): readonly FieldFault[];
  /** Hosts of its production and test environments, as its documents name them. */
  readonly hosts: readonly string[];
  /** Networks from which it calls, as its documents name them. */
  readonly sources: readonly string[];
  /**
   * Whether its driving calls have the account's password; absent: they are signed. A password can be guessed, so this is asked before
   * anything else of a call: wrong ones are counted and held back.
   */
  isCaller?(authorization: string | undefined, read: ReadValue): boolean;
  /** Some of what is possible has to be enabled for an account. */
  capabilities(read: ReadValue): ProviderCapabilities;
  /** What of a receipt's lines it can register itself. */
  lineForm(read: ReadValue): LineForm;
  client(read: ReadValue, exchange: HttpExchange): PaymentProvider;
  /**
   * Names a payment that the provider does not have, for a test of the connection: asking for it moves nothing. Absent or null: the
   * account cannot be asked for anything.
   */
  absent?(read: ReadValue): Pick<PaymentRef, 'flow' | 'providerRef'> | null;
  /** Its calls to us by which it drives payments. */
  readonly inbound?: TransactionProtocol;
  /** Its calls to us that only say that something changed. */
  readonly hints?: HintProtocol;
  /** Where the customer of an `inbound` payment goes. */
  checkout?(read: ReadValue, order: CheckoutOrder): NextAction;
}

export const OPTIONAL_SECRET = optional({ secret: true });

/** A password that alone proves who calls, and so that money was paid: chosen by the merchant, and not to be guessed. */
const PASSWORD_PATTERN = /^[\x21-\x7e]{16,200}$/;
export const PASSWORD = field({ secret: true, pattern: PASSWORD_PATTERN });
export const OPTIONAL_PASSWORD = optional({ secret: true, pattern: PASSWORD_PATTERN });

/** Who registers the receipts of this account's payments: never both. */
export const FISCAL_MODE = choice('gateway', 'provider');

/** The merchant's own number at the tax office, for lines that the provider registers. */
export const SELLER_TIN = optional({ pattern: /^\d{9}$/ });
