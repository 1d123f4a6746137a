import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Req } from '@nestjs/common';
import { Takes } from '#runtime';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { optionalBody } from '../../http/optional-body.js';
import { ownId } from '../../http/own-id.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { Scopes, StepUp } from '../../http/scopes.js';
import { RecoverDeliveries } from './recover-deliveries.js';
import { ReplayEvents } from './replay-events.js';
import {
  CallbacksQuery,
  DeliveriesQuery,
  RecoverBody,
  ReplayBody,
  RotateSecretBody,
  WebhookBody,
  WebhookPatch,
} from './webhook-bodies.js';
import {
  WebhookEndpoints,
  type ChangedWebhookView,
  type NewSecretView,
  type NewWebhookView,
  type WebhookView,
} from './webhook-endpoints.js';
import { WebhookHistory, type DeliveryView, type DeliveryWithRequest } from './webhook-history.js';

@Controller('v1/webhooks')
@Scopes('webhooks:admin')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhookEndpoints,
    private readonly history: WebhookHistory,
    private readonly replays: ReplayEvents,
    private readonly recovery: RecoverDeliveries,
  ) {}

  @Get()
  @Scopes('webhooks:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<WebhookView>> {
    return this.webhooks.list(merchantId, query);
  }

  @Post()
  @HttpCode(201)
  create(@CurrentCaller() caller: Caller, @Body() body: WebhookBody): Promise<NewWebhookView> {
    return this.webhooks.create(caller, body);
  }

  @Get('callbacks')
  @Scopes('webhooks:read')
  callbacks(@CurrentCaller() { merchantId }: Caller, @Query() query: CallbacksQuery): Promise<Page<DeliveryView>> {
    return this.history.callbacks(merchantId, query);
  }

  @Post('callbacks/rotate-secret')
  @StepUp()
  @HttpCode(200)
  @Takes(RotateSecretBody)
  rotateCallbackSecret(@CurrentCaller() caller: Caller, @Req() { body }: { body?: unknown }): Promise<NewSecretView> {
    return this.webhooks.rotateCallbackSecret(caller, optionalBody(body, RotateSecretBody));
  }

  @Get(':id')
  @Scopes('webhooks:read')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<WebhookView> {
    return this.webhooks.get(merchantId, ownId('whk', id, 'webhook'));
  }

  @Patch(':id')
  change(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() patch: WebhookPatch,
  ): Promise<ChangedWebhookView> {
    return this.webhooks.change(caller, ownId('whk', id, 'webhook'), patch);
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.webhooks.remove(caller, ownId('whk', id, 'webhook'));
  }

  @Post(':id/rotate-secret')
  @StepUp()
  @HttpCode(200)
  @Takes(RotateSecretBody)
  rotateSecret(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Req() { body }: { body?: unknown },
  ): Promise<NewSecretView> {
    return this.webhooks.rotateSecret(caller, ownId('whk', id, 'webhook'), optionalBody(body, RotateSecretBody));
  }

  @Post(':id/test')
  @HttpCode(202)
  test(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<{ delivery_id: string; event_id: string }> {
    return this.replays.test(caller, ownId('whk', id, 'webhook'));
  }

  @Post(':id/replay')
  @HttpCode(202)
  replay(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ReplayBody,
  ): Promise<{ deliveries: number }> {
    return this.replays.replay(caller, ownId('whk', id, 'webhook'), body);
  }

  /** Sends again what was given up in that time and has not been delivered since; what a receiver has stays as it is. */
  @Post(':id/recover')
  @HttpCode(202)
  recover(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: RecoverBody,
  ): Promise<{ deliveries: number }> {
    return this.recovery.execute(caller, ownId('whk', id, 'webhook'), body);
  }

  /** Newest first. With a filter a page may hold fewer than `limit` although more follow: go by `next_cursor`. */
  @Get(':id/deliveries')
  @Scopes('webhooks:read')
  deliveries(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Query() query: DeliveriesQuery,
  ): Promise<Page<DeliveryView>> {
    return this.history.deliveries(merchantId, ownId('whk', id, 'webhook'), query);
  }

  @Get(':id/deliveries/:deliveryId')
  @Scopes('webhooks:read')
  delivery(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Param('deliveryId') deliveryId: string,
  ): Promise<DeliveryWithRequest> {
    const webhookId = ownId('whk', id, 'webhook');
    return this.history.delivery(merchantId, webhookId, ownId('dlv', deliveryId, 'delivery'));
  }
}
