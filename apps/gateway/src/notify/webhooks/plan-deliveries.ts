import { Inject, Injectable } from '@nestjs/common';
import { Prisma, PrismaService, type StoredNotify } from '#database';
import { isDatabaseUnavailable, newId, type Logger } from '#runtime';
import { EventHorizon } from '../events/event-horizon.js';
import { wants } from '../events/event-patterns.js';
import type { EventRow } from '../events/event-row.js';
import { LOGGER } from '../../tokens.js';
import { MESSAGE_TYPES, PlanMessages } from '../messages/plan-messages.js';
import { insertDeliveries, type NewDelivery } from './delivery-rows.js';
import { MerchantsWithNews } from './merchants-with-news.js';

/** What is sent to a receipt's own `callback_url`. */
const CALLBACK_TYPES = ['receipt', 'refund'].flatMap((what) =>
  ['registered', 'rejected', 'unknown', 'cancelled', 'duplicate_suspected'].map((happened) => `${what}.${happened}`),
);
/** Made for one endpoint on request, with its delivery (replay-events.ts). */
export const TEST_EVENT = 'webhook.test';

/** Events that a round reads, shared out evenly among its merchants: a long backlog takes no more than its share. */
const EVENTS_AT_ONCE = 2_000;
const EVENTS_OF_MERCHANT = 1_000;
const TRANSACTION = { timeout: 15_000, isolationLevel: 'ReadCommitted' } as const;

interface PlannedEvent extends Omit<EventRow, 'data'> {
  callback_url: string | null;
  /** Its buyer is to get the receipt. */
  notify: StoredNotify | null;
}

interface Endpoint {
  id: string;
  merchant_id: string;
  url: string;
  events: string[];
  created_at: Date;
}

interface Cursor {
  merchant_id: string;
  position: bigint;
}

/**
 * Makes deliveries, and messages to buyers, from events: for each merchant in order, each event once, for many merchants together. The cursors move in the
 * transaction that writes the deliveries: a process that dies in between has done nothing, the next one does it.
 */
@Injectable()
export class PlanDeliveries {
  private readonly news: MerchantsWithNews;

  constructor(
    private readonly prisma: PrismaService,
    private readonly horizon: EventHorizon,
    private readonly messages: PlanMessages,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.news = new MerchantsWithNews(prisma, horizon);
  }

  /** @returns whether there may be more at once */
  async execute(): Promise<boolean> {
    const { merchants, isMore } = await this.news.next();
    return (await this.planTogether(merchants)) || isMore;
  }

  /** What goes wrong with one merchant must not keep the others waiting. */
  private async planTogether(merchants: readonly string[]): Promise<boolean> {
    if (merchants.length === 0) return false;
    try {
      return await this.plan(merchants);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      if (merchants.length === 1) {
        this.logger.error({ err: error, merchant_id: merchants[0] }, 'deliveries of a merchant could not be made');
        return false;
      }
      let isMore = false;
      for (const merchantId of merchants) isMore = (await this.planTogether([merchantId])) || isMore;
      return isMore;
    }
  }

  /** @returns whether any of them has more */
  private plan(merchants: readonly string[]): Promise<boolean> {
    const limit = Math.min(EVENTS_OF_MERCHANT, Math.ceil(EVENTS_AT_ONCE / merchants.length));
    return this.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`
        INSERT INTO webhook_cursors (merchant_id, position) SELECT id, 0 FROM unnest(${[...merchants]}::text[]) AS m(id)
        ON CONFLICT DO NOTHING`;
      // What another gateway is at is left to it.
      const cursors = await tx.$queryRaw<Cursor[]>`
        SELECT merchant_id, position FROM webhook_cursors WHERE merchant_id = ANY(${[...merchants]}::text[])
         ORDER BY merchant_id FOR UPDATE SKIP LOCKED`;
      if (cursors.length === 0) return false;
      const endpoints = await endpointsOf(
        tx,
        cursors.map((cursor) => cursor.merchant_id),
      );
      const batch = await readBatch(tx, { cursors, endpoints, limit, below: this.horizon.limit });
      const callbacks = await this.callbackEndpoints(tx, batch.events);
      await insertDeliveries(
        tx,
        batch.events.flatMap((event) => deliveriesOf(event, { endpoints, callbacks })),
      );
      await this.messages.plan(tx, batch.events);
      await moveCursors(tx, batch.ends);
      return batch.ends.some(({ of }) => of === limit);
    }, TRANSACTION);
  }

  /** Receivers of callbacks by merchant and origin, made when they are first needed. */
  private async callbackEndpoints(
    tx: Prisma.TransactionClient,
    events: readonly PlannedEvent[],
  ): Promise<Map<string, string>> {
    const origins = new Map<string, { merchant_id: string; url: string }>();
    for (const { merchant_id: merchantId, callback_url: callbackUrl } of events) {
      const url = originOf(callbackUrl);
      if (url !== null) origins.set(callbackKey(merchantId, url), { merchant_id: merchantId, url });
    }
    if (origins.size === 0) return new Map();
    const made = [...origins]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, row]) => ({ ...row, id: newId('whk') }));
    await tx.$executeRaw`
      INSERT INTO webhook_endpoints (id, merchant_id, kind, url, events)
      SELECT id, merchant_id, 'callback', url, '{}'
        FROM json_to_recordset(${JSON.stringify(made)}::json) AS m(id text, merchant_id text, url text)
      ON CONFLICT DO NOTHING`;
    const rows = await tx.$queryRaw<{ id: string; merchant_id: string; url: string }[]>`
      SELECT e.id, e.merchant_id, e.url
        FROM json_to_recordset(${JSON.stringify(made)}::json) AS m(merchant_id text, url text)
        JOIN webhook_endpoints e ON e.merchant_id = m.merchant_id AND e.url = m.url AND e.kind = 'callback'`;
    return new Map(rows.map((row) => [callbackKey(row.merchant_id, row.url), row.id]));
  }
}

/** Receivers that these merchants have made: by an index without those of callbacks, of which a merchant may have one for each receipt. */
export function endpointsOf(
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  merchants: readonly string[],
): Promise<Endpoint[]> {
  return tx.$queryRaw<Endpoint[]>`
    SELECT id, merchant_id, url, events, created_at FROM webhook_endpoints
     WHERE merchant_id = ANY(${[...merchants]}::text[]) AND kind = 'endpoint' AND deleted_at IS NULL AND disabled_at IS NULL`;
}

interface BatchEnd {
  merchantId: string;
  /** Position of the last event that was read. */
  last: bigint;
  /** How many were. */
  of: number;
}

interface Batch {
  /** Those that may lead to a delivery, of each merchant in order. */
  events: PlannedEvent[];
  ends: BatchEnd[];
}

/** Of merchants without endpoints only events of receipts with a `callback_url` leave the database, and each one's last. */
async function readBatch(
  tx: Prisma.TransactionClient,
  {
    cursors,
    endpoints,
    limit,
    below,
  }: { cursors: readonly Cursor[]; endpoints: readonly Endpoint[]; limit: number; below: Prisma.Sql },
): Promise<Batch> {
  const listening = new Set(endpoints.map((endpoint) => endpoint.merchant_id));
  const asked = cursors.map(({ merchant_id: merchantId, position }) => ({
    ...{ merchant_id: merchantId, position: String(position), everything: listening.has(merchantId) },
  }));
  const rows = await tx.$queryRaw<(PlannedEvent & { of: number; is_last: boolean })[]>`
    WITH batch AS MATERIALIZED (
      SELECT c.everything, e.*,
             (count(*) OVER (PARTITION BY c.merchant_id))::int4 AS of,
             lead(e.position) OVER (PARTITION BY c.merchant_id ORDER BY e.transaction_id, e.position) IS NULL AS is_last
        FROM json_to_recordset(${JSON.stringify(asked)}::json) AS c(merchant_id text, position bigint, everything boolean)
       CROSS JOIN LATERAL (
         SELECT e.merchant_id, e.position, e.transaction_id, e.id, e.type, e.subject_id, e.created_at FROM events e
          WHERE e.merchant_id = c.merchant_id
            AND (e.transaction_id, e.position)
                > (coalesce((SELECT b.transaction_id FROM events b WHERE b.position = c.position), '0'::xid8), c.position)
            AND e.transaction_id < ${below}
          ORDER BY e.transaction_id, e.position LIMIT ${limit}::int4) AS e
    )
    SELECT b.merchant_id, b.position, b.id, b.type, b.subject_id, b.created_at, b.of, b.is_last,
           r.callback_url, CASE WHEN b.type = ANY(${MESSAGE_TYPES}::text[]) THEN r.notify END AS notify
      FROM batch b
      -- Each by its key: so many events are expected of so many merchants that all receipts would be read instead.
      LEFT JOIN LATERAL (
        SELECT r.document ->> 'callbackUrl' AS callback_url, r.document -> 'notify' AS notify
          FROM receipts r WHERE b.type = ANY(${CALLBACK_TYPES}::text[]) AND r.id = b.subject_id OFFSET 0) r ON true
     WHERE b.everything OR b.is_last OR r.callback_url IS NOT NULL
        OR (b.type = ANY(${MESSAGE_TYPES}::text[]) AND r.notify IS NOT NULL)
     ORDER BY b.merchant_id, b.transaction_id, b.position`;
  const ends = rows
    .filter((row) => row.is_last)
    .map(({ merchant_id: merchantId, position: last, of }) => ({ merchantId, last, of }));
  return { events: rows, ends };
}

async function moveCursors(tx: Prisma.TransactionClient, ends: readonly BatchEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await tx.$executeRaw`
    UPDATE webhook_cursors c SET position = e.position
      FROM unnest(${ends.map(({ merchantId }) => merchantId)}::text[], ${ends.map(({ last }) => last)}::bigint[]) AS e(merchant_id, position)
     WHERE c.merchant_id = e.merchant_id`;
}

function deliveriesOf(
  event: PlannedEvent,
  to: { endpoints: readonly Endpoint[]; callbacks: ReadonlyMap<string, string> },
): NewDelivery[] {
  if (event.type === TEST_EVENT) return [];
  const { merchant_id: merchantId } = event;
  const common = {
    ...{ merchantId, eventPosition: event.position, eventId: event.id, type: event.type },
    subjectId: event.subject_id,
  };
  // What happened before an endpoint was there is brought by a replay.
  const wanting = to.endpoints.filter(
    (endpoint) =>
      endpoint.merchant_id === merchantId &&
      wants(endpoint.events, event.type) &&
      event.created_at >= endpoint.created_at,
  );
  const deliveries = wanting.map(({ id, url }) => ({ ...common, endpointId: id, url }));
  const callback = to.callbacks.get(callbackKey(merchantId, originOf(event.callback_url) ?? ''));
  if (callback === undefined || event.callback_url === null) return deliveries;
  return [...deliveries, { ...common, endpointId: callback, url: event.callback_url }];
}

function callbackKey(merchantId: string, origin: string): string {
  return `${merchantId}\n${origin}`;
}

function originOf(url: string | null): string | null {
  return url !== null && URL.canParse(url) ? new URL(url).origin : null;
}
