import { Module } from '@nestjs/common';
import { EventReader } from './event-reader.js';
import { EventsController } from './events.controller.js';
import { ListEvents } from './list-events.js';

/** The log of what has happened, for those who ask. */
@Module({ controllers: [EventsController], providers: [EventReader, ListEvents], exports: [EventReader] })
export class EventsModule {}
