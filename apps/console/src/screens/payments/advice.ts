import type { Schema } from '../../api/api.js';
import type { Words } from '../../i18n/i18n.js';

type Difference = Pick<Schema<'Disagreement'>, 'kind' | 'next_actor' | 'receipt_status'>;

/** Which advice fits. Money that the gateway cannot ask back, or does not know to be due, goes back by a person alone. */
export function adviceFor({
  kind,
  next_actor: actor,
  receipt_status: receipt,
}: Difference): keyof Words['payments']['advice'] {
  return kind === 'refund_open' && actor === 'operator' && receipt !== 'unknown' ? 'refund_by_person' : kind;
}
