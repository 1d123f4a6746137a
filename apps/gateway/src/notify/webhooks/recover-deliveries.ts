import { Injectable } from '@nestjs/common';
import { Prisma } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { readTimestamp } from '../../http/query-rules.js';
import { insertDeliveries } from './delivery-rows.js';
import { keepEventsChosen, MAX_REPLAYED, refuseDisabled } from './replay-events.js';
import type { RecoverBody } from './webhook-bodies.js';
import { lockWebhook } from './webhook-endpoints.js';

/** What was given up: one event for one endpoint. */
interface GivenUp {
  event_position: bigint;
  event_id: string;
  type: string;
  subject_id: string;
}

const MAX_SPAN_MS = 31 * 86_400_000;

/** POST …/recover: new deliveries of what was given up, and of nothing else. */
@Injectable()
export class RecoverDeliveries {
  constructor(private readonly changes: AuditedChange) {}

  /**
   * Asked for twice it makes nothing twice: what waits already is not given up.
   * @returns how many deliveries were made
   * @throws Problem 404; 409 webhook_disabled; 422 for a span that is none or too large
   */
  execute(caller: Caller, webhookId: string, body: RecoverBody): Promise<{ deliveries: number }> {
    const { from, to } = spanOf(body);
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      await keepEventsChosen(tx);
      const webhook = await lockWebhook(tx, merchantId, webhookId);
      refuseDisabled(webhook);
      const found = await tx.$queryRaw<GivenUp[]>(givenUp({ merchantId, webhookId, from, to }));
      if (found.length > MAX_REPLAYED)
        throw Problem.at('/from', 'invalid_value', `more than ${MAX_REPLAYED} deliveries were given up then`);
      await insertDeliveries(
        tx,
        found.map((one) => ({
          ...{ merchantId, endpointId: webhookId, url: webhook.url, eventPosition: one.event_position },
          ...{ eventId: one.event_id, type: one.type, subjectId: one.subject_id },
        })),
      );
      const result = { deliveries: found.length };
      return { result, action: 'webhook.recover', targetId: webhookId, before: null, after: { ...body, ...result } };
    });
  }
}

interface Span {
  merchantId: string;
  webhookId: string;
  from: Date;
  to: Date;
}

/** Each event once, in the order of the log. */
export function givenUp({ merchantId, webhookId, from, to }: Span): Prisma.Sql {
  return Prisma.sql`
    WITH failed AS MATERIALIZED (
      SELECT DISTINCT event_position, event_id, subject_id FROM webhook_deliveries
       WHERE endpoint_id = ${webhookId} AND merchant_id = ${merchantId} AND state = 'failed'
         AND finished_at >= ${from}::timestamptz AND finished_at < ${to}::timestamptz
       LIMIT ${4 * MAX_REPLAYED}
    )
    SELECT e.position AS event_position, e.id AS event_id, e.type, e.subject_id
      FROM failed f
      -- Each by its key, in the one partition where it is: however many are guessed to have failed.
     CROSS JOIN LATERAL (SELECT * FROM events WHERE position = f.event_position AND id = f.event_id LIMIT 1) e
     WHERE NOT EXISTS (SELECT FROM webhook_deliveries d
                        WHERE d.subject_id = f.subject_id AND d.endpoint_id = ${webhookId}
                          AND d.event_position = f.event_position AND d.state <> 'failed')
     ORDER BY e.transaction_id, e.position LIMIT ${MAX_REPLAYED + 1}`;
}

function spanOf(body: RecoverBody): { from: Date; to: Date } {
  const from = readTimestamp(body.from);
  const to = readTimestamp(body.to);
  if (!from || !to || from >= to) throw Problem.at('/from', 'invalid_value', 'from must be before to');
  if (to.getTime() - from.getTime() > MAX_SPAN_MS)
    throw Problem.at('/from', 'invalid_value', 'from and to may be 31 days apart');
  return { from, to };
}
