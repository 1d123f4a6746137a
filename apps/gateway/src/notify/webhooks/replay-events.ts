import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { isId, ulidOf } from '#fiscal-domain';
import { insertEvents } from '#ledger';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { decodeTime } from 'ulid';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { wants } from '../events/event-patterns.js';
import { readTimestamp } from '../../http/query-rules.js';
import { insertDeliveries } from './delivery-rows.js';
import { TEST_EVENT } from './plan-deliveries.js';
import type { ReplayBody } from './webhook-bodies.js';
import { lockWebhook } from './webhook-endpoints.js';

interface Range {
  from: Date;
  to: Date;
  eventId: string | null;
}

interface FoundEvent {
  position: bigint;
  id: string;
  type: string;
  subject_id: string;
}

/** More at once would hold the endpoint's row for long; ask for shorter spans. */
export const MAX_REPLAYED = 10_000;
/** Positions follow times only roughly: a transaction draws its position when it writes and shows it when it commits. */
const SLACK_MS = 2 * 60_000;

/** Sends again what an endpoint has missed, whatever became of it the first time, and test events. */
@Injectable()
export class ReplayEvents {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  /**
   * Events keep their ids: a receiver that has one already knows it.
   * @returns how many deliveries were made
   * @throws Problem 404; 409 webhook_disabled; 422 for a range that is none or too large, or an unknown event
   */
  async replay(caller: Caller, webhookId: string, body: ReplayBody): Promise<{ deliveries: number }> {
    const range = rangeOf(body);
    const between = await this.positionsBetween(range);
    return this.changes.execute(caller, async (tx) => {
      await keepEventsChosen(tx);
      await refuseLeft(tx, range);
      const webhook = await lockWebhook(tx, caller.merchantId, webhookId);
      refuseDisabled(webhook);
      const events = await findEvents(tx, caller.merchantId, { ...range, ...between });
      if (range.eventId !== null && events.length === 0)
        throw Problem.at('/event_id', 'invalid_value', 'no event has this id');
      if (events.length > MAX_REPLAYED)
        throw Problem.at('/from', 'invalid_value', `the span holds more than ${MAX_REPLAYED} events`);
      const chosen = range.eventId === null ? events.filter(({ type }) => wants(webhook.events, type)) : events;
      await insertDeliveries(
        tx,
        chosen.map((event) => ({
          ...{ merchantId: caller.merchantId, endpointId: webhookId, url: webhook.url },
          ...{ eventPosition: event.position, eventId: event.id, type: event.type, subjectId: event.subject_id },
        })),
      );
      const result = { deliveries: chosen.length };
      return { result, action: 'webhook.replay', targetId: webhookId, before: null, after: { ...body, ...result } };
    });
  }

  /** An event of its own, to this endpoint alone. @throws Problem 404; 409 webhook_disabled */
  async test(caller: Caller, webhookId: string): Promise<{ delivery_id: string; event_id: string }> {
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      const webhook = await lockWebhook(tx, merchantId, webhookId);
      refuseDisabled(webhook);
      const eventId = newId('evt');
      const noted = insertEvents(Prisma.sql`
        VALUES (${eventId}, ${merchantId}, ${TEST_EVENT}, ${webhookId}, jsonb_build_object('webhook_id', ${webhookId}::text))`);
      const [event] = await tx.$queryRaw<{ position: bigint }[]>`${noted} RETURNING position`;
      const delivery = {
        ...{ merchantId, endpointId: webhookId, url: webhook.url, eventPosition: event?.position ?? 0n },
        ...{ eventId, type: TEST_EVENT, subjectId: webhookId },
      };
      const [deliveryId = ''] = await insertDeliveries(tx, [delivery]);
      const result = { delivery_id: deliveryId, event_id: eventId };
      return { result, action: 'webhook.test', targetId: webhookId, before: null, after: result };
    });
  }

  private async positionsBetween({ from, to }: Range): Promise<{ first: bigint; last: bigint }> {
    const first = await this.positionAt(from.getTime() - SLACK_MS);
    return { first, last: await this.positionAt(to.getTime() + SLACK_MS) };
  }

  /** The first position of about that time, by halves: times have no index, positions grow with them. */
  private async positionAt(timeMs: number): Promise<bigint> {
    const [end] = await this.prisma.$queryRaw<{ last: bigint | null }[]>`SELECT max(position) AS last FROM events`;
    let [low, high] = [0n, (end?.last ?? 0n) + 1n];
    while (low < high) {
      const middle = (low + high) / 2n;
      const [event] = await this.prisma.$queryRaw<{ created_at: Date }[]>`
        SELECT created_at FROM events WHERE position >= ${middle}::bigint ORDER BY position LIMIT 1`;
      if (event && event.created_at.getTime() < timeMs) low = middle + 1n;
      else high = middle;
    }
    return low;
  }
}

/** Of a month that has left some events may be here still: a part of a span would look like the whole. @throws Problem 422 */
async function refuseLeft(tx: Prisma.TransactionClient, { from, eventId }: Range): Promise<void> {
  if (eventId !== null) return;
  const [left] = await tx.$queryRaw<{ until: Date | null }[]>`
    SELECT max(time_of_id(upper_id)) AS until FROM partitions_of('events') WHERE name LIKE '%\\_kept\\_%'`;
  const until = left?.until ?? null;
  if (until !== null && from < until)
    throw Problem.at(
      '/from',
      'invalid_value',
      `events before ${until.toISOString()} have left the database for its archive`,
    );
}

function findEvents(
  tx: Prisma.TransactionClient,
  merchantId: string,
  range: Range & { first: bigint; last: bigint },
): Promise<FoundEvent[]> {
  return tx.$queryRaw<FoundEvent[]>`
    SELECT position, id, type, subject_id FROM events
     WHERE position >= ${range.first}::bigint AND position <= ${range.last}::bigint AND merchant_id = ${merchantId}
       AND (id = ${range.eventId} OR (${range.eventId}::text IS NULL AND type <> ${TEST_EVENT}
            AND created_at >= ${range.from}::timestamptz AND created_at < ${range.to}::timestamptz))
     ORDER BY transaction_id, position LIMIT ${MAX_REPLAYED + 1}`;
}

function rangeOf(body: ReplayBody): Range {
  const { event_id: eventId } = body;
  const isSpan = body.from !== undefined || body.to !== undefined;
  if (eventId !== undefined) {
    if (isSpan) throw Problem.at('/event_id', 'invalid_value', 'give either event_id, or from and to');
    if (!isId('evt', eventId)) throw Problem.at('/event_id', 'invalid_value', 'no event has this id');
    const madeAt = new Date(decodeTime(ulidOf(eventId)));
    return { from: madeAt, to: madeAt, eventId };
  }
  const from = readTimestamp(body.from ?? '');
  const to = readTimestamp(body.to ?? '');
  if (!from || !to) throw Problem.at('', 'invalid_value', 'give event_id, or from and to');
  if (from >= to) throw Problem.at('/from', 'invalid_value', 'from must be before to');
  return { from, to, eventId: null };
}

/**
 * Until the end of this transaction no month of events leaves: what is chosen is there when its delivery is to be sent. Before any row is
 * locked: where a month is leaving the caller asks again.
 * @throws Problem 503
 */
export async function keepEventsChosen(tx: Prisma.TransactionClient): Promise<void> {
  const [row] = await tx.$queryRaw<{ may: boolean }[]>`SELECT may_choose_events() AS may`;
  if (row?.may !== true)
    throw new Problem('service_unavailable', 'Old events are being archived; ask again in a minute.');
}

export function refuseDisabled(webhook: { disabledAt: Date | null }): void {
  if (webhook.disabledAt !== null) throw new Problem('webhook_disabled', 'The webhook is disabled; enable it first.');
}
