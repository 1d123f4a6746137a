import type { Readable } from 'node:stream';
import { Controller, Get, HttpCode, Param, Post, Query, Req, Res, StreamableFile } from '@nestjs/common';
import { IsIn, IsOptional } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AcceptsFile, FILE_MEDIA_TYPES } from '#http';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import { CurrentCaller, type Caller } from '../../../audit/caller.js';
import { ownId } from '../../../http/own-id.js';
import { OwnTurn, Scopes } from '../../../http/scopes.js';
import { ExportProducts } from './export-products.js';
import { ImportJobs, type ImportView } from './import-jobs.js';
import type { ImportMode } from './import-products.js';
import { FILE_FORMATS, type FileFormat } from './product-table.js';

const FILE_TYPES = Object.values(FILE_MEDIA_TYPES);
/** How long an import is waited for before it is answered with 202. */
const IMPORT_WAIT_MS = 10_000;

export class ExportQuery {
  @IsOptional()
  @IsIn([...FILE_FORMATS])
  format?: FileFormat;
}

export class ImportQuery {
  /** `full`: what is not in the file is archived. */
  @IsOptional()
  @IsIn(['upsert', 'full'])
  mode?: ImportMode;
}

/** Products as files: CSV, XLSX, JSON lines. */
@Controller('v1/catalog')
export class CatalogFilesController {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly files: ExportProducts,
  ) {}

  @OwnTurn()
  @Get('export')
  @Answers({ statuses: [200], mediaTypes: FILE_TYPES })
  @Scopes('catalog:read')
  export(@CurrentCaller() { merchantId }: Caller, @Query() { format = 'csv' }: ExportQuery): StreamableFile {
    return fileOf(this.files.products(merchantId, format), format, 'products');
  }

  /** The body is the file; its media type says which format. */
  @Post('imports')
  @HttpCode(200)
  @Scopes('catalog:write')
  @AcceptsFile()
  @Answers({ statuses: [200, 202] })
  async import(
    @CurrentCaller() caller: Caller,
    @Query() { mode = 'upsert' }: ImportQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ImportView> {
    const format = formatOf(request.headers['content-type']);
    const body = request.body as Readable | null | undefined;
    if (!body) throw Problem.at('', 'required', 'The body must be the file.');
    const view = await this.jobs.start(caller, body, { format, mode, waitMs: IMPORT_WAIT_MS });
    if (view.state === 'running') void reply.status(202).header('location', `/v1/catalog/imports/${view.id}`);
    return view;
  }

  @Get('imports/:id')
  @Scopes('catalog:write')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<ImportView> {
    return this.jobs.get(merchantId, ownId('imp', id, 'import'));
  }

  /** The rows that were not taken, in the format in which they came, with reasons. */
  @OwnTurn()
  @Get('imports/:id/rejected')
  @Answers({ statuses: [200], mediaTypes: FILE_TYPES })
  @Scopes('catalog:write')
  async rejected(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<StreamableFile> {
    const file = await this.jobs.fileOf(merchantId, ownId('imp', id, 'import'));
    return fileOf(this.files.rejected(file), file.format, 'rejected');
  }
}

function formatOf(contentType: string | undefined): FileFormat {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  const format = FILE_FORMATS.find((known) => FILE_MEDIA_TYPES[known] === mediaType);
  if (format) return format;
  throw new Problem('unsupported_media_type', `Send the file as ${Object.values(FILE_MEDIA_TYPES).join(', ')}.`);
}

function fileOf(stream: Readable, format: FileFormat, name: string): StreamableFile {
  const type = format === 'csv' ? `${FILE_MEDIA_TYPES.csv}; charset=utf-8` : FILE_MEDIA_TYPES[format];
  return new StreamableFile(stream, { type, disposition: `attachment; filename="${name}.${format}"` });
}
