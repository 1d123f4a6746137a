import { tashkentDateTime } from '#fiscal-domain';
import type { SimPayment } from './money.js';

export type MulticardBody = Record<string, unknown>;

/** A hold or an invoice of Multicard's, with its payment. */
export interface MulticardCard {
  payment: SimPayment;
  kind: 'hold' | 'invoice';
  number: number;
  openedMs: number;
  token: string | null;
  callbackUrl: string | null;
  returnUrl: string | null;
  checkoutUrl: string;
  storeId: string;
  expiryMinutes: number;
  /** What Multicard is to register: of an invoice from the start, of a hold with its charge. */
  ofd: unknown;
  /** The customer was sent a code: cards whose token begins with "otp". */
  needsCode: boolean;
}

/** PaymentStatusEnum. */
export const MODEL_STATUS = {
  ...{ pending: 'draft', reserved: 'billing', held: 'progress', captured: 'success' },
  ...{ voided: 'revert', refunded: 'revert', declined: 'error' },
} as const;

/** Only three words are documented of a hold; what became of its money the payment inside it says. */
const HOLD_STATUS = {
  ...{ pending: 'draft', reserved: 'draft', held: 'active', captured: 'active' },
  ...{ voided: 'canceled', refunded: 'canceled', declined: 'draft' },
} as const;

/** paymentModel, with all of its documented fields and no other. */
export function paymentOf(card: MulticardCard): MulticardBody {
  const { payment, number, storeId, openedMs } = card;
  const [sale, refund] = ['sale', 'refund'].map((type) => payment.documents.find((each) => each.type === type));
  return {
    ...{ id: number, uuid: payment.id, store_id: Number(storeId), store_invoice_id: payment.ourRef },
    ...{ payment_amount: payment.amountTiyin, commission_type: 'down', commission_amount: 0 },
    ...{ total_amount: payment.amountTiyin, status: MODEL_STATUS[payment.status], callback_url: card.callbackUrl },
    ...{ billing_id: null, phone: '998901234567', ps: 'uzcard', receipt_url: null, kyc_data: null },
    ...{ device_details: null, details: null, card_token: card.token, card_pan: '860030******5959', split: null },
    ...{
      multicard_user_id: null,
      ofd: Array.isArray(card.ofd) ? card.ofd : null,
      terminal_id: null,
      merchant_id: null,
    },
    ...{ ps_uniq_id: '123456789012', ps_response_code: null, ps_response_msg: null, callback_message: null },
    payment_time: payment.captures > 0 ? tashkentDateTime(Date.now()) : null,
    refund_time: payment.refunds > 0 ? tashkentDateTime(Date.now()) : null,
    ...{ otp_hash: card.needsCode ? 'a-hash' : null, clearing_id: null, tax_receipt_id: sale ? number : null },
    ...{ push_sent_at: null, store: {}, application: {}, clearing: null, checkout_url: null },
    ...{ tax: taxReceiptOf(sale), refund_tax: taxReceiptOf(refund), added_on: tashkentDateTime(openedMs) },
  };
}

export function holdOf(card: MulticardCard): MulticardBody {
  const { payment, number, openedMs, expiryMinutes } = card;
  return {
    ...{ id: number, status: HOLD_STATUS[payment.status], expiry: tashkentDateTime(openedMs + expiryMinutes * 60_000) },
    ...{ added_on: tashkentDateTime(openedMs), updated_on: null, payment: paymentOf(card) },
  };
}

export function invoiceOf(card: MulticardCard): MulticardBody {
  const { payment, storeId, returnUrl, openedMs, checkoutUrl } = card;
  return {
    ...{ uuid: payment.id, store_id: Number(storeId), amount: payment.amountTiyin, invoice_id: payment.ourRef },
    ...{ return_url: returnUrl, return_error_url: returnUrl, callback_url: card.callbackUrl },
    ...{ ofd: card.ofd, split: null, sms: null, payment: paymentOf(card), checkout_url: checkoutUrl },
    ...{ short_link: checkoutUrl, deeplink: checkoutUrl, added_on: tashkentDateTime(openedMs), updated_on: null },
  };
}

function taxReceiptOf(document: SimPayment['documents'][number] | undefined): MulticardBody | null {
  if (!document) return null;
  const { searchParams } = new URL(document.url);
  const [fm_num, f_num] = [searchParams.get('t'), searchParams.get('s')];
  return { receipt: null, fm_num, f_num, qr_url: document.url, is_refund: document.type === 'refund' };
}
