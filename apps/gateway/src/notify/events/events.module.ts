import { Module, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#runtime';
import { AccessModule } from '../../access/access.module.js';
import { EventHorizon } from './event-horizon.js';
import { observeEvents } from './event-metrics.js';
import { EventReader } from './event-reader.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { ListEvents } from './list-events.js';
import { StreamEvents } from './stream-events.js';

/** The log of what has happened, for those who ask. */
@Module({
  imports: [AccessModule],
  controllers: [EventsController],
  providers: [EventHorizon, EventReader, ListEvents, EventStreams, StreamEvents],
  exports: [EventHorizon, EventReader],
})
export class EventsModule implements OnModuleInit {
  constructor(
    private readonly horizon: EventHorizon,
    private readonly streams: EventStreams,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    observeEvents(this.metrics, this.horizon, this.streams);
  }
}
