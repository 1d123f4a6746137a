import { Body, Controller, Get, HttpCode, Param, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { BodyLimit } from '#http';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import { Scopes } from '../../http/scopes.js';
import { ProductsBody } from './catalog-bodies.js';
import { CATALOG_BODY_BYTES } from './catalog.controller.js';
import { SyncCatalog, type SyncPageResult, type SyncView } from './sync-catalog.js';

/** How long a commit is waited for before it is answered with 202. */
const COMMIT_WAIT_MS = 10_000;

/** Full synchronisations: start, pages, commit or abort. */
@Controller('v1/catalog/syncs')
@Scopes('catalog:write')
export class SyncsController {
  constructor(private readonly syncs: SyncCatalog) {}

  @Post()
  @HttpCode(201)
  start(@CurrentCaller() caller: Caller): Promise<SyncView> {
    return this.syncs.start(caller);
  }

  @Get(':id')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<SyncView> {
    return this.syncs.get(merchantId, syncId(id));
  }

  @Put(':id/products')
  @BodyLimit(CATALOG_BODY_BYTES)
  async addPage(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Body() body: ProductsBody,
  ): Promise<{ results: SyncPageResult[] }> {
    return { results: await this.syncs.addPage(merchantId, syncId(id), body.products) };
  }

  @Post(':id/commit')
  @HttpCode(200)
  async commit(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SyncView> {
    const view = await this.syncs.commit(caller, syncId(id), COMMIT_WAIT_MS);
    if (view.state === 'committing') void reply.status(202).header('location', `/v1/catalog/syncs/${view.id}`);
    return view;
  }

  @Post(':id/abort')
  @HttpCode(200)
  abort(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<SyncView> {
    return this.syncs.abort(caller, syncId(id));
  }
}

function syncId(id: string): string {
  return ownId('syn', id, 'synchronisation');
}
