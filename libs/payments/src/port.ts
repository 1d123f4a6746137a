import type { FiscalLines, ProviderDocument, WantedDocument } from './fiscal.js';

/** What every payment provider looks like from inside (docs/adr/0030-payment-port.md). Money is integer tiyin throughout. */

export const PROVIDERS = ['payme', 'click', 'multicard', 'uzum', 'octo', 'atmos', 'paynet', 'stripe'] as const;
export type ProviderCode = (typeof PROVIDERS)[number];

/**
 * How the money of one payment moves.
 * `hold`: we reserve, later capture (pattern A). `charge`: we take it at once (B). `invoice`: the customer pays on the
 * provider's page or phone, we read the status (B). `inbound`: the provider drives and calls us (B with validation
 * before money). `veto`: the provider asks us within its call whether it may keep the money (C).
 */
export type PaymentFlow = 'hold' | 'charge' | 'invoice' | 'inbound' | 'veto';

export interface ProviderCapabilities {
  /** Flows by what the caller gave: a card token, a phone, or neither. Null: not possible. */
  readonly flows: {
    readonly token: PaymentFlow | null;
    readonly phone: PaymentFlow | null;
    /** The code that a wallet shows at a till. */
    readonly qr: PaymentFlow | null;
    readonly none: PaymentFlow | null;
  };
  /** How long a hold lasts unless the provider says otherwise; null = none. */
  readonly holdSeconds: number | null;
  /** Who can give money back after capture. `provider`: only its own cabinet; an operator has to ask there. */
  readonly refundInitiator: Readonly<Record<PaymentFlow, 'us' | 'provider'>>;
  /** Flows whose money can go back in parts. */
  readonly partialRefunds: readonly PaymentFlow[];
  /** Flows whose payment is made known to the provider before its money is asked for. */
  readonly preparedFlows: readonly PaymentFlow[];
  /** Whether a status can be asked without the provider's id of the payment. */
  readonly statusByOurRef: boolean;
  /** Money is asked for under a key of ours that the provider knows again, also where the payment was made there anew. */
  readonly keyedCharges?: true;
  /** Flows of which the provider can be asked at all; of the others it only calls. */
  readonly statusFlows: readonly PaymentFlow[];
  /** Flows whose receipt the provider can register. */
  readonly fiscalFlows: readonly PaymentFlow[];
  /** How the provider's own document of a sale gets here: the provider calls us, or we ask for it. Null: not at all. */
  readonly providerDocuments: 'reported' | 'fetched' | null;
  /** The same for a refund's document. Null: a person has to give it. */
  readonly refundDocuments: 'reported' | 'fetched' | null;
  /** Flows whose payment there can be given the fiscal link. */
  readonly linkFlows: readonly PaymentFlow[];
  /** The sums that it takes, where it does not take all. */
  readonly amountTiyin?: { readonly least: number; readonly most: number };
  /** Code of the payment service in the receipt's extra information; null = none known. */
  readonly qrPaymentProvider: number | null;
}

/** What a provider receives about a payment. */
export interface PaymentOrder {
  /** Our payment's id: the reference that the provider keeps. */
  ourRef: string;
  amountTiyin: number;
  description: string;
  /** Where the provider reports; null where its cabinet says so. */
  callbackUrl: string | null;
  returnUrl: string | null;
  /** What the provider is to register itself; null where our own register does: then no line may reach it. */
  lines: FiscalLines | null;
  /** What is sold, independent of who registers it. Only for a provider whose form wants it, and only where nothing can come of it. */
  saleLines: FiscalLines;
}

/** One refund of a payment. */
export interface RefundOrder {
  amountTiyin: number;
  /** Names this refund in all of its tries, and no other refund of the payment. */
  key: string;
  /** What the provider registers itself, and is to register the refund of; null where our own register did. */
  lines: FiscalLines | null;
}

/** What the customer pays with. A token is the provider's, never a card number. */
export interface Instrument {
  token: string | null;
  phone: string | null;
  /** What a till read off the customer's wallet. */
  qr: string | null;
  otp: string | null;
}

export interface PaymentRef {
  ourRef: string;
  providerRef: string | null;
  flow: PaymentFlow;
  amountTiyin: number;
  /** When the payment was made here: some providers ask for the day. */
  createdAtMs: number;
  /** Its refund was asked for, and what became of it is not known: a status has to say more than what was taken. */
  isRefunding?: boolean;
}

/** Where the money is, as a provider says. */
export type MoneyStatus =
  /** The provider does not know the payment. */
  | 'not_found'
  /** Waits for the customer. */
  | 'pending'
  /** Something is at work there. */
  | 'in_flight'
  /** Frozen until we answer the provider's call. */
  | 'reserved'
  | 'authorized'
  | 'captured'
  | 'declined'
  | 'voided'
  | 'refunded'
  /** People of the provider are at it. */
  | 'manual';

export interface StatusFacts {
  kind: 'status';
  status: MoneyStatus;
  providerRef: string | null;
  /** As the provider has it; null when it does not say. A difference from ours is never a success. */
  amountTiyin: number | null;
  /** All that was given back so far; null when it does not say. */
  refundedTiyin: number | null;
  /** When a hold ends by itself. */
  holdExpiresAtMs: number | null;
  nextAction: NextAction | null;
  evidence: PaymentEvidence | null;
  /** The provider's own fiscal document: of the sale, unless the refund's was asked for. */
  document: ProviderDocument | null;
}

export type NextAction =
  | { type: 'redirect'; url: string }
  | { type: 'qr'; data: string }
  /** The provider has asked the customer on the phone. */
  | { type: 'push' }
  /** It has sent the customer a code, and wants it back. */
  | { type: 'otp' };

/** For the receipt's extra information. */
export interface PaymentEvidence {
  rrn: string | null;
  phone: string | null;
  cardType: 'corporate' | 'personal' | 'social' | null;
}

/**
 * What became of one call. `unsent`: nothing was done (not a byte left, or the provider refused it unexamined), the same may be
 * tried again. `unknown`: it may have happened; only the status shows it. A code that the provider's list does not call definitive is `unknown`.
 */
export type CallOutcome =
  | StatusFacts
  | { kind: 'refused'; code: string; detail: string }
  /** `isTooOften`: refused for their number, not for who asks. */
  | { kind: 'unsent'; detail: string; isTooOften?: true }
  | { kind: 'unknown'; detail: string };

/** A call of which no status is known. */
export type NoStatus = Exclude<CallOutcome, StatusFacts>;

export interface FiscalLink {
  url: string;
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string;
  /** YYYYMMDDHHmmss, Tashkent. */
  dateTime: string;
  isRefund: boolean;
}

/** One of the calls that we make. An absent method means that the provider cannot. */
export interface PaymentProvider {
  /** Makes the payment known there. No money can move by it alone, so it may be repeated. */
  prepare?(order: PaymentOrder, flow: PaymentFlow, instrument: Instrument): Promise<CallOutcome>;
  /** Holds or takes the money, or asks the customer for it. */
  authorize?(order: PaymentOrder, instrument: Instrument, ref: PaymentRef): Promise<CallOutcome>;
  /** @param lines what the provider is to register with the money; null where our own register did */
  capture?(ref: PaymentRef, lines: FiscalLines | null): Promise<CallOutcome>;
  void?(ref: PaymentRef): Promise<CallOutcome>;
  /**
   * Gives money back; less than the payment's own sum only where `partialRefunds` says so. `refunded` in its answer means that
   * this very sum is back.
   */
  refund?(ref: PaymentRef, refund: RefundOrder): Promise<CallOutcome>;
  fetchStatus?(ref: PaymentRef): Promise<CallOutcome>;
  attachLink?(ref: PaymentRef, link: FiscalLink): Promise<CallOutcome>;
  /** Hands in what the provider is to register. Only where it does so at all, once. */
  submitLines?(ref: PaymentRef, lines: FiscalLines, totalTiyin: number): Promise<CallOutcome>;
  /** Asks for the provider's own document: a status with or without it. */
  fetchDocument?(ref: PaymentRef, wanted: WantedDocument): Promise<CallOutcome>;
}

export const FLOWS: readonly PaymentFlow[] = ['hold', 'charge', 'invoice', 'inbound', 'veto'];

/** What a provider can do about receipts that only takes money: the gateway's register makes them. */
export const REGISTERS_NOTHING = {
  fiscalFlows: [],
  providerDocuments: null,
  refundDocuments: null,
  linkFlows: [],
} as const satisfies Partial<ProviderCapabilities>;

/** Of a call that may be refused because it was done before: the status shows it. */
export function unclearIfRefused(outcome: CallOutcome): CallOutcome {
  return outcome.kind === 'refused' ? { kind: 'unknown', detail: `${outcome.code}: ${outcome.detail}` } : outcome;
}

/** A status without the facts that a provider left out. */
export function statusOf(status: MoneyStatus, facts: Partial<Omit<StatusFacts, 'kind' | 'status'>> = {}): StatusFacts {
  return {
    kind: 'status',
    status,
    providerRef: null,
    amountTiyin: null,
    refundedTiyin: null,
    holdExpiresAtMs: null,
    nextAction: null,
    evidence: null,
    document: null,
    ...facts,
  };
}
