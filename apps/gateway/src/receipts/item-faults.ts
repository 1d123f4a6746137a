import type { ProblemError } from '#problems';
import type { ItemBody } from './receipt-body.js';

/** What is wrong with items beside one another, or in themselves, that no rule of the register speaks of. */
export function itemFaults(items: readonly ItemBody[]): ProblemError[] {
  return [...repeatedLabels(items), ...items.flatMap(commissionFaults)];
}

/**
 * A marking code belongs to one piece: twice in a receipt, one of them is not what was sold, and the marking system refuses it. A register
 * takes it: the specification counts codes (E-017) and has none for one that is repeated.
 */
function repeatedLabels(items: readonly ItemBody[]): ProblemError[] {
  const seen = new Set<string>();
  return items.flatMap(({ labels }, index) =>
    (labels ?? []).flatMap((label, position) => {
      if (!seen.has(label)) {
        seen.add(label);
        return [];
      }
      const detail = 'The marking code stands in this receipt twice.';
      return [{ pointer: `/items/${index}/labels/${position}`, code: 'duplicate', detail }];
    }),
  );
}

/** The seller for whom these goods are sold is a company or a person. */
function commissionFaults({ commission }: ItemBody, index: number): ProblemError[] {
  if (!commission) return [];
  const given = [commission.tin, commission.pinfl].filter((value) => value !== undefined && value !== null).length;
  if (given === 1) return [];
  const pointer = `/items/${index}/commission`;
  return given === 0
    ? [{ pointer, code: 'required', detail: 'commission needs the tin or the pinfl of the seller' }]
    : [{ pointer, code: 'invalid_value', detail: 'commission has either tin or pinfl, not both' }];
}
