import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Problem } from '#problems';
import { isObject } from '#fiscal-domain';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import type { Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { ChangesQuery, ProductsBody, ProductsQuery, ResolveBody } from './catalog-bodies.js';
import { CatalogChanges, type CatalogChangesPage } from './catalog-changes.js';
import { ChangeProduct } from './change-product.js';
import type { ProductView } from './product-view.js';
import { Products } from './products.js';
import { ResolveItems, type ResolvedItem } from './resolve-items.js';
import { SearchProducts } from './search-products.js';
import { UpsertProducts, type UpsertAnswer } from './upsert-products.js';

/** Of catalogue calls. */
export const CATALOG_BODY_BYTES = 4 * 1024 * 1024;

@Controller('v1/catalog')
export class CatalogController {
  constructor(
    private readonly upsertProducts: UpsertProducts,
    private readonly changeProduct: ChangeProduct,
    private readonly products: Products,
    private readonly search: SearchProducts,
    private readonly feed: CatalogChanges,
    private readonly resolveItems: ResolveItems,
  ) {}

  @Put('products')
  @Scopes('catalog:write')
  @BodyLimit(CATALOG_BODY_BYTES)
  upsert(@CurrentCaller() caller: Caller, @Body() body: ProductsBody): Promise<UpsertAnswer> {
    return this.upsertProducts.execute(caller, body.products);
  }

  @Get('products')
  @Scopes('catalog:read')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: ProductsQuery): Promise<Page<ProductView>> {
    const filter = {
      spic: query.spic ?? null,
      marked: query.marked === undefined ? null : query.marked === 'true',
      withArchived: query.archived === 'true',
    };
    const text = query.q?.trim() ? query.q : null;
    const page = { limit: Number(query.limit ?? 20), cursor: query.cursor ?? null };
    return this.search.execute(merchantId, text, filter, page);
  }

  @Get('products/:sku')
  @Scopes('catalog:read')
  async get(
    @CurrentCaller() { merchantId }: Caller,
    @Param('sku') sku: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProductView> {
    return withEtag(reply, await this.products.get(merchantId, sku));
  }

  @Patch('products/:sku')
  @Scopes('catalog:write')
  async change(
    @CurrentCaller() caller: Caller,
    @Param('sku') sku: string,
    @Req() { body, headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProductView> {
    const ifMatch = headers['if-match'] ?? null;
    return withEtag(reply, await this.changeProduct.patch(caller, sku, objectOf(body), ifMatch));
  }

  /** Archives it. */
  @Delete('products/:sku')
  @Scopes('catalog:write')
  async archive(
    @CurrentCaller() caller: Caller,
    @Param('sku') sku: string,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProductView> {
    return withEtag(reply, await this.changeProduct.archive(caller, sku, ifMatch ?? null));
  }

  @Get('changes')
  @Scopes('catalog:read')
  changes(@CurrentCaller() { merchantId }: Caller, @Query() query: ChangesQuery): Promise<CatalogChangesPage> {
    return this.feed.read(merchantId, query.cursor ?? null, Number(query.limit ?? 100));
  }

  @Post('resolve')
  @HttpCode(200)
  @Scopes('catalog:read')
  async resolve(
    @CurrentCaller() { merchantId }: Caller,
    @Body() body: ResolveBody,
  ): Promise<{ items: ResolvedItem[] }> {
    return { items: await this.resolveItems.execute(merchantId, body.items) };
  }
}

function withEtag(reply: FastifyReply, view: ProductView): ProductView {
  void reply.header('etag', view.etag);
  return view;
}

function objectOf(patch: unknown): Record<string, unknown> {
  if (isObject(patch)) return patch;
  throw Problem.at('', 'invalid_type', 'The body must be a JSON object.');
}
