import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
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

const WITH_ATTEMPTS = { attempts: { orderBy: { number: 'asc' } } } as const;
type DeliveryRow = Prisma.WebhookDeliveryGetPayload<{ include: { attempts: true } }>;

/** What was sent, what came back, and what is still to be sent: the support tool. */
@Injectable()
export class WebhookHistory {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. @throws Problem 404 */
  async deliveries(merchantId: string, webhookId: string, query: DeliveriesQuery): Promise<Page<DeliveryView>> {
    const webhook = await this.prisma.webhookEndpoint.findFirst({
      where: { id: webhookId, merchantId, kind: 'endpoint', deletedAt: null },
      select: { id: true },
    });
    if (!webhook) throw notFound('webhook');
    const state = query.state === undefined ? {} : { state: query.state };
    return this.page({ endpointId: webhookId, ...state }, query);
  }

  /** What was sent to a receipt's `callback_url`, newest first; of a receipt that is not the merchant's: nothing. */
  callbacks(merchantId: string, query: CallbacksQuery): Promise<Page<DeliveryView>> {
    return this.page({ merchantId, subjectId: query.receipt_id, endpoint: { kind: 'callback' } }, query);
  }

  private async page(
    where: Prisma.WebhookDeliveryWhereInput,
    query: { limit?: string; cursor?: string },
  ): Promise<Page<DeliveryView>> {
    const { limit, afterId } = pageRequest(query, 'dlv');
    const rows = await this.prisma.webhookDelivery.findMany({
      where: { ...where, ...(afterId !== null && { id: { lt: afterId } }) },
      orderBy: { id: 'desc' },
      take: limit + 1,
      include: WITH_ATTEMPTS,
    });
    return pageOf(rows, limit, deliveryView);
  }
}

function deliveryView(row: DeliveryRow): DeliveryView {
  return {
    id: row.id,
    event_id: row.eventId,
    type: row.type,
    subject_id: row.subjectId,
    url: row.url,
    state: row.state,
    attempt_count: row.attemptCount,
    due_at: row.state === 'pending' ? row.dueAt.toISOString() : null,
    created_at: row.createdAt.toISOString(),
    finished_at: row.finishedAt?.toISOString() ?? null,
    attempts: row.attempts.map((attempt) => ({
      number: attempt.number,
      at: attempt.at.toISOString(),
      duration_ms: attempt.durationMs,
      outcome: attempt.outcome,
      http_status: attempt.httpStatus,
      answer: attempt.answer,
    })),
  };
}
