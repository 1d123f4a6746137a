import { Module } from '@nestjs/common';
import { EventsModule } from './events/events.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { TimelineModule } from './timeline/timeline.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** Events, how others receive them, and how receipts reach buyers. */
@Module({ imports: [EventsModule, MessagesModule, TimelineModule, WebhooksModule] })
export class NotifyModule {}
