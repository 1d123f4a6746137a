import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import { projectFolder } from '../http/project-folder.js';
import { ApiDescription } from './api-description.js';
import { BuiltFiles, shown } from '../http/built-files.js';
import { DOCS_STYLE } from './problem-pages.js';
import { REFERENCE_PAGE, REFERENCE_SCRIPT } from './reference-page.js';

/** Only from here: no other host is asked for anything, so that the page works without a network. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Scalar writes styles into its elements and its page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ASSETS: Readonly<Record<string, { type: string; read: () => Promise<Buffer> }>> = {
  'docs.js': { type: 'text/javascript; charset=utf-8', read: () => Promise.resolve(Buffer.from(REFERENCE_SCRIPT)) },
  'docs.css': { type: 'text/css; charset=utf-8', read: () => Promise.resolve(Buffer.from(DOCS_STYLE)) },
  // Written by `npm run openapi` from the description.
  'code-samples.json': { type: 'application/json; charset=utf-8', read: written('code-samples.json') },
};

/** What the API is, as OpenAPI 3.1 and as a page. */
@Controller()
export class DocsController {
  /** Scalar and the icon, where `npm run build` has put them. */
  private readonly built = new BuiltFiles(join(projectFolder(), 'dist', 'reference'));

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
    return REFERENCE_PAGE;
  }

  /** What the page is made of. */
  @Get('docs/:file')
  @Header('cache-control', 'public, max-age=3600')
  @Answers({ statuses: [200], mediaTypes: ['text/javascript', 'text/css', 'application/json', 'image/svg+xml'] })
  async asset(
    @Param('file') file: string,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const asset = Object.hasOwn(ASSETS, file) ? ASSETS[file] : undefined;
    if (asset) {
      void reply.type(asset.type);
      return asset.read();
    }
    const built = await this.built.find(file);
    if (built === null) throw new Problem('not_found', 'There is no such file.');
    const content = shown(built, headers['accept-encoding'], reply);
    void reply.header('cache-control', 'public, max-age=3600');
    return content;
  }
}

/** A file of docs/, read when it is first asked for. */
function written(name: string): () => Promise<Buffer> {
  let content: Promise<Buffer> | null = null;
  return () => (content ??= readFile(join(projectFolder(), 'docs', name)));
}
