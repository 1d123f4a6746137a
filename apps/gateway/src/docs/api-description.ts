import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { projectFolder } from '../http/project-folder.js';
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
