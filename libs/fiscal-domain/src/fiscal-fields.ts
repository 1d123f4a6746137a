import type { ReceiptDocument } from './receipt.js';

/**
 * What a receipt may say although the specification's local API has no place for it. A register with a place of its own announces it
 * under this name in `capabilities` (docs/cash-register.md, "Extensions").
 */
export const FISCAL_FIELDS = ['commission', 'customer', 'payment_provider'] as const;
export type FiscalField = (typeof FISCAL_FIELDS)[number];

/** Of a list of another kind, in the fixed order and without repetitions. */
export function knownFiscalFields(names: readonly unknown[]): FiscalField[] {
  return FISCAL_FIELDS.filter((field) => names.includes(field));
}

type FiscalParts = Pick<ReceiptDocument, 'lines' | 'customer' | 'payment'>;

/** Which of them a receipt says. A wallet without a name is one as well: then its kind is all there is to say. */
export function fiscalFieldsOf({ lines, customer, payment }: FiscalParts): FiscalField[] {
  const present: Record<FiscalField, boolean> = {
    commission: lines.some(({ commission }) => isNamed(commission)),
    customer: isNamed(customer),
    payment_provider: payment.method === 'wallet',
  };
  return FISCAL_FIELDS.filter((field) => present[field]);
}

/** Those whose loss drops something that the caller has sent; a wallet without a name loses nothing as a card. */
export function fieldsNotToBeLost(receipt: FiscalParts): FiscalField[] {
  return fiscalFieldsOf(receipt).filter((field) => field !== 'payment_provider' || receipt.payment.provider !== null);
}

/** Whether a seller or buyer is named by a number of the tax office; a buyer's phone is none. In documents of earlier releases null may stand for what was not given. */
export function isNamed(party: { tin?: string | null; pinfl?: string | null } | null): boolean {
  return (party?.tin ?? null) !== null || (party?.pinfl ?? null) !== null;
}
