import type { StoredReceiptDocument } from '#database';
import { fieldsNotToBeLost, isNamed, type FiscalField } from '#fiscal-domain';
import type { ProblemError } from '#problems';
import type { ReceiptBody } from './receipt-body.js';

/** What a receipt says beyond the specification, and where in its body. */
export interface StatedFields {
  places: readonly { field: FiscalField; pointer: string }[];
  /** Its merchant has it refused where the register takes not all of it. */
  areRequired: boolean;
}

export function statedFields(document: StoredReceiptDocument, body: ReceiptBody): Pick<StatedFields, 'places'> {
  const stated = fieldsNotToBeLost(document);
  const sellers = document.lines.flatMap(({ commission }, index) => {
    // The catalogue may know for whom the goods are sold.
    const member = body.items[index]?.commission ? '/commission' : '';
    return isNamed(commission) ? [{ field: 'commission' as const, pointer: `/items/${index}${member}` }] : [];
  });
  return {
    places: [
      ...sellers,
      ...(stated.includes('customer') ? [{ field: 'customer' as const, pointer: '/customer' }] : []),
      ...(stated.includes('payment_provider')
        ? [{ field: 'payment_provider' as const, pointer: '/payment/provider' }]
        : []),
    ],
  };
}

export function lostFields({ places }: StatedFields, taken: readonly FiscalField[]): StatedFields['places'] {
  return places.filter(({ field }) => !taken.includes(field));
}

/** @param who of what would lose it, as the beginning of a sentence */
export function unsupportedFaults(lost: StatedFields['places'], who: string): ProblemError[] {
  return lost.map(({ field, pointer }) => ({
    ...{ pointer, code: 'field_unsupported' },
    detail:
      `${who} has no place for ${field} in the fiscal document. Leave it out, name a register that takes it, ` +
      'or let the merchant set unsupported_fields to "omit".',
  }));
}
