import { Controller, Get, Header, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answers } from '#runtime';
import { shown } from '../http/built-files.js';
import { ConsoleFiles } from './console-files.js';

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

/** The console: one page for all its addresses, and the files that it is made of. */
@Controller()
export class ConsoleController {
  constructor(private readonly files: ConsoleFiles) {}

  /** The console. */
  @Get('console')
  @Header('content-security-policy', PAGE_POLICY)
  @Answers({ mediaTypes: ['text/html'] })
  async start(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return shown(await this.files.page(), request.headers['accept-encoding'], reply);
  }

  /** A screen of the console, by its address. */
  @Get('console/:screen')
  @Header('content-security-policy', PAGE_POLICY)
  @Answers({ mediaTypes: ['text/html'] })
  async screen(
    @Param('screen') _screen: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return shown(await this.files.page(), request.headers['accept-encoding'], reply);
  }

  /** One record in the console, by its address. */
  @Get('console/:screen/:id')
  @Header('content-security-policy', PAGE_POLICY)
  @Answers({ mediaTypes: ['text/html'] })
  async detail(
    @Param('screen') _screen: string,
    @Param('id') _id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return shown(await this.files.page(), request.headers['accept-encoding'], reply);
  }

  /** What the console is made of. */
  @Get('console/assets/:file')
  @Answers({ statuses: [200], mediaTypes: ['text/javascript', 'text/css', 'image/svg+xml'] })
  async asset(
    @Param('file') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    return shown(await this.files.asset(name), request.headers['accept-encoding'], reply);
  }
}
