import type { NextAction, PaymentEvidence, PaymentFlow, PaymentState, ProviderCode } from '#payments';
import type { ReceiptView } from '../receipts/receipt-view.js';
import { extraInfoOf } from './extra-info.js';
import { sellersOf, type SellerShare } from './sellers.js';

/** The money's way back for one refund: tiyin. */
export interface MoneyRefund {
  /** The refund's receipt; null: no sale was registered for the money. */
  receipt_id: string | null;
  amount: number;
  /** `waiting` for its receipt, `requested` of the provider, `done`; `dropped`: its receipt came to nothing. */
  status: 'waiting' | 'requested' | 'done' | 'dropped';
}

/** What the provider charged for this order beyond the payment: tiyin. */
export interface ExtraChargeView {
  /** The provider's id of that payment. */
  provider_ref: string;
  amount: number;
  /** `absent`: the provider has kept nothing. `ours`: it proved to be this very payment. `manual`: a person has to end it. */
  status: 'reported' | 'refunding' | 'refunded' | 'absent' | 'ours' | 'manual';
  reason: string;
}

/** `payments` as the API reads it. */
export interface PaymentRow {
  id: string;
  receipt_id: string;
  /** Of a payment for several receipts: the others. */
  further_receipts: string[];
  account_id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  next_action: NextAction | null;
  refunds: MoneyRefund[];
  extra_charges: ExtraChargeView[];
  provider_ref: string | null;
  evidence: PaymentEvidence | null;
  reason: string | null;
  waits_for_capture: boolean;
  fiscal_mode: 'gateway' | 'provider';
  expires_at: Date;
  hold_until: Date | null;
  delivered_at: Date | null;
  state_since: Date;
  created_at: Date;
}

export interface ExtraInfoView {
  payment_id: string | null;
  payment_provider: number | null;
  phone: string | null;
  rrn: string | null;
  card_type: number | null;
}

/** The payment as the API shows it. Money in tiyin, times in RFC 3339 UTC. */
export interface PaymentView {
  id: string;
  status: PaymentState;
  provider: string;
  provider_account_id: string;
  amount: number;
  refunded: number;
  refunds: MoneyRefund[];
  extra_charges: ExtraChargeView[];
  /** Who registers the receipt: a register of the merchant, or the provider. */
  fiscalised_by: 'gateway' | 'provider';
  /** How the money came, as it is sent to the receipt's register where that takes it (LocalExtraInfo). */
  extra_info: ExtraInfoView | null;
  /** Whether POST …/capture is awaited. */
  capture: 'auto' | 'manual';
  next_action: NextAction | { type: 'none' };
  /** While it waits for Payme: the value of the account's field. */
  account: string | null;
  reason: string | null;
  expires_at: string;
  hold_until: string | null;
  /** The merchant's word: until it is taken back, Payme cannot cancel. */
  delivered_at: string | null;
  status_since: string;
  created_at: string;
  /** Whose goods the money is for; together the amount. */
  sellers: SellerShare[];
  receipt: ReceiptView;
  /** The other receipts that this payment is for, each at its own register; most payments have none. */
  further_receipts: ReceiptView[];
}

/** @param further in the order of the request */
export function paymentView(row: PaymentRow, receipt: ReceiptView, further: readonly ReceiptView[]): PaymentView {
  const sellers = sellersOf([receipt, ...further].flatMap(({ items }) => items));
  return { ...paymentFacts(row), sellers, receipt, further_receipts: [...further] };
}

/** Without its receipt: what a page of payments shows of each. */
export function paymentFacts(row: PaymentRow): Omit<PaymentView, 'receipt' | 'further_receipts' | 'sellers'> {
  const isOpen = row.state === 'pending' || row.state === 'created' || row.state === 'reserved';
  return {
    id: row.id,
    status: row.state,
    provider: row.provider,
    provider_account_id: row.account_id,
    amount: Number(row.amount_tiyin),
    refunded: Number(row.refunded_tiyin),
    refunds: row.refunds,
    extra_charges: row.extra_charges,
    fiscalised_by: row.fiscal_mode,
    extra_info: extraInfoView(row),
    capture: row.waits_for_capture ? 'manual' : 'auto',
    next_action: (isOpen ? row.next_action : null) ?? { type: 'none' },
    account: row.provider === 'payme' && row.flow === 'inbound' && isOpen ? row.id : null,
    reason: row.reason,
    expires_at: row.expires_at.toISOString(),
    hold_until: row.hold_until?.toISOString() ?? null,
    delivered_at: row.delivered_at?.toISOString() ?? null,
    status_since: row.state_since.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

/** Only what is known of taken money: before that nothing of it is final. */
function extraInfoView(row: PaymentRow): ExtraInfoView | null {
  const info = row.state === 'captured' || row.state.startsWith('refund') ? extraInfoOf(row) : null;
  if (!info) return null;
  const { paymentId = null, paymentProvider = null, phone = null, rrn = null, cardType = null } = info;
  return { payment_id: paymentId, payment_provider: paymentProvider, phone, rrn, card_type: cardType };
}
