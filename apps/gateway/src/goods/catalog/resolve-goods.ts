import type { ProblemError } from '#problems';
import type { DefaultGoods } from '../../fleet/merchants/merchant-settings.js';
import type { ClassifiedGoods, FoundBy, Product, ProductAnswer } from './goods-catalog.js';

/** What of an item decides its goods. */
export interface GoodsOfItem {
  name: string;
  sku?: string;
  barcode?: string;
  spic?: string;
  package_code?: string;
  units?: number;
  vat_percent?: number;
  commission?: { tin?: string; pinfl?: string };
}

/** Where a line's fiscal fields come from once catalogue and classification register have been asked. */
export type ResolvedGoods = Omit<Product, 'name'>;

/** How an item came to its goods. */
export type ResolvedBy = 'spic' | FoundBy | 'default_goods';

/** What the catalogue does not know is the merchant's default goods, when it has set some. What is ambiguous stays so. */
export function orDefaultGoods(answer: ProductAnswer, goods: DefaultGoods | null): ProductAnswer {
  if (answer.kind !== 'unknown' || goods === null) return answer;
  const { spic, package_code: packageCode, units, vat_percent: vatPercent } = goods;
  const product = { sku: null, name: '', barcode: null, commission: null, spic, packageCode, units, vatPercent };
  return { kind: 'found', by: 'default_goods', product };
}

/** Given by the caller, else from the catalogue; what is still missing, from the classification register. */
export function resolveGoods(
  item: GoodsOfItem,
  pointer: string,
  answer: ProductAnswer | undefined,
  goods: ReadonlyMap<string, ClassifiedGoods>,
): ResolvedGoods | ProblemError[] {
  const product = answer?.kind === 'found' ? answer.product : null;
  if (!item.spic && !product) return [unknownGoods(item, pointer, answer)];
  const spic = item.spic ?? product?.spic ?? '';
  const classified = goods.get(spic);
  const packageCode = item.package_code ?? product?.packageCode ?? onlyOne(classified?.packages);
  const units = item.units ?? product?.units ?? classified?.units;
  const vatPercent = item.vat_percent ?? product?.vatPercent ?? onlyOne(classified?.vatPercents);
  if (packageCode === undefined || units === undefined || vatPercent === undefined) {
    return classified
      ? missingFields({ package_code: packageCode, units, vat_percent: vatPercent }, pointer)
      : [unknownSpic(pointer, spic)];
  }
  const { commission } = item;
  return {
    ...{ spic, packageCode, units, vatPercent },
    sku: skuOf(item, product),
    barcode: item.barcode ?? product?.barcode ?? null,
    commission: commission ? { ...commission } : (product?.commission ?? null),
  };
}

function skuOf(item: GoodsOfItem, product: Product | null): string | null {
  return item.sku ?? product?.sku ?? null;
}

function onlyOne<T>(values: readonly T[] | undefined): T | undefined {
  return values?.length === 1 ? values[0] : undefined;
}

function unknownSpic(pointer: string, spic: string): ProblemError {
  return {
    pointer: `${pointer}/spic`,
    code: 'E-013',
    rule: 'ITEM_SPIC_NOT_IN_TASNIF',
    detail: 'The code is not in the national classification register.',
    facts: { given: spic, allowed: null },
  };
}

function unknownGoods(item: GoodsOfItem, pointer: string, answer: ProductAnswer | undefined): ProblemError {
  if (answer?.kind === 'ambiguous') {
    const detail = `Several products match: ${answer.skus.join(', ')}. Name one by sku.`;
    const facts = { given: item[answer.by], allowed: answer.skus.join(', ') };
    return { pointer: `${pointer}/${answer.by}`, code: 'goods_ambiguous', detail, facts };
  }
  const field = item.sku ? 'sku' : item.barcode ? 'barcode' : 'name';
  if (field === 'name' && item.name.trim() === '') {
    return {
      pointer: `${pointer}/name`,
      code: 'E-011',
      rule: 'ITEM_NAME_EMPTY',
      detail: 'The name must not be empty.',
      facts: { given: item.name, allowed: '≥ 1' },
    };
  }
  const detail = `No product of the catalogue has this ${field}; give spic, package_code, units and vat_percent, or add it.`;
  return {
    pointer: `${pointer}/${field}`,
    code: 'goods_unknown',
    detail,
    facts: { given: item[field], allowed: null },
  };
}

function missingFields(fields: Record<string, unknown>, pointer: string): ProblemError[] {
  return Object.entries(fields)
    .filter(([, value]) => value === undefined)
    .map(([field]) => ({
      pointer: `${pointer}/${field}`,
      code: 'required',
      detail: `The classification code leaves a choice of ${field}; please say which.`,
    }));
}
