import type { Api } from '../api.js';
import type { FiltersOf, PageOf, Schema } from '../api-types.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { verifyWebhook } from '../webhook-signature.js';

export type Webhook = Schema<'WebhookView'>;
export type NewWebhook = Schema<'NewWebhookView'>;
/** `secret` is there when the address has moved to another origin. */
export type ChangedWebhook = Schema<'ChangedWebhookView'>;

export class Webhooks {
  constructor(private readonly api: Api) {}

  /** Also exported by itself, for receivers that call nothing. */
  readonly verify: typeof verifyWebhook = verifyWebhook;

  /** The answer shows the secret, once. */
  create(body: Schema<'WebhookBody'>, options?: CallOptions): Promise<NewWebhook> {
    return this.api.request('POST', '/v1/webhooks', { body }, options);
  }

  get(id: string, options?: CallOptions): Promise<Webhook> {
    return this.api.request('GET', '/v1/webhooks/{id}', { path: { id } }, options);
  }

  list(filters: FiltersOf<'/v1/webhooks'> = {}, options?: CallOptions): PagedList<PageOf<'/v1/webhooks'>> {
    return this.api.list('/v1/webhooks', { query: filters }, options);
  }

  /** `enabled: true` sends what had waited. */
  change(id: string, body: Schema<'WebhookPatch'>, options?: CallOptions): Promise<ChangedWebhook> {
    return this.api.request('PATCH', '/v1/webhooks/{id}', { path: { id }, body }, options);
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    await this.api.request('DELETE', '/v1/webhooks/{id}', { path: { id } }, options);
  }

  /** Sends `webhook.test` to this endpoint alone. */
  async test(id: string, options?: CallOptions): Promise<void> {
    await this.api.request('POST', '/v1/webhooks/{id}/test', { path: { id } }, options);
  }

  /** A new secret; the one before signs too for a while: verify with both. */
  rotateSecret(
    id: string,
    body: Schema<'RotateSecretBody2'> = {},
    options?: CallOptions,
  ): Promise<Schema<'NewSecretView'>> {
    return this.api.request('POST', '/v1/webhooks/{id}/rotate-secret', { path: { id }, body }, options);
  }

  deliveries(
    id: string,
    filters: FiltersOf<'/v1/webhooks/{id}/deliveries'> = {},
    options?: CallOptions,
  ): PagedList<PageOf<'/v1/webhooks/{id}/deliveries'>> {
    return this.api.list('/v1/webhooks/{id}/deliveries', { path: { id }, query: filters }, options);
  }

  /** Sends one event again, or all of a time. */
  replay(id: string, body: Schema<'ReplayBody'>, options?: CallOptions): Promise<{ deliveries: number }> {
    return this.api.request('POST', '/v1/webhooks/{id}/replay', { path: { id }, body }, options);
  }
}
