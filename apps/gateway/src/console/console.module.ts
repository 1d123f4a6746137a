import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller.js';
import { ConsoleFiles } from './console-files.js';

/** The pages of the console (docs/console.md). What they show they read from the API, by the session of the person before them. */
@Module({
  controllers: [ConsoleController],
  providers: [ConsoleFiles],
})
export class ConsoleModule {}
