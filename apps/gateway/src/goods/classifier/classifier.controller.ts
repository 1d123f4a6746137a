import { Readable } from 'node:stream';
import { Controller, Get, Header, Param, Query, Res, StreamableFile } from '@nestjs/common';
import { IsIn, IsOptional, Matches } from 'class-validator';
import type { FastifyReply } from 'fastify';
import type { ClassifierEntry } from '#fiscal-domain';
import { FILE_MEDIA_TYPES } from '#http';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { CatalogPageQuery } from '../catalog/catalog-bodies.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import { Classifier, type AffectedView } from './classifier.js';
import { ListImports, type ClassifierImportView } from './list-imports.js';
import { IsTextUpTo } from '../../http/body-rules.js';

export class ClassifierQuery extends CatalogPageQuery {
  /** Words of a name in any language, or the beginning of a code. */
  @IsOptional()
  @IsTextUpTo(200)
  q?: string;

  /** `true`: only codes that are in force. */
  @IsOptional()
  @IsIn(['true', 'false'])
  active?: string;
}

export class AffectedQuery extends CatalogPageQuery {
  @IsOptional()
  @Matches(/^\d{1,9}$/, { message: 'version must be a number' })
  version?: string;
}

@Controller('v1')
@Scopes('catalog:read')
export class ClassifierController {
  constructor(
    private readonly classifier: Classifier,
    private readonly imports: ListImports,
  ) {}

  @Get('classifier')
  search(@Query() query: ClassifierQuery): Promise<Page<ClassifierEntry>> {
    return this.classifier.search(query.q ?? null, {
      ...{ limit: Number(query.limit ?? 20), cursor: query.cursor ?? null },
      onlyActive: query.active === 'true',
    });
  }

  /** What cash registers import. */
  @OwnTurn()
  @Get('classifier/export')
  @Header('content-type', FILE_MEDIA_TYPES.jsonl)
  async export(@Res({ passthrough: true }) reply: FastifyReply): Promise<StreamableFile> {
    const version = await this.classifier.version();
    void reply.header('x-classifier-version', String(version));
    return new StreamableFile(Readable.from(this.classifier.export(version), { objectMode: false }), {
      type: FILE_MEDIA_TYPES.jsonl,
      disposition: 'attachment; filename="classifier.jsonl"',
    });
  }

  /** Each load of the register, the newest first: what it brought, or why it failed. */
  @Get('classifier/imports')
  listImports(@Query() query: PageQuery): Promise<Page<ClassifierImportView>> {
    return this.imports.page(query);
  }

  @Get('classifier/:spic')
  get(@Param('spic') spic: string): Promise<ClassifierEntry> {
    return this.classifier.get(spic);
  }

  @Get('catalog/affected')
  affected(@CurrentCaller() { merchantId }: Caller, @Query() query: AffectedQuery): Promise<Page<AffectedView>> {
    return this.classifier.affected(merchantId, {
      ...{ limit: Number(query.limit ?? 20), cursor: query.cursor ?? null },
      version: query.version === undefined ? null : Number(query.version),
    });
  }
}
