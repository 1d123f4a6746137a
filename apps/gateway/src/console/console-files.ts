import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { BuiltFiles, type BuiltFile } from '../http/built-files.js';
import { projectFolder } from '../http/project-folder.js';

/** The files that `npm run build` has made of apps/console. */
@Injectable()
export class ConsoleFiles {
  private readonly built = new BuiltFiles(join(projectFolder(), 'dist', 'console'));

  /** @throws Problem 404 in an installation that was built without the console */
  async page(): Promise<BuiltFile> {
    const page = await this.built.find('');
    if (!page) throw new Problem('not_found', 'This installation has no console: run npm run build.');
    return page;
  }

  /** @throws Problem 404 */
  async asset(name: string): Promise<BuiltFile> {
    const asset = await this.built.find(`assets/${name}`);
    if (!asset) throw new Problem('not_found', 'There is no such file.');
    return asset;
  }
}
