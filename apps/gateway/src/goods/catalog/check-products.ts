import { Injectable } from '@nestjs/common';
import { normaliseText } from '#fiscal-domain';
import type { ProblemError } from '#problems';
import { checkShape } from '#shapes';
import { checkProduct, type CheckedProduct } from './check-product.js';
import { GoodsCatalog } from './goods-catalog.js';
import { ProductInput } from './product-input.js';

/** One of a batch, whatever became of it. Pointers begin at the product. */
export type CheckedItem =
  | { kind: 'ok'; sku: string; product: CheckedProduct; warnings: ProblemError[] }
  | { kind: 'rejected'; sku: string | null; errors: ProblemError[]; warnings: ProblemError[] };

/** Named for each product: a batch can have a thousand of them. */
const MAX_FAULTS = 20;

type Shaped = { kind: 'ok'; input: ProductInput } | { kind: 'rejected'; sku: string | null; errors: ProblemError[] };

/** Products as they came, held against the rules of shape and the classification register, each for itself. */
@Injectable()
export class CheckProducts {
  constructor(private readonly catalog: GoodsCatalog) {}

  /** In the order of the values. */
  async execute(merchantId: string, values: readonly unknown[]): Promise<CheckedItem[]> {
    const shaped = refuseRepeated(values.map((value) => shapeOf(value)));
    const spics = shaped.flatMap((item) => (item.kind === 'ok' ? [item.input.spic] : []));
    const goods = await this.catalog.findGoods(spics);
    return shaped.map((item) => {
      if (item.kind === 'rejected') return { ...item, warnings: [] };
      const { sku, spic } = item.input;
      return { sku, ...checkProduct(merchantId, item.input, goods.get(spic)) };
    });
  }
}

function shapeOf(value: unknown): Shaped {
  const shaped = checkShape(ProductInput, value);
  if (shaped.kind === 'ok') return { kind: 'ok', input: shaped.value };
  return { kind: 'rejected', sku: skuOf(value), errors: shaped.problem.errors.slice(0, MAX_FAULTS) };
}

function skuOf(value: unknown): string | null {
  const sku = typeof value === 'object' && value !== null && 'sku' in value ? value.sku : null;
  return typeof sku === 'string' ? sku.slice(0, 128) : null;
}

/** Which of two was meant to win is unknown; the first is taken, the others are reported. */
function refuseRepeated(items: readonly Shaped[]): Shaped[] {
  const firsts = new Map<string, number>();
  return items.map((item, index) => {
    if (item.kind === 'rejected') return item;
    const { sku } = item.input;
    const key = normaliseText(sku);
    const first = firsts.get(key);
    if (first === undefined) {
      firsts.set(key, index);
      return item;
    }
    const detail = `The product at ${first} of this batch has the same sku and is taken instead.`;
    return { kind: 'rejected', sku, errors: [{ pointer: '/sku', code: 'duplicate', detail }] };
  });
}
