import { Module } from '@nestjs/common';
import { EventsModule } from './events/events.module.js';
import { TimelineModule } from './timeline/timeline.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** Events, and how others receive them. */
@Module({ imports: [EventsModule, TimelineModule, WebhooksModule] })
export class NotifyModule {}
