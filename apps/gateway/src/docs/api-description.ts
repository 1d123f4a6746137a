import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';

/** Stands in the file wherever the address of the running gateway belongs. */
const PLACEHOLDER = 'https://gateway.example';

/** docs/openapi.json, which is derived from the code (docs/adr/0022-description-from-code.md), with this gateway's own address. */
@Injectable()
export class ApiDescription {
  readonly text: string;

  constructor(@Inject(SETTINGS_TOKEN) { PUBLIC_URL }: Pick<GatewaySettings, 'PUBLIC_URL'>) {
    const written = readFileSync(join(projectFolder(), 'docs', 'openapi.json'), 'utf8');
    this.text = written.replaceAll(PLACEHOLDER, PUBLIC_URL.replace(/(?<!\/)\/+$/, ''));
  }
}

/** Sources and compiled programs lie at different depths below it. */
export function projectFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error('no package.json above the program');
  }
}
