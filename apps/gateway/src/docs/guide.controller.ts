import { Controller, Get, Header, HttpStatus, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answers } from '#runtime';
import { BuiltFiles, shown } from '../http/built-files.js';
import { guideMissingPage } from './problem-pages.js';

/** No script but files from here, no other host. The highlighter writes colours into style attributes, and into nothing else. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // The one style that VitePress puts into a page by script: no transition while light and dark change.
  "style-src 'self' 'sha256-skqujXORqzxt1aE0NNXxujEanPTX6raoqSscTV/Ww/Y='",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const FILES = {
  statuses: [200, 404],
  mediaTypes: [
    ...['text/html', 'text/javascript', 'text/css', 'application/json'],
    ...['image/png', 'image/svg+xml', 'font/woff2'],
  ],
};

/** The documentation as a site, where it was built. */
@Controller('docs/guide')
export class GuideController {
  constructor(private readonly files: BuiltFiles) {}

  /** The beginning of the guide. */
  @Get()
  @Answers({ statuses: [303], mediaTypes: ['text/plain'] })
  async start(@Res() reply: FastifyReply): Promise<void> {
    // The site finds its pages below the folder.
    await reply.status(HttpStatus.SEE_OTHER).header('location', '/docs/guide/').type('text/plain').send('');
  }

  /** A page of the guide, or what it is made of. */
  @Get('*')
  @Header('content-security-policy', PAGE_POLICY)
  @Answers(FILES)
  async page(
    @Param('*') path: string,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const found = await this.files.find(path);
    if (found !== null) return shown(found, headers['accept-encoding'], reply);
    void reply.status(HttpStatus.NOT_FOUND);
    const missing = this.files.isBuilt ? await this.files.find('404') : null;
    if (missing !== null) return shown(missing, headers['accept-encoding'], reply);
    void reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
    return Buffer.from(guideMissingPage());
  }
}
