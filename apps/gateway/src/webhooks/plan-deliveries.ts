import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { newId } from '#runtime';
import { EventHorizon } from '../events/event-horizon.js';
import { wants } from '../events/event-patterns.js';
import { insertDeliveries, type NewDelivery } from './delivery-rows.js';

/** What a receipt's own `callback_url` is told. */
const CALLBACK_TYPES = ['receipt', 'refund'].flatMap((what) =>
  ['registered', 'rejected', 'unknown', 'cancelled', 'duplicate_suspected'].map((happened) => `${what}.${happened}`),
);
/** Made for one endpoint at somebody's wish, with its delivery (replay-events.ts). */
export const TEST_EVENT = 'webhook.test';

const EVENTS_AT_ONCE = 1_000;
const MERCHANTS_AT_ONCE = 50;
const TRANSACTION = { timeout: 15_000, maxWait: 5_000, isolationLevel: 'ReadCommitted' } as const;

interface PlannedEvent {
  position: bigint;
  id: string;
  type: string;
  subject_id: string;
  created_at: Date;
  callback_url: string | null;
}

interface Endpoint {
  id: string;
  url: string;
  events: string[];
  created_at: Date;
}

/**
 * Makes deliveries from events: for each merchant in order, each event once. The cursor moves in the transaction that
 * writes the deliveries: a process that dies in between has done nothing, the next one does it.
 */
@Injectable()
export class PlanDeliveries {
  constructor(
    private readonly prisma: PrismaService,
    private readonly horizon: EventHorizon,
  ) {}

  /** @returns whether there may be more at once */
  async execute(): Promise<boolean> {
    const merchants = await this.merchantsWithNews();
    let isMore = merchants.length === MERCHANTS_AT_ONCE;
    for (const merchantId of merchants) {
      if ((await this.planMerchant(merchantId)) === EVENTS_AT_ONCE) isMore = true;
    }
    return isMore;
  }

  /** One look into the index per merchant. */
  private async merchantsWithNews(): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT m.id FROM merchants m
        LEFT JOIN webhook_cursors c ON c.merchant_id = m.id
        LEFT JOIN events b ON b.position = c.position
       CROSS JOIN LATERAL (
         SELECT FROM events e
          WHERE e.merchant_id = m.id
            AND (e.transaction_id, e.position) > (coalesce(b.transaction_id, '0'::xid8), coalesce(c.position, 0))
            AND e.transaction_id < ${this.horizon.limit}
          LIMIT 1) AS news
       LIMIT ${MERCHANTS_AT_ONCE}`;
    return rows.map(({ id }) => id);
  }

  /** @returns how many events were looked at */
  private planMerchant(merchantId: string): Promise<number> {
    return this.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`
        INSERT INTO webhook_cursors (merchant_id, position) VALUES (${merchantId}, 0) ON CONFLICT DO NOTHING`;
      const [cursor] = await tx.$queryRaw<{ position: bigint }[]>`
        SELECT position FROM webhook_cursors WHERE merchant_id = ${merchantId} FOR UPDATE SKIP LOCKED`;
      // Another gateway is at it.
      if (!cursor) return 0;
      const endpoints = await tx.$queryRaw<Endpoint[]>`
        SELECT id, url, events, created_at FROM webhook_endpoints
         WHERE merchant_id = ${merchantId} AND kind = 'endpoint' AND disabled_at IS NULL AND deleted_at IS NULL`;
      const batch = await readBatch(tx, {
        ...{ merchantId, after: cursor.position, below: this.horizon.limit },
        everything: endpoints.length > 0,
      });
      if (batch.last === null) return 0;
      const callbacks = await this.callbackEndpoints(tx, merchantId, batch.events);
      const deliveries = batch.events.flatMap((event) => deliveriesOf(merchantId, event, { endpoints, callbacks }));
      await insertDeliveries(tx, deliveries);
      await tx.$executeRaw`UPDATE webhook_cursors SET position = ${batch.last} WHERE merchant_id = ${merchantId}`;
      return batch.count;
    }, TRANSACTION);
  }

  /** Receivers of callbacks by origin, made when they are first needed. */
  private async callbackEndpoints(
    tx: Prisma.TransactionClient,
    merchantId: string,
    events: readonly PlannedEvent[],
  ): Promise<Map<string, string>> {
    const origins = new Set(events.flatMap(({ callback_url: url }) => originOf(url) ?? []));
    if (origins.size === 0) return new Map();
    const made = [...origins].sort().map((url) => ({ id: newId('whk'), url }));
    await tx.$executeRaw`
      INSERT INTO webhook_endpoints (id, merchant_id, kind, url, events)
      SELECT id, ${merchantId}, 'callback', url, '{}' FROM json_to_recordset(${JSON.stringify(made)}::json) AS m(id text, url text)
      ON CONFLICT DO NOTHING`;
    const rows = await tx.$queryRaw<{ id: string; url: string }[]>`
      SELECT id, url FROM webhook_endpoints
       WHERE merchant_id = ${merchantId} AND kind = 'callback' AND url = ANY(${[...origins]}::text[])`;
    return new Map(rows.map(({ id, url }) => [url, id]));
  }
}

interface Batch {
  /** Those that may lead to a delivery. */
  events: PlannedEvent[];
  count: number;
  /** Position of the last event that was looked at; null = there was none. */
  last: bigint | null;
}

/** Without endpoints only events of receipts with a `callback_url` leave the database. */
async function readBatch(
  tx: Prisma.TransactionClient,
  {
    merchantId,
    after,
    below,
    everything,
  }: { merchantId: string; after: bigint; below: Prisma.Sql; everything: boolean },
): Promise<Batch> {
  const rows = await tx.$queryRaw<(PlannedEvent & { of: number; is_last: boolean })[]>`
    WITH batch AS MATERIALIZED (
      SELECT e.position, e.transaction_id, e.id, e.type, e.subject_id, e.created_at,
             (count(*) OVER ())::int4 AS of,
             row_number() OVER (ORDER BY e.transaction_id, e.position) = count(*) OVER () AS is_last
        FROM (SELECT * FROM events
               WHERE merchant_id = ${merchantId}
                 AND (transaction_id, position)
                     > (coalesce((SELECT b.transaction_id FROM events b WHERE b.position = ${after}::bigint), '0'::xid8), ${after}::bigint)
                 AND transaction_id < ${below}
               ORDER BY transaction_id, position LIMIT ${EVENTS_AT_ONCE}) AS e
    )
    SELECT b.position, b.id, b.type, b.subject_id, b.created_at, b.of, b.is_last, r.document ->> 'callbackUrl' AS callback_url
      FROM batch b LEFT JOIN receipts r ON b.type = ANY(${CALLBACK_TYPES}::text[]) AND r.id = b.subject_id
     WHERE ${everything} OR b.is_last OR r.document ->> 'callbackUrl' IS NOT NULL
     ORDER BY b.transaction_id, b.position`;
  const last = rows.at(-1);
  return { events: rows, count: last?.of ?? 0, last: last?.position ?? null };
}

function deliveriesOf(
  merchantId: string,
  event: PlannedEvent,
  to: { endpoints: readonly Endpoint[]; callbacks: ReadonlyMap<string, string> },
): NewDelivery[] {
  if (event.type === TEST_EVENT) return [];
  const common = {
    ...{ merchantId, eventPosition: event.position, eventId: event.id, type: event.type },
    subjectId: event.subject_id,
  };
  // What happened before an endpoint was there is brought by a replay.
  const wanting = to.endpoints.filter(
    (endpoint) => wants(endpoint.events, event.type) && event.created_at >= endpoint.created_at,
  );
  const deliveries = wanting.map(({ id, url }) => ({ ...common, endpointId: id, url }));
  const callback = to.callbacks.get(originOf(event.callback_url) ?? '');
  if (callback === undefined || event.callback_url === null) return deliveries;
  return [...deliveries, { ...common, endpointId: callback, url: event.callback_url }];
}

function originOf(url: string | null): string | null {
  return url !== null && URL.canParse(url) ? new URL(url).origin : null;
}
