import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem, type ProblemCode } from '#problems';
import { OutgoingGuard } from '#outgoing';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../http/paging.js';
import { given } from '../../http/given.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { WEBHOOK_GUARD } from '../../tokens.js';
import { setAnew, switched } from '../begin-anew.js';
import type { RotateSecretBody, WebhookBody, WebhookPatch } from './webhook-bodies.js';
import { WebhookSecrets } from './webhook-secrets.js';

export interface WebhookView {
  id: string;
  url: string;
  events: string[];
  description: string;
  batch_size: number;
  enabled: boolean;
  disabled_at: string | null;
  disabled_reason: string | null;
  /** First failure since the last success. */
  failing_since: string | null;
  created_at: string;
}

/** `secret` is shown here and never again. */
export type NewWebhookView = WebhookView & { secret: string };

/** `secret` is there when the address has moved to another origin: a new one, shown here and never again. */
export type ChangedWebhookView = WebhookView & { secret?: string };

export interface NewSecretView {
  secret: string;
  /** Until then the secret before signs too; null when there was none. */
  previous_valid_until: string | null;
}

type WebhookRow = Prisma.WebhookEndpointGetPayload<object>;

const MAX_ENDPOINTS = 50;
/** A change is one short transaction, whatever has failed. */
const MAX_DUE_AT_ONCE = 5_000;
const DEFAULT_OVERLAP_HOURS = 24;
const EVERYTHING = ['*'];

/** Receivers of a merchant's events. */
@Injectable()
export class WebhookEndpoints {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly secrets: WebhookSecrets,
    @Inject(WEBHOOK_GUARD) private readonly guard: OutgoingGuard,
  ) {}

  async list(merchantId: string, query: PageQuery): Promise<Page<WebhookView>> {
    const { limit, afterId } = pageRequest(query, 'whk');
    const rows = await this.prisma.webhookEndpoint.findMany({
      where: { ...ownOf(merchantId), ...(afterId !== null && { id: { gt: afterId } }) },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, webhookView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<WebhookView> {
    const row = await this.prisma.webhookEndpoint.findFirst({ where: { ...ownOf(merchantId), id } });
    if (!row) throw notFound('webhook');
    return webhookView(row);
  }

  /** @throws Problem 422 for an address that must not be called, or one endpoint too many */
  async create(caller: Caller, body: WebhookBody): Promise<NewWebhookView> {
    const { merchantId } = caller;
    const url = await this.checkedUrl(body.url);
    return this.changes.execute(caller, async (tx) => {
      // Two at the same time count each other.
      await tx.$queryRaw`SELECT id FROM merchants WHERE id = ${merchantId} FOR NO KEY UPDATE`;
      if ((await tx.webhookEndpoint.count({ where: ownOf(merchantId) })) >= MAX_ENDPOINTS) {
        throw new Problem('webhook_limit_reached', `A merchant has at most ${MAX_ENDPOINTS} webhooks.`);
      }
      const { events = EVERYTHING, description = '', batch_size: batchSize = 1 } = body;
      const data = { id: newId('whk'), merchantId, url, events, description, batchSize };
      const row = await tx.webhookEndpoint.create({ data });
      const { secret } = await this.secrets.replace(tx, row.id, 0);
      const view = webhookView(row);
      return { result: { ...view, secret }, action: 'webhook.create', targetId: row.id, before: null, after: view };
    });
  }

  /**
   * Another origin is another receiver: it gets a secret of its own, and nothing that the one before has signed for. At another address
   * sending begins anew: how long the one before has failed says nothing about it.
   * @throws Problem 404; 422 for an address that must not be called
   */
  async change(caller: Caller, id: string, patch: WebhookPatch): Promise<ChangedWebhookView> {
    const url = patch.url === undefined ? undefined : await this.checkedUrl(patch.url);
    return this.changes.execute(caller, async (tx) => {
      const row = await lockWebhook(tx, caller.merchantId, id);
      const { events, description, batch_size: batchSize } = patch;
      const moved = url === undefined || url === row.url ? {} : setAnew(row);
      const data = { ...given({ url, events, description, batchSize }), ...moved, ...switched(row, patch.enabled) };
      const changed = await tx.webhookEndpoint.update({ where: { id }, data });
      // It begins anew, and is enabled.
      if (data.dueAt) await endBackOff(tx, id);
      const view = webhookView(changed);
      const isMoved = url !== undefined && new URL(url).origin !== new URL(row.url).origin;
      const signedAnew = isMoved ? { secret: (await this.secrets.replace(tx, id, 0)).secret } : {};
      const after = { ...view, ...(isMoved && { is_signed_anew: true }) };
      return {
        result: { ...view, ...signedAnew },
        action: 'webhook.change',
        targetId: id,
        before: webhookView(row),
        after,
      };
    });
  }

  /** What waits for it is never sent. @throws Problem 404 */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const row = await lockWebhook(tx, caller.merchantId, id);
      await tx.webhookEndpoint.update({ where: { id }, data: { deletedAt: new Date(), dueAt: null } });
      await tx.webhookSecret.delete({ where: { ownerId: id } });
      return { result: null, action: 'webhook.delete', targetId: id, before: webhookView(row), after: null };
    });
  }

  /** @throws Problem 404 */
  rotateSecret(caller: Caller, id: string, body: RotateSecretBody): Promise<NewSecretView> {
    return this.changes.execute(caller, async (tx) => {
      await lockWebhook(tx, caller.merchantId, id);
      const result = await this.newSecret(tx, id, body);
      const after = { previous_valid_until: result.previous_valid_until };
      return { result, action: 'webhook.rotate_secret', targetId: id, before: null, after };
    });
  }

  /** The secret that signs what is sent to `callback_url`s of the merchant's receipts. */
  rotateCallbackSecret(caller: Caller, body: RotateSecretBody): Promise<NewSecretView> {
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      const result = await this.newSecret(tx, merchantId, body);
      const after = { previous_valid_until: result.previous_valid_until };
      return { result, action: 'webhook.rotate_callback_secret', targetId: merchantId, before: null, after };
    });
  }

  private async newSecret(
    tx: Prisma.TransactionClient,
    ownerId: string,
    { overlap_hours: overlapHours }: RotateSecretBody,
  ): Promise<NewSecretView> {
    const { secret, previousUntil } = await this.secrets.replace(tx, ownerId, overlapHours ?? DEFAULT_OVERLAP_HOURS);
    return { secret, previous_valid_until: previousUntil?.toISOString() ?? null };
  }

  /** Asked for here so that a mistake is reported at once; each call asks again, names move. */
  private async checkedUrl(text: string): Promise<string> {
    const verdict = await this.guard.check(text);
    switch (verdict.kind) {
      case 'allowed':
        return verdict.url.href;
      case 'malformed':
        throw urlFault('invalid_format', verdict.reason);
      case 'unresolved':
      case 'refused':
        throw urlFault('address_not_allowed', verdict.reason);
    }
  }
}

/** @throws Problem 404 */
export async function lockWebhook(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<WebhookRow> {
  await tx.$queryRaw`SELECT id FROM webhook_endpoints WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  const row = await tx.webhookEndpoint.findFirst({ where: { ...ownOf(merchantId), id } });
  if (!row) throw notFound('webhook');
  return row;
}

/** What failed before it begins anew waits no longer; of very many those that were due first. What is just being recorded keeps its time. */
async function endBackOff(tx: Prisma.TransactionClient, endpointId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE webhook_deliveries SET due_at = now()
     WHERE id = ANY (ARRAY(SELECT id FROM webhook_deliveries
                            WHERE endpoint_id = ${endpointId} AND state = 'pending' AND due_at > now()
                            ORDER BY due_at LIMIT ${MAX_DUE_AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED))
       AND state = 'pending'`;
}

function ownOf(merchantId: string): { merchantId: string; kind: 'endpoint'; deletedAt: null } {
  return { merchantId, kind: 'endpoint', deletedAt: null };
}

function urlFault(code: ProblemCode, reason: string): Problem {
  return Problem.at('/url', code, `url: ${reason}`);
}

function webhookView(row: WebhookRow): WebhookView {
  return {
    ...viewOfColumns(row, 'id', 'url', 'events', 'description', 'batchSize'),
    enabled: row.disabledAt === null,
    ...viewOfColumns(row, 'disabledAt', 'disabledReason', 'failingSince', 'createdAt'),
  };
}
