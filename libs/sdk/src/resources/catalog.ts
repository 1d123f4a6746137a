import type { Api, RawBody } from '../api.js';
import type { Schema } from '../api-types.js';
import type { CallOptions } from '../transport.js';
import { resourceOf, type Resource } from './resource.js';

export type Catalog = Resource<'catalog'> & {
  /** A file of products; `getImport` shows how far it is. Not repeated by itself when its answer is lost. */
  import(file: RawBody, mode?: 'upsert' | 'full', options?: CallOptions): Promise<Schema<'ImportView'>>;
};

export function catalogOf(api: Api): Catalog {
  const more: Pick<Catalog, 'import'> = {
    import: (file, mode = 'upsert', options) => api.upload('/v1/catalog/imports', file, { mode }, options),
  };
  return { ...resourceOf(api, 'catalog'), ...more };
}
