import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import {
  checkLocalReceipt,
  lineTotal,
  localShapeProblem,
  normaliseText,
  parseQuantity,
  resolvedTotals,
  sumTiyin,
  tiyin,
  toLocalReceipt,
  vatContained,
  type ReceiptLine,
  type ReceiptPayment,
  type ReceiptTotals,
  type Tiyin,
  type VatRule,
} from '#fiscal-domain';
import type { ProblemError } from '#runtime';
import { GoodsCatalog, type ClassifiedGoods, type Product, type ProductAnswer } from '../catalog/goods-catalog.js';
import type { ItemBody, PaymentBody, ReceiptBody } from './receipt-body.js';
import { faultOfShape, faultOfViolation } from './rule-faults.js';

export type Composed =
  { kind: 'composed'; document: StoredReceiptDocument } | { kind: 'refused'; faults: ProblemError[] };

/** Where a line's fiscal fields come from once catalogue and classification register have been asked. */
interface Resolved {
  spic: string;
  packageCode: string;
  units: number;
  vatPercent: number;
  sku: string | null;
  barcode: string | null;
}

/**
 * Turns a well-shaped body into the complete fiscal document, or into all reasons why the register would refuse it:
 * promise 4, refused early, naming field and code.
 */
@Injectable()
export class ComposeDocument {
  constructor(private readonly catalog: GoodsCatalog) {}

  async compose(merchantId: string, body: ReceiptBody, vatRule: VatRule): Promise<Composed> {
    const products = await this.findProducts(merchantId, body.items);
    const goods = await this.catalog.findGoods(spicsOf(body.items, products));
    const faults: ProblemError[] = [];
    const lines: ReceiptLine[] = [];
    body.items.forEach((item, index) => {
      const line = composeLine(item, index, products.get(index), goods);
      if (Array.isArray(line)) faults.push(...line);
      else lines.push(line);
    });
    if (faults.length > 0) return { kind: 'refused', faults };

    const totals = safeTotals(lines);
    if (!totals) {
      return refused('/items', 'total_too_large', 'The receipt total exceeds 9 007 199 254 740 991 tiyin.');
    }
    const payment = composePayment(body.payment, totals.totalTiyin);
    if (Array.isArray(payment)) return { kind: 'refused', faults: payment };
    const document: StoredReceiptDocument = {
      type: body.type ?? 'sale',
      lines,
      payment,
      ...totals,
      customer: body.customer ? { ...body.customer } : null,
      refundInfo: null,
      metadata: body.metadata ?? null,
      callbackUrl: body.callback_url ?? null,
    };
    return refusalByRegister(document, goods, vatRule) ?? { kind: 'composed', document };
  }

  /** Catalogue answers by item index; an item that names its SPIC needs none. */
  private async findProducts(merchantId: string, items: readonly ItemBody[]): Promise<Map<number, ProductAnswer>> {
    const asking = items.map((item, index) => ({ item, index })).filter(({ item }) => !item.spic);
    const answers = await this.catalog.findProducts(
      merchantId,
      asking.map(({ item }) => ({ sku: item.sku ?? null, barcode: item.barcode ?? null, name: item.name })),
    );
    return new Map(asking.map(({ index }, position) => [index, answers[position] ?? { kind: 'unknown' }]));
  }
}

/** The register's own rules, on the very request that it would get. */
function refusalByRegister(
  document: StoredReceiptDocument,
  goods: ReadonlyMap<string, ClassifiedGoods>,
  vatRule: VatRule,
): Composed | null {
  const request = toLocalReceipt(document, vatRule);
  const violations = checkLocalReceipt(request, (spic) => goods.get(spic), vatRule);
  if (violations.length > 0) return { kind: 'refused', faults: violations.map(faultOfViolation) };
  const shape = localShapeProblem(request);
  return shape && { kind: 'refused', faults: [faultOfShape(shape)] };
}

function refused(pointer: string, code: string, detail: string): Composed {
  return { kind: 'refused', faults: [{ pointer, code, detail }] };
}

function spicsOf(items: readonly ItemBody[], products: ReadonlyMap<number, ProductAnswer>): string[] {
  return items.flatMap((item, index) => {
    const product = products.get(index);
    const spic = item.spic ?? (product?.kind === 'found' ? product.product.spic : null);
    return spic ? [spic] : [];
  });
}

function composeLine(
  item: ItemBody,
  index: number,
  answer: ProductAnswer | undefined,
  goods: ReadonlyMap<string, ClassifiedGoods>,
): ReceiptLine | ProblemError[] {
  const pointer = `/items/${index}`;
  const resolved = resolveGoods(item, pointer, answer, goods);
  if (Array.isArray(resolved)) return resolved;
  const quantity = parseQuantity(item.qty);
  // The body's shape was checked before; a quantity that cannot be read here would be a fault of ours.
  if (quantity.kind !== 'ok') throw new Error(`Unreadable quantity passed the shape check at ${pointer}`);
  const priceTiyin = tiyin(item.price);
  const discountTiyin = tiyin(item.discount ?? 0);
  const total = lineTotal({ priceTiyin, quantity: quantity.thousandths, discountTiyin });
  if (total.kind === 'too_large') {
    return [{ pointer, code: 'total_too_large', detail: 'price × qty exceeds 9 007 199 254 740 991 tiyin.' }];
  }
  // A negative price is E-012's business, which needs the line to exist; only a discount makes this its own fault.
  if (total.kind === 'negative' && item.price > 0) {
    const detail = 'The discount is larger than price × qty.';
    return [{ pointer: `${pointer}/discount`, code: 'line_total_negative', detail }];
  }
  const totalTiyin = total.kind === 'ok' ? total.totalTiyin : tiyin(0);
  const vatPercent = resolved.vatPercent as ReceiptLine['vatPercent'];
  return {
    line: index + 1,
    name: normaliseText(item.name),
    quantity: quantity.thousandths,
    priceTiyin,
    discountTiyin,
    totalTiyin,
    vatTiyin: vatContained(totalTiyin, vatPercent),
    labels: item.labels ?? [],
    commission: item.commission ? { ...item.commission } : null,
    ...resolved,
    vatPercent,
  };
}

/** Given by the caller, else from the catalogue; what is still missing, from the classification register. */
function resolveGoods(
  item: ItemBody,
  pointer: string,
  answer: ProductAnswer | undefined,
  goods: ReadonlyMap<string, ClassifiedGoods>,
): Resolved | ProblemError[] {
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
      : [unknownSpic(pointer)];
  }
  return {
    spic,
    packageCode,
    units,
    vatPercent,
    sku: skuOf(item, product),
    barcode: item.barcode ?? product?.barcode ?? null,
  };
}

function skuOf(item: ItemBody, product: Product | null): string | null {
  return item.sku ?? product?.sku ?? null;
}

function onlyOne<T>(values: readonly T[] | undefined): T | undefined {
  return values?.length === 1 ? values[0] : undefined;
}

function unknownSpic(pointer: string): ProblemError {
  return {
    pointer: `${pointer}/spic`,
    code: 'E-013',
    rule: 'ITEM_SPIC_NOT_IN_TASNIF',
    detail: 'The code is not in the national classification register.',
  };
}

function unknownGoods(item: ItemBody, pointer: string, answer: ProductAnswer | undefined): ProblemError {
  const field = item.sku ? 'sku' : item.barcode ? 'barcode' : 'name';
  if (answer?.kind === 'ambiguous') {
    const detail = `Several products match: ${answer.skus.slice(0, 10).join(', ')}. Name one by sku.`;
    return { pointer: `${pointer}/${field}`, code: 'goods_ambiguous', detail };
  }
  if (field === 'name' && item.name.trim() === '') {
    return {
      pointer: `${pointer}/name`,
      code: 'E-011',
      rule: 'ITEM_NAME_EMPTY',
      detail: 'The name must not be empty.',
    };
  }
  const detail = `No product of the catalogue has this ${field}; give spic, package_code, units and vat_percent, or add it.`;
  return { pointer: `${pointer}/${field}`, code: 'goods_unknown', detail };
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

function safeTotals(lines: readonly ReceiptLine[]): ReceiptTotals | null {
  return sumTiyin(lines.map((line) => line.totalTiyin)).kind === 'ok' ? resolvedTotals(lines) : null;
}

function composePayment(payment: PaymentBody, totalTiyin: Tiyin): ReceiptPayment | ProblemError[] {
  const { method } = payment;
  const provider = payment.provider ?? null;
  if (method === 'online') {
    const detail = 'The gateway cannot collect payments itself yet; take the money first and name how it was paid.';
    return [{ pointer: '/payment/method', code: 'payment_method_unsupported', detail }];
  }
  if (method === 'mixed') return composeMixed(payment, provider, totalTiyin);
  const extra = (['cash', 'card'] as const).filter((field) => payment[field] !== undefined && payment[field] !== null);
  if (extra.length > 0) {
    return extra.map((field) => ({
      pointer: `/payment/${field}`,
      code: 'invalid_value',
      detail: `Only the method "mixed" splits the sum; "${method}" pays all of it.`,
    }));
  }
  const zero = tiyin(0);
  return method === 'cash'
    ? { method, provider, cashTiyin: totalTiyin, cardTiyin: zero }
    : { method, provider, cashTiyin: zero, cardTiyin: totalTiyin };
}

function composeMixed(
  payment: PaymentBody,
  provider: string | null,
  totalTiyin: Tiyin,
): ReceiptPayment | ProblemError[] {
  const missing = (['cash', 'card'] as const).filter((field) => typeof payment[field] !== 'number');
  if (missing.length > 0) {
    return missing.map((field) => ({
      pointer: `/payment/${field}`,
      code: 'required',
      detail: `The method "mixed" needs ${field} in tiyin.`,
    }));
  }
  const cash = payment.cash ?? 0;
  const card = payment.card ?? 0;
  const negative = (['cash', 'card'] as const).filter((field) => (payment[field] ?? 0) < 0);
  if (negative.length > 0) {
    return negative.map((field) => ({
      pointer: `/payment/${field}`,
      code: 'E-008',
      rule: 'RECEIPT_SUM_NEGATIVE',
      detail: 'A paid sum must not be negative.',
    }));
  }
  if (BigInt(cash) + BigInt(card) !== BigInt(totalTiyin)) {
    const detail = `cash + card is ${BigInt(cash) + BigInt(card)} tiyin, the receipt total is ${totalTiyin} tiyin.`;
    return [{ pointer: '/payment', code: 'payment_mismatch', detail }];
  }
  return { method: 'mixed', provider, cashTiyin: tiyin(cash), cardTiyin: tiyin(card) };
}
