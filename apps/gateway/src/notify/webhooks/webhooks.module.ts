import { Module } from '@nestjs/common';
import { OutgoingGuard } from '#outgoing';
import { AuditModule } from '../../audit/audit.module.js';
import { EventsModule } from '../events/events.module.js';
import { MessagesModule } from '../messages/messages.module.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN, WEBHOOK_GUARD } from '../../tokens.js';
import { DeliveryLoop } from './delivery-loop.js';
import { DeliveryRepository } from './delivery.repository.js';
import { DisableEndpoint } from './disable-endpoint.js';
import { PlanDeliveries } from './plan-deliveries.js';
import { RecoverDeliveries } from './recover-deliveries.js';
import { ReplayEvents } from './replay-events.js';
import { RequestPlaces } from './request-places.js';
import { SendDeliveries } from './send-deliveries.js';
import { WebhookEndpoints } from './webhook-endpoints.js';
import { WebhookHistory } from './webhook-history.js';
import { WebhookMetrics } from './webhook-metrics.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { WebhooksController } from './webhooks.controller.js';

/** Notifies other systems of events: endpoints, deliveries, callbacks (docs/webhooks.md). */
@Module({
  imports: [AuditModule, EventsModule, MessagesModule],
  controllers: [WebhooksController],
  providers: [
    WebhookSecrets,
    WebhookEndpoints,
    WebhookHistory,
    WebhookMetrics,
    ReplayEvents,
    RecoverDeliveries,
    DisableEndpoint,
    PlanDeliveries,
    DeliveryRepository,
    RequestPlaces,
    SendDeliveries,
    DeliveryLoop,
    {
      provide: WEBHOOK_GUARD,
      inject: [SETTINGS_TOKEN],
      useFactory: ({ WEBHOOK_ALLOWED_CIDRS }: GatewaySettings) => OutgoingGuard.forWebhooks(WEBHOOK_ALLOWED_CIDRS),
    },
  ],
})
export class WebhooksModule {}
