import { Module } from '@nestjs/common';
import { ApiDescription } from './api-description.js';
import { DocsController } from './docs.controller.js';

/** The description of the API, for programs and for people. */
@Module({
  controllers: [DocsController],
  providers: [ApiDescription],
})
export class DocsModule {}
