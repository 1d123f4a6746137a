import { parseVerificationLink, type RefundInfo } from '#fiscal-domain';
import { Problem } from '#problems';
import type { LockedSale } from './refund.repository.js';

/**
 * The sale as its register and the tax office know it. Its time is taken from the link as it stands there, never recomputed
 * (facts of the local API): a refund with any other time stays unlinked.
 * @throws Problem 409: a refund itself, not registered, or without the sign and link by which it would be named
 */
export function refundInfoOf(sale: LockedSale): RefundInfo {
  if (sale.type === 'refund') throw new Problem('refund_of_refund', 'A refund cannot be refunded; sell again instead.');
  if (sale.status !== 'registered') {
    throw new Problem(
      'receipt_not_registered',
      `The receipt is ${sale.status}; only a registered one can be refunded.`,
    );
  }
  const link = sale.verification_url === null ? null : parseVerificationLink(sale.verification_url);
  if (sale.fiscal_sign === null || link === null || sale.terminal_id === null || sale.receipt_seq === null) {
    const why =
      sale.type === 'sale' ? 'an operator has to complete it first' : `a receipt of type ${sale.type} has none`;
    throw new Problem('fiscal_sign_missing', `The receipt has no fiscal sign and link to refer to: ${why}.`);
  }
  return {
    terminalId: sale.terminal_id,
    receiptSeq: Number(sale.receipt_seq),
    dateTime: refundTime(link.compactTime),
    fiscalSign: sale.fiscal_sign,
  };
}

/** `yyyymmddhhmmss` of a link → `YYYYMMDDTHHmmss` of refundInfo: the same digits. */
export function refundTime(compactTime: string): string {
  return `${compactTime.slice(0, 8)}T${compactTime.slice(8)}`;
}
