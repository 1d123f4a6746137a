import type { Api } from '../api.js';
import type { Schema } from '../api-types.js';
import { verifyWebhook } from '../webhook-signature.js';
import { resourceOf, type Resource } from './resource.js';

export type Webhook = Schema<'WebhookView'>;
export type NewWebhook = Schema<'NewWebhookView'>;

export type Webhooks = Resource<'webhooks'> & {
  /** Also exported by itself, for receivers that call nothing. */
  readonly verify: typeof verifyWebhook;
};

export function webhooksOf(api: Api): Webhooks {
  return { ...resourceOf(api, 'webhooks'), verify: verifyWebhook };
}
