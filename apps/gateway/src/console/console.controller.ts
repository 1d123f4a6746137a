import { Controller, Get, Header, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answers } from '#runtime';
import { ConsoleFiles, type ConsoleFile } from './console-files.js';

/** Nothing from elsewhere, nothing inline, in no frame; text never becomes a script, whatever a merchant or buyer entered. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Receipts as pictures come from the API as files in memory.
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The page is asked for anew each time, so that a new build is seen; its parts have a digest in their names and never change. */
const PAGE_CACHE = 'no-cache';
const ASSET_CACHE = 'public, max-age=31536000, immutable';

/** The console: one page for all its addresses, and the files that it is made of. */
@Controller()
export class ConsoleController {
  constructor(private readonly files: ConsoleFiles) {}

  /** The console. */
  @Get('console')
  @Header('content-security-policy', PAGE_POLICY)
  @Header('cache-control', PAGE_CACHE)
  @Answers({ mediaTypes: ['text/html'] })
  async start(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return shown(await this.files.page(), request, reply);
  }

  /** A screen of the console, by its address. */
  @Get('console/:screen')
  @Header('content-security-policy', PAGE_POLICY)
  @Header('cache-control', PAGE_CACHE)
  @Answers({ mediaTypes: ['text/html'] })
  async screen(
    @Param('screen') _screen: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return shown(await this.files.page(), request, reply);
  }

  /** One record in the console, by its address. */
  @Get('console/:screen/:id')
  @Header('content-security-policy', PAGE_POLICY)
  @Header('cache-control', PAGE_CACHE)
  @Answers({ mediaTypes: ['text/html'] })
  async detail(
    @Param('screen') _screen: string,
    @Param('id') _id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return shown(await this.files.page(), request, reply);
  }

  /** What the console is made of. */
  @Get('console/assets/:file')
  @Answers({ statuses: [200], mediaTypes: ['text/javascript', 'text/css', 'image/svg+xml'] })
  async asset(
    @Param('file') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const file = await this.files.asset(name);
    void reply.header('cache-control', ASSET_CACHE);
    return shown(file, request, reply);
  }
}

function shown(file: ConsoleFile, { headers }: FastifyRequest, reply: FastifyReply): Buffer {
  void reply.type(file.type).header('vary', 'accept-encoding');
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headers['accept-encoding'] ?? '')) return file.plain;
  void reply.header('content-encoding', 'gzip');
  return file.gzip;
}
