import { snakeCased } from '../../http/snake-cased.js';

/** What the feed lists and webhooks carry (docs/webhooks.md). */
export interface EventView {
  id: string;
  type: string;
  timestamp: string;
  merchant_id: string;
  data: unknown;
}

export interface EventRow extends Omit<EventView, 'timestamp'> {
  position: bigint;
  subject_id: string;
  created_at: Date;
}

/** The same for every reader and at every time: a webhook that is sent again has the same bytes. */
export function eventView(row: EventRow): EventView {
  return {
    id: row.id,
    type: row.type,
    timestamp: row.created_at.toISOString(),
    merchant_id: row.merchant_id,
    data: snakeCased(row.data),
  };
}
