import type { Api } from '../api.js';
import type { FiltersOf, PageOf, Schema } from '../api-types.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';

export type Product = Schema<'ProductView'>;

/** The merchant's own catalogue. */
export class Products {
  constructor(private readonly api: Api) {}

  /** Adds and changes by `sku`; each product has a result of its own. */
  upsert(body: Schema<'ProductsBody'>, options?: CallOptions): Promise<Schema<'UpsertAnswer'>> {
    return this.api.request('PUT', '/v1/catalog/products', { body }, options);
  }

  get(sku: string, options?: CallOptions): Promise<Product> {
    return this.api.request('GET', '/v1/catalog/products/{sku}', { path: { sku } }, options);
  }

  list(
    filters: FiltersOf<'/v1/catalog/products'> = {},
    options?: CallOptions,
  ): PagedList<PageOf<'/v1/catalog/products'>> {
    return this.api.list('/v1/catalog/products', { query: filters }, options);
  }

  archive(sku: string, options?: CallOptions): Promise<Product> {
    return this.api.request('DELETE', '/v1/catalog/products/{sku}', { path: { sku } }, options);
  }

  /** What has changed since a cursor, so that a copy elsewhere stays complete. */
  changes(
    filters: FiltersOf<'/v1/catalog/changes'> = {},
    options?: CallOptions,
  ): PagedList<PageOf<'/v1/catalog/changes'>> {
    return this.api.list('/v1/catalog/changes', { query: filters }, options);
  }
}
