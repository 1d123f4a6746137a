import type { Prisma } from '#database';
import { newId } from '#runtime';

type Tx = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw'>;

export interface NewDelivery {
  merchantId: string;
  endpointId: string;
  url: string;
  eventPosition: bigint;
  eventId: string;
  type: string;
  subjectId: string;
}

/**
 * Writes deliveries in the order given, and wakes their endpoints. One that stands behind an undelivered one of the same
 * subject is due no earlier than that, so that what must wait does not stand in the way of what may go.
 * @returns their ids, in the same order
 */
export async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<string[]> {
  if (deliveries.length === 0) return [];
  const rows = deliveries.map((delivery) => ({ ...recordOf(delivery), id: newId('dlv') }));
  await tx.$executeRaw`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, due_at)
    SELECT d.id, d.merchant_id, d.endpoint_id, d.event_position, d.event_id, d.type, d.subject_id, d.url,
           greatest(now(), (SELECT max(before.due_at) FROM webhook_deliveries before
                             WHERE before.endpoint_id = d.endpoint_id AND before.subject_id = d.subject_id
                               AND before.state = 'pending'))
      FROM json_to_recordset(${JSON.stringify(rows)}::json) AS d(
             id text, merchant_id text, endpoint_id text, event_position bigint, event_id text, type text,
             subject_id text, url text)
     ORDER BY d.id`;
  const endpointIds = [...new Set(deliveries.map(({ endpointId }) => endpointId))].sort();
  await wakeEndpoints(tx, endpointIds);
  return rows.map(({ id }) => id);
}

/** Something is due for them. The gateway that has one in hand sees by `wakes` that more has come. */
export async function wakeEndpoints(tx: Tx, endpointIds: readonly string[]): Promise<void> {
  await tx.$executeRaw`
    UPDATE webhook_endpoints SET due_at = least(due_at, now()), wakes = wakes + 1
     WHERE id = ANY(${[...endpointIds]}::text[])`;
}

function recordOf(delivery: NewDelivery): Record<string, unknown> {
  return {
    merchant_id: delivery.merchantId,
    endpoint_id: delivery.endpointId,
    event_position: String(delivery.eventPosition),
    event_id: delivery.eventId,
    type: delivery.type,
    subject_id: delivery.subjectId,
    url: delivery.url,
  };
}
