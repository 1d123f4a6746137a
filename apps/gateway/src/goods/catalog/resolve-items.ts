import { Injectable } from '@nestjs/common';
import { shownError, type ProblemError, type ShownError } from '#problems';
import { MerchantRules } from '../../fleet/merchants/merchant-rules.js';
import type { ResolveItemBody } from './catalog-bodies.js';
import { GoodsCatalog, type ClassifiedGoods, type ProductAnswer } from './goods-catalog.js';
import { orDefaultGoods, resolveGoods, type GoodsOfItem, type ResolvedBy } from './resolve-goods.js';

export interface ResolvedItem {
  /** From 1. */
  line: number;
  /** How the goods were found; null when they were not. */
  by: ResolvedBy | null;
  /** Of the product that was found. */
  sku: string | null;
  name: string | null;
  spic: string | null;
  package_code: string | null;
  units: number | null;
  vat_percent: number | null;
  /** What the classification register says of the goods; null = it does not know the code. */
  classifier: { marked: boolean; cash_allowed: boolean; active: boolean } | null;
  /** Why a receipt with this line would be refused; pointers as in a receipt. */
  errors: ShownError[];
}

/** What the lines of a receipt would become, and why: by the very code that receipts go through. */
@Injectable()
export class ResolveItems {
  constructor(
    private readonly catalog: GoodsCatalog,
    private readonly merchants: MerchantRules,
  ) {}

  async execute(merchantId: string, bodies: readonly ResolveItemBody[]): Promise<ResolvedItem[]> {
    const items = bodies.map((body): GoodsOfItem => ({ ...body, name: body.name ?? '' }));
    const { default_goods: defaultGoods } = await this.merchants.of(merchantId);
    const found = await this.catalog.findProducts(
      merchantId,
      items.map(({ sku, barcode, name }) => ({ sku: sku ?? null, barcode: barcode ?? null, name })),
    );
    const answers = found.map((answer, index) =>
      items[index]?.spic ? undefined : orDefaultGoods(answer, defaultGoods),
    );
    const spics = items.flatMap(({ spic }, index) => spic ?? spicOf(answers[index]) ?? []);
    const goods = await this.catalog.findGoods(spics);
    return items.map((item, index) => resolvedItem(item, index, answers[index], goods));
  }
}

function spicOf(answer: ProductAnswer | undefined): string | undefined {
  return answer?.kind === 'found' ? answer.product.spic : undefined;
}

function resolvedItem(
  item: GoodsOfItem,
  index: number,
  answer: ProductAnswer | undefined,
  goods: ReadonlyMap<string, ClassifiedGoods>,
): ResolvedItem {
  const pointer = `/items/${index}`;
  const resolved = resolveGoods(item, pointer, answer, goods);
  const product = answer?.kind === 'found' ? answer : null;
  const by = item.spic ? 'spic' : (product?.by ?? null);
  const isResolved = !Array.isArray(resolved);
  const spic = isResolved ? resolved.spic : (item.spic ?? product?.product.spic ?? null);
  const known = spic === null ? undefined : goods.get(spic);
  return {
    line: index + 1,
    by,
    sku: product?.product.sku ?? null,
    name: item.name === '' ? (product?.product.name ?? null) : item.name,
    spic,
    package_code: isResolved ? resolved.packageCode : null,
    units: isResolved ? resolved.units : null,
    vat_percent: isResolved ? resolved.vatPercent : null,
    classifier: known ? { marked: known.marked, cash_allowed: known.cashAllowed, active: known.active } : null,
    errors: (isResolved ? registerErrors(pointer, resolved.packageCode, known) : resolved).map((error) =>
      shownError(error),
    ),
  };
}

/** The rules of the register that need no more than the goods. */
function registerErrors(pointer: string, packageCode: string, goods: ClassifiedGoods | undefined): ProblemError[] {
  if (!goods?.active) {
    const detail = goods
      ? 'The code is no longer in force in the classification register.'
      : 'The code is not in the national classification register.';
    return [{ pointer: `${pointer}/spic`, code: 'E-013', detail }];
  }
  if (goods.packages.includes(packageCode)) return [];
  return [
    { pointer: `${pointer}/package_code`, code: 'E-014', detail: 'The package code does not belong to the SPIC.' },
  ];
}
