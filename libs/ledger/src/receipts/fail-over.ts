import { Prisma } from '#database';
import { newId } from '#runtime';
import { insertEvents } from '../events.js';
import type { Statements } from '../statements.js';

export interface LaneChange {
  receiptId: string;
  /** Where it goes. */
  deviceId: string;
}

/**
 * From one lane into others, each with a new place there, in this order. Only what is `accepted` in the lane at this instant: the
 * relay's intent asks for the same row with the same condition, so that one of the two comes first and the other finds nothing.
 * @returns the devices that have got some
 */
export async function changeLanes(tx: Statements, from: string, changes: readonly LaneChange[]): Promise<string[]> {
  const noted = insertEvents(Prisma.sql`
    SELECT event_id, merchant_id, 'receipt.moved', id,
           jsonb_build_object('receipt_id', id, 'from_device_id', ${from}::text, 'device_id', device_id)
      FROM moved`);
  const rows = await tx.$queryRaw<{ device_id: string }[]>`
    WITH planned AS (
      SELECT p.receipt_id, p.device_id, p.event_id, p.place FROM unnest(
        ${changes.map(({ receiptId }) => receiptId)}::text[], ${changes.map(({ deviceId }) => deviceId)}::text[],
        ${changes.map(() => newId('evt'))}::text[]) WITH ORDINALITY AS p(receipt_id, device_id, event_id, place)
    ), drawn AS (
      SELECT lane_place, row_number() OVER (ORDER BY lane_place) AS place
        FROM (SELECT nextval('lane_place_seq') AS lane_place FROM generate_series(1, ${changes.length}::int)) s
    ), moved AS (
      UPDATE receipts r SET device_id = p.device_id, lane_place = n.lane_place, updated_at = now(),
                            moved_from = array_append(r.moved_from, r.device_id)
        FROM planned p JOIN drawn n USING (place)
       WHERE r.id = p.receipt_id AND r.status::text = 'accepted' AND r.device_id = ${from}
      RETURNING r.id, r.merchant_id, r.device_id, p.event_id
    ), noted AS (${noted})
    SELECT DISTINCT device_id FROM moved`;
  return rows.map(({ device_id: deviceId }) => deviceId);
}
