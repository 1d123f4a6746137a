import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { projectFolder } from '../http/project-folder.js';
import { ApiDescription } from './api-description.js';
import { BuiltFiles } from '../http/built-files.js';
import { DocsController } from './docs.controller.js';
import { GuideController } from './guide.controller.js';
import { ProblemPagesController } from './problem-pages.controller.js';

/** The description of the API, for programs and for people; the problem codes; the guide, where it was built. */
@Module({
  controllers: [DocsController, ProblemPagesController, GuideController],
  providers: [
    ApiDescription,
    { provide: BuiltFiles, useFactory: () => new BuiltFiles(join(projectFolder(), 'dist', 'docs-site')) },
  ],
})
export class DocsModule {}
