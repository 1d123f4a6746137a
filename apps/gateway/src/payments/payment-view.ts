import type { NextAction, PaymentFlow, PaymentState } from '#payments';
import type { ReceiptView } from '../receipts/receipt-view.js';

/** The money's way back for one refund: tiyin. */
export interface MoneyRefund {
  /** The refund's receipt; null: no sale was registered for the money. */
  receipt_id: string | null;
  amount: number;
  /** `waiting` for its receipt, `requested` of the provider, `done`; `dropped`: its receipt came to nothing. */
  status: 'waiting' | 'requested' | 'done' | 'dropped';
}

/** `payments` as the API reads it. */
export interface PaymentRow {
  id: string;
  receipt_id: string;
  account_id: string;
  provider: string;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  refunded_tiyin: bigint;
  next_action: NextAction | null;
  refunds: MoneyRefund[];
  reason: string | null;
  waits_for_capture: boolean;
  fiscal_mode: 'gateway' | 'provider';
  expires_at: Date;
  hold_until: Date | null;
  state_since: Date;
  created_at: Date;
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
  /** Who registers the receipt: a register of the merchant, or the provider. */
  fiscalised_by: 'gateway' | 'provider';
  /** Whether POST …/capture is awaited. */
  capture: 'auto' | 'manual';
  next_action: NextAction | { type: 'none' };
  /** While it waits for Payme: the value of the account's field. */
  account: string | null;
  reason: string | null;
  expires_at: string;
  hold_until: string | null;
  status_since: string;
  created_at: string;
  receipt: ReceiptView;
}

export function paymentView(row: PaymentRow, receipt: ReceiptView): PaymentView {
  const isOpen = row.state === 'pending' || row.state === 'created' || row.state === 'reserved';
  return {
    id: row.id,
    status: row.state,
    provider: row.provider,
    provider_account_id: row.account_id,
    amount: Number(row.amount_tiyin),
    refunded: Number(row.refunded_tiyin),
    refunds: row.refunds,
    fiscalised_by: row.fiscal_mode,
    capture: row.waits_for_capture ? 'manual' : 'auto',
    next_action: (isOpen ? row.next_action : null) ?? { type: 'none' },
    account: row.provider === 'payme' && row.flow === 'inbound' && isOpen ? row.id : null,
    reason: row.reason,
    expires_at: row.expires_at.toISOString(),
    hold_until: row.hold_until?.toISOString() ?? null,
    status_since: row.state_since.toISOString(),
    created_at: row.created_at.toISOString(),
    receipt,
  };
}
