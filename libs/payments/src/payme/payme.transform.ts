import { statusOf, type FiscalLink, type MoneyStatus, type StatusFacts } from '../port.js';
import { integerAt, textAt, type WireObject } from '../wire.js';

const STATUSES: Readonly<Record<number, MoneyStatus>> = {
  0: 'pending',
  1: 'in_flight',
  2: 'in_flight',
  3: 'in_flight',
  4: 'captured',
  5: 'authorized',
  6: 'in_flight',
  20: 'manual',
  21: 'in_flight',
  30: 'in_flight',
  50: 'voided',
};

/** A state that is not in Payme's table is at work, for all we know. */
export function paymeMoneyStatus(state: number | null): MoneyStatus {
  return (state === null ? undefined : STATUSES[state]) ?? 'in_flight';
}

/** ISO 4217, as every receipt of the documents has it. */
const UZS = '860';

/** A receipt of the Subscribe API. One that was paid before it was cancelled is a refund; one in another currency, people decide. */
export function paymeReceiptStatus(receipt: WireObject): StatusFacts {
  const status = paymeMoneyStatus(integerAt(receipt, 'state'));
  const wasPaid = (integerAt(receipt, 'pay_time') ?? 0) > 0;
  const amountTiyin = integerAt(receipt, 'amount');
  const isRefund = status === 'voided' && wasPaid;
  return statusOf(isOtherCurrency(receipt) ? 'manual' : isRefund ? 'refunded' : status, {
    providerRef: textAt(receipt, '_id'),
    amountTiyin,
    refundedTiyin: isRefund ? amountTiyin : null,
  });
}

/** Named, and not ours: what cannot be read is another one too. */
function isOtherCurrency(receipt: WireObject): boolean {
  const named = receipt['currency'];
  return named !== undefined && named !== null && textAt(receipt, 'currency') !== UZS;
}

/** `fiscal_data` of receipts.set_fiscal_data. */
export function paymeFiscalData(link: FiscalLink): WireObject {
  return {
    receipt_id: link.receiptSeq,
    qr_code_url: link.url,
    terminal_id: link.terminalId,
    fiscal_sign: link.fiscalSign,
    date: link.dateTime,
  };
}
