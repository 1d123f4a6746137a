import { Injectable } from '@nestjs/common';
import type { ProblemError } from '#problems';
import type { Caller } from '../../audit/caller.js';
import { CheckProducts } from './check-products.js';
import { etagOf } from './product-view.js';
import { StoreProducts } from './store-products.js';
import type { WriteResult } from './write-products.js';

export interface UpsertResult {
  sku: string | null;
  result: WriteResult | 'rejected';
  /** Null when rejected. */
  etag: string | null;
  /** Pointers begin at the product. */
  errors: ProblemError[];
  warnings: ProblemError[];
}

export interface UpsertAnswer {
  /** In the order of the products. */
  results: UpsertResult[];
  summary: Record<WriteResult | 'rejected', number>;
}

/** A batch of products, each for itself: what is right is written, what is wrong is reported. */
@Injectable()
export class UpsertProducts {
  constructor(
    private readonly check: CheckProducts,
    private readonly store: StoreProducts,
  ) {}

  async execute(caller: Caller, values: readonly unknown[]): Promise<UpsertAnswer> {
    const items = await this.check.execute(caller.merchantId, values);
    const products = items.flatMap((item) => (item.kind === 'ok' ? [item.product] : []));
    const written = await this.store.execute(caller, products);
    const results = items.map((item): UpsertResult => {
      const { sku, warnings } = item;
      if (item.kind === 'rejected') return { sku, result: 'rejected', etag: null, errors: item.errors, warnings };
      const own = written.get(item.product.sku);
      if (!own) throw new Error(`nothing is known of what became of ${item.product.sku}`);
      return { sku, result: own.result, etag: etagOf(own.position), errors: [], warnings };
    });
    return { results, summary: summaryOf(results) };
  }
}

export function summaryOf(results: readonly { result: WriteResult | 'rejected' }[]): UpsertAnswer['summary'] {
  const summary = { created: 0, updated: 0, unchanged: 0, rejected: 0 };
  for (const { result } of results) summary[result] += 1;
  return summary;
}
