import { Module } from '@nestjs/common';
import { EventsModule } from './events/events.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** Events, and how others receive them. */
@Module({ imports: [EventsModule, WebhooksModule] })
export class NotifyModule {}
