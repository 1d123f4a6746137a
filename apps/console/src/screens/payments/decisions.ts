import type { Schema } from '../../api/api.js';

type Decided = Pick<Schema<'PaymentView'>, 'fiscalised_by'>;
export type Decision = 'retry' | 'resolve' | 'document';

/**
 * What only a person can say: what became of money, or that it is read once more. Also of a payment that has ended: its provider may say
 * something else of it, which stays shown until a person has found it right. What is not possible the gateway refuses, with its reason.
 */
export function decisionsAbout({ fiscalised_by: fiscalisedBy }: Decided): Decision[] {
  return ['retry', 'resolve', ...(fiscalisedBy === 'provider' ? (['document'] as const) : [])];
}
