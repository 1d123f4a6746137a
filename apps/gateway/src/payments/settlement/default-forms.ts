import type { ProviderCode } from '#payments';
import type { RegisterForm } from './register-form.js';

/*
 * No provider publishes its form. These are the headings that others have found in the files, as docs/payments/settlement.md says with its
 * source and with what is open. A form names the headings of its provider alone: beside them a file has columns whose names would fit a
 * guess and mean something else.
 */

const PAYME: RegisterForm = {
  columns: {
    provider_ref: ['идентификатор платежа (платежная система)'],
    our_ref: ['номер заказа'],
    amount: ['сумма без комиссии'],
    // "Комиссия с клиента" is none: the customer pays it on top, and the merchant's rule is about what Payme keeps of the sum.
    time: ['время оплаты'],
    status: ['состояние оплаты'],
    cancelled: ['время отмены'],
  },
  amount_unit: 'som',
  refund_words: [],
  paid_words: ['оплачено'],
};

const CLICK: RegisterForm = {
  columns: {
    provider_ref: ['click id'],
    our_ref: ['идент-р'],
    amount: ['сумма'],
    commission: ['комиссия'],
    time: ['дата'],
    status: ['статус платежа'],
  },
  amount_unit: 'som',
  refund_words: [],
  paid_words: ['успешно подтвержден'],
};

const UZUM: RegisterForm = {
  columns: {
    provider_ref: ['receiptid'],
    amount: ['сумма'],
    commission: ['комиссия'],
    time: ['дата и время'],
    status: ['статус'],
  },
  amount_unit: 'som',
  refund_words: [],
  paid_words: ['success'],
};

/** Of the providers of whose files nothing is known: headings that such a file may have in Russian, Uzbek and English. */
const ASSUMED: RegisterForm = {
  columns: {
    provider_ref: [
      ...[
        'transaction_id',
        'transaction id',
        'id транзакции',
        'номер транзакции',
        'tranzaksiya id',
        'trans_id',
        'transid',
      ],
      ...['payment_id', 'payment id', 'id платежа', 'номер платежа', 'click_paydoc_id', 'click_trans_id', 'receipt_id'],
      ...['order id', 'orderid', 'uuid', 'octo_payment_uuid', 'id'],
    ],
    our_ref: [
      ...[
        'merchant_trans_id',
        'order_id',
        'номер заказа',
        'заказ',
        'buyurtma',
        'account',
        'лицевой счёт',
        'лицевой счет',
      ],
      ...['invoice_id', 'shop_transaction_id', 'merchantorderid', 'ext_id'],
    ],
    amount: ['amount', 'сумма', 'сумма платежа', 'сумма операции', 'summa', 'to‘lov summasi'],
    commission: ['commission', 'комиссия', 'сумма комиссии', 'komissiya', 'fee'],
    refunded: ['refunded', 'возврат', 'сумма возврата', 'qaytarilgan'],
    time: [
      ...['date', 'time', 'datetime', 'дата', 'дата и время', 'дата платежа', 'дата операции', 'время', 'sana'],
      ...['perform_time', 'created_at', 'paid_at', 'payment_date', 'vaqt'],
    ],
    kind: ['type', 'тип', 'тип операции', 'операция', 'operation', 'turi'],
    status: ['status', 'статус', 'состояние', 'holat'],
  },
  amount_unit: 'som',
  refund_words: [
    ...[
      'refund',
      'reversal',
      'reversed',
      'cancelled',
      'canceled',
      'возврат',
      'отмена',
      'отменён',
      'отменен',
      'отменена',
    ],
    ...['qaytarish', 'qaytarildi', 'bekor qilindi'],
  ],
  paid_words: [],
};

/** What a register is read by until its merchant has written down its own form. */
export const DEFAULT_FORMS: Readonly<Record<ProviderCode, RegisterForm>> = {
  payme: PAYME,
  click: CLICK,
  uzum: UZUM,
  multicard: ASSUMED,
  octo: ASSUMED,
  atmos: ASSUMED,
  paynet: ASSUMED,
  stripe: ASSUMED,
};
