import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { projectFolder } from '../http/project-folder.js';

const compress = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

export interface ConsoleFile {
  type: string;
  plain: Buffer;
  gzip: Buffer;
}

/**
 * The files that `npm run build` has made of apps/console. Only names that were there at the start are ever read, so that no
 * address leads out of the folder; each is read and compressed when it is first asked for, and kept.
 */
@Injectable()
export class ConsoleFiles {
  private readonly folder = join(projectFolder(), 'dist', 'console');
  private readonly assets: ReadonlySet<string>;
  private readonly read = new Map<string, Promise<ConsoleFile>>();

  constructor() {
    const folder = join(this.folder, 'assets');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    this.assets = new Set(names.filter((name) => extname(name) in TYPES));
  }

  /** @throws Problem 404 in an installation that was built without the console */
  page(): Promise<ConsoleFile> {
    if (this.assets.size === 0) throw new Problem('not_found', 'This installation has no console: run npm run build.');
    return this.once('index.html');
  }

  /** @throws Problem 404 */
  asset(name: string): Promise<ConsoleFile> {
    if (!this.assets.has(name)) throw new Problem('not_found', 'There is no such file.');
    return this.once(join('assets', name));
  }

  private once(path: string): Promise<ConsoleFile> {
    const known = this.read.get(path);
    if (known) return known;
    const file = this.open(path);
    this.read.set(path, file);
    // A folder that is being built again: the next request reads it anew.
    file.catch(() => this.read.delete(path));
    return file;
  }

  private async open(path: string): Promise<ConsoleFile> {
    const plain = await readFile(join(this.folder, path));
    const type = TYPES[extname(path)] ?? 'application/octet-stream';
    return { type, plain, gzip: await compress(plain, { level: 9 }) };
  }
}
