import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import type { EventRow } from '../events/event-row.js';
import { deliverySearch, isWalked, WALKED, type FoundDeliveries } from './delivery-search.js';
import { eventMessage } from './webhook-message.js';
import type { CallbacksQuery, DeliveriesQuery } from './webhook-bodies.js';

export interface DeliveryView {
  id: string;
  event_id: string;
  type: string;
  /** The receipt, device … that the event is about. */
  subject_id: string;
  url: string;
  state: 'pending' | 'delivered' | 'failed';
  attempt_count: number;
  /** Of the last attempt; null: none yet, or no answer came. */
  last_http_status: number | null;
  /** Null once it is delivered or given up. */
  due_at: string | null;
  created_at: string;
  finished_at: string | null;
  /** Oldest first. */
  attempts: WebhookAttemptView[];
}

export interface WebhookAttemptView {
  number: number;
  at: string;
  duration_ms: number;
  /** `delivered`, `refused_by_receiver`, `timeout`, `reset`, `unreadable`, `not_sent` or `address_not_allowed`. */
  outcome: string;
  http_status: number | null;
  /** The beginning of what came back, or why nothing was sent. */
  answer: string | null;
}

type WithoutAttempts = Prisma.WebhookDeliveryGetPayload<object>;
type AttemptRow = Prisma.WebhookAttemptGetPayload<object>;
type DeliveryRow = WithoutAttempts & { attempts: AttemptRow[] };

/** One delivery with the request that carries it. */
export interface DeliveryWithRequest extends DeliveryView {
  request: DeliveryRequest;
}

export interface DeliveryRequest {
  method: 'POST';
  url: string;
  /** Of the last attempt; the signature is left out. */
  sent_headers: Record<string, string>;
  /** The event as it is sent alone; of a batch it is one entry. */
  body: string;
  /** Only the beginning is shown. */
  body_truncated: boolean;
}

/** Characters of a body that are shown. */
const SHOWN_BODY = 16_384;

/** What was sent, what came back, and what is still to be sent: the support tool. */
@Injectable()
export class WebhookHistory {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. @throws Problem 404 */
  async deliveries(merchantId: string, webhookId: string, query: DeliveriesQuery): Promise<Page<DeliveryView>> {
    await this.assertOwn(merchantId, webhookId);
    const { limit, afterId } = pageRequest(query, 'dlv');
    const statement = deliverySearch({ merchantId, webhookId }, query, { limit, afterId });
    const [found] = await this.prisma.queryPlanned<FoundDeliveries>(statement);
    const { ids = [], walked = 0, walked_to: walkedTo = null } = found ?? {};
    const page = pageOf(await this.read(merchantId, ids), limit, deliveryView);
    const isCutOff = isWalked(query) && walked === WALKED && walkedTo !== null;
    if (page.next_cursor !== null || !isCutOff) return page;
    return { ...page, next_cursor: Buffer.from(walkedTo).toString('base64url') };
  }

  /** @throws Problem 404 */
  async delivery(merchantId: string, webhookId: string, deliveryId: string): Promise<DeliveryWithRequest> {
    await this.assertOwn(merchantId, webhookId);
    const [row] = await this.read(merchantId, [deliveryId]);
    if (row?.endpointId !== webhookId) throw notFound('delivery');
    const [event] = await this.prisma.$queryRaw<EventRow[]>`
      SELECT position, id, merchant_id, type, subject_id, data, created_at FROM events
       WHERE position = ${row.eventPosition}::bigint AND id = ${row.eventId} AND merchant_id = ${merchantId}`;
    if (!event)
      throw new Problem(
        'not_found',
        'The event of this delivery has left the database; the list still has the delivery.',
      );
    return { ...deliveryView(row), request: requestOf(row, event) };
  }

  /** What was sent to a receipt's `callback_url`, newest first; of a receipt that is not the merchant's: nothing. */
  async callbacks(merchantId: string, query: CallbacksQuery): Promise<Page<DeliveryView>> {
    const { limit, afterId } = pageRequest(query, 'dlv');
    const rows = await this.prisma.webhookDelivery.findMany({
      where: {
        ...{ merchantId, subjectId: query.receipt_id, endpoint: { kind: 'callback' } },
        ...(afterId !== null && { id: { lt: afterId } }),
      },
      orderBy: { id: 'desc' },
      take: limit + 1,
    });
    return pageOf(await this.withAttempts(rows), limit, deliveryView);
  }

  private async assertOwn(merchantId: string, webhookId: string): Promise<void> {
    const webhook = await this.prisma.webhookEndpoint.findFirst({
      where: { id: webhookId, merchantId, kind: 'endpoint', deletedAt: null },
      select: { id: true },
    });
    if (!webhook) throw notFound('webhook');
  }

  private async read(merchantId: string, ids: readonly string[]): Promise<DeliveryRow[]> {
    if (ids.length === 0) return [];
    const rows = await this.prisma.webhookDelivery.findMany({
      where: { id: { in: [...ids] }, merchantId },
      orderBy: { id: 'desc' },
    });
    return this.withAttempts(rows);
  }

  /** No relation of the schema: partitions have no foreign key between the two tables. */
  private async withAttempts(rows: readonly WithoutAttempts[]): Promise<DeliveryRow[]> {
    if (rows.length === 0) return [];
    const attempts = await this.prisma.webhookAttempt.findMany({
      where: { deliveryId: { in: rows.map(({ id }) => id) } },
      orderBy: [{ deliveryId: 'asc' }, { number: 'asc' }],
    });
    return rows.map((row) => ({ ...row, attempts: attempts.filter(({ deliveryId }) => deliveryId === row.id) }));
  }
}

function requestOf(row: DeliveryRow, event: EventRow): DeliveryRequest {
  const { id, body } = eventMessage(event);
  const sentAt = row.attempts.at(-1)?.at;
  return {
    method: 'POST',
    url: row.url,
    sent_headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      ...(sentAt && { 'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)) }),
      'webhook-signature': 'v1,…',
    },
    body: body.slice(0, SHOWN_BODY),
    body_truncated: body.length > SHOWN_BODY,
  };
}

function deliveryView(row: DeliveryRow): DeliveryView {
  return {
    ...viewOfColumns(row, 'id', 'eventId', 'type', 'subjectId', 'url', 'state', 'attemptCount', 'lastHttpStatus'),
    due_at: row.state === 'pending' ? row.dueAt.toISOString() : null,
    ...viewOfColumns(row, 'createdAt', 'finishedAt'),
    attempts: row.attempts.map((attempt) =>
      viewOfColumns(attempt, 'number', 'at', 'durationMs', 'outcome', 'httpStatus', 'answer'),
    ),
  };
}
