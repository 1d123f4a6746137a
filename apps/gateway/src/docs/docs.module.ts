import { Module } from '@nestjs/common';
import { ApiDescription } from './api-description.js';
import { DocsController } from './docs.controller.js';
import { ProblemPagesController } from './problem-pages.controller.js';

/** The description of the API, for programs and for people. */
@Module({
  controllers: [DocsController, ProblemPagesController],
  providers: [ApiDescription],
})
export class DocsModule {}
