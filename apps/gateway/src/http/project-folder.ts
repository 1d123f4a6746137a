import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Sources and compiled programs lie at different depths below it. */
export function projectFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error('no package.json above the program');
  }
}
