import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import { projectFolder } from '../http/project-folder.js';
import { ApiDescription } from './api-description.js';
import { DOCS_PAGE, DOCS_SCRIPT } from './docs-page.js';
import { DOCS_STYLE } from './problem-pages.js';

const { resolve } = createRequire(import.meta.url);

/** Only from here: no other host is asked for anything, so that the page works without a network. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI writes styles into its elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ASSETS: Readonly<Record<string, { type: string; read: () => Promise<Buffer> }>> = {
  'docs.js': { type: 'text/javascript; charset=utf-8', read: () => Promise.resolve(Buffer.from(DOCS_SCRIPT)) },
  'docs.css': { type: 'text/css; charset=utf-8', read: () => Promise.resolve(Buffer.from(DOCS_STYLE)) },
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: packaged('swagger-ui.css') },
  'swagger-ui-bundle.js': { type: 'text/javascript; charset=utf-8', read: packaged('swagger-ui-bundle.js') },
  // Written by `npm run openapi` from the description.
  'code-samples.json': { type: 'application/json; charset=utf-8', read: written('code-samples.json') },
  'favicon-32x32.png': { type: 'image/png', read: packaged('favicon-32x32.png') },
};

/** What the API is, as OpenAPI 3.1 and as a page. */
@Controller()
export class DocsController {
  constructor(private readonly description: ApiDescription) {}

  /** This document. */
  @Get('openapi.json')
  @Header('content-type', 'application/json; charset=utf-8')
  @Header('cache-control', 'public, max-age=300')
  @Answers({ mediaTypes: ['application/json'] })
  document(): string {
    return this.description.text;
  }

  /** The same for people. */
  @Get('docs')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', PAGE_POLICY)
  @Answers({ mediaTypes: ['text/html'] })
  page(): string {
    return DOCS_PAGE;
  }

  /** What the page is made of. */
  @Get('docs/:file')
  @Header('cache-control', 'public, max-age=3600')
  @Answers({ statuses: [200], mediaTypes: ['text/javascript', 'text/css', 'application/json', 'image/png'] })
  async asset(@Param('file') file: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    const asset = Object.hasOwn(ASSETS, file) ? ASSETS[file] : undefined;
    if (!asset) throw new Problem('not_found', 'There is no such file.');
    void reply.type(asset.type);
    return asset.read();
  }
}

/** A file of the pinned package, read when it is first asked for. */
function packaged(name: string): () => Promise<Buffer> {
  let content: Promise<Buffer> | null = null;
  return () => (content ??= readFile(resolve(`swagger-ui-dist/${name}`)));
}

/** A file of docs/, read when it is first asked for. */
function written(name: string): () => Promise<Buffer> {
  let content: Promise<Buffer> | null = null;
  return () => (content ??= readFile(join(projectFolder(), 'docs', name)));
}
