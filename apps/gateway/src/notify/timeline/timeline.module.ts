import { Module } from '@nestjs/common';
import { ReadTimeline } from './read-timeline.js';
import { TimelineController } from './timeline.controller.js';

/** What has happened to a receipt, from all tables that know of it. */
@Module({ controllers: [TimelineController], providers: [ReadTimeline] })
export class TimelineModule {}
