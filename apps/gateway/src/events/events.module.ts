import { Module } from '@nestjs/common';
import { EventHorizon } from './event-horizon.js';
import { EventReader } from './event-reader.js';
import { EventsController } from './events.controller.js';
import { ListEvents } from './list-events.js';

/** The log of what has happened, for those who ask. */
@Module({
  controllers: [EventsController],
  providers: [EventHorizon, EventReader, ListEvents],
  exports: [EventHorizon, EventReader],
})
export class EventsModule {}
