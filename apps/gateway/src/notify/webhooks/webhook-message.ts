import { createHash } from 'node:crypto';
import { eventView, type EventRow } from '../events/event-row.js';

export interface Message {
  /** Of Standard Webhooks: the same for the same events, at every try. */
  id: string;
  body: string;
}

/** One event, as the log shows it. */
export function eventMessage(event: EventRow): Message {
  return { id: event.id, body: JSON.stringify(eventView(event)) };
}

/** Several in one request. Its id follows from theirs: what is sent again as it was has the same one. */
export function batchMessage(events: readonly EventRow[]): Message {
  const digest = createHash('sha256').update(events.map(({ id }) => id).join('\n'));
  return {
    id: `bat_${digest.digest('hex').slice(0, 32)}`,
    body: JSON.stringify({ type: 'batch', events: events.map(eventView) }),
  };
}
