import { Module, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#runtime';
import { EventHorizon } from './event-horizon.js';
import { observeEvents } from './event-metrics.js';
import { EventReader } from './event-reader.js';
import { EventsController } from './events.controller.js';
import { ListEvents } from './list-events.js';

/** The log of what has happened, for those who ask. */
@Module({
  controllers: [EventsController],
  providers: [EventHorizon, EventReader, ListEvents],
  exports: [EventHorizon, EventReader],
})
export class EventsModule implements OnModuleInit {
  constructor(
    private readonly horizon: EventHorizon,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    observeEvents(this.metrics, this.horizon);
  }
}
