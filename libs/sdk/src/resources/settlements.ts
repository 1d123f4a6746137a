import type { Api, RawBody } from '../api.js';
import type { Schema } from '../api-types.js';
import type { CallOptions } from '../transport.js';
import { resourceOf, type Resource } from './resource.js';

/** Which register it is: days in Tashkent, both included. */
export interface RegisterOf {
  account_id: string;
  from: string;
  to: string;
}

export type Settlements = Resource<'settlements'> & {
  /** A provider's register as CSV or XLSX, held against payments and receipts. It changes none of them. */
  create(file: RawBody, register: RegisterOf, options?: CallOptions): Promise<Schema<'SettlementView'>>;
};

export function settlementsOf(api: Api): Settlements {
  return {
    ...resourceOf(api, 'settlements'),
    create: (file, register, options) => api.upload('/v1/settlements', file, { ...register }, options),
  };
}
