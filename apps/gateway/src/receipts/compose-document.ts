import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import {
  checkLocalReceipt,
  fieldsNotToBeLost,
  lineTotal,
  localShapeProblem,
  normaliseText,
  parseQuantity,
  resolvedTotals,
  sumTiyin,
  tiyin,
  toLocalReceipt,
  vatContained,
  type LineAmounts,
  type ReceiptLine,
  type ReceiptPayment,
  type ReceiptTotals,
  type RuleViolation,
  type Tiyin,
  type VatRule,
} from '#fiscal-domain';
import type { ProblemError } from '#problems';
import { GoodsCatalog, type ClassifiedGoods, type ProductAnswer } from '../goods/catalog/goods-catalog.js';
import { orDefaultGoods, resolveGoods, type ResolvedGoods } from '../goods/catalog/resolve-goods.js';
import { MerchantRules } from '../fleet/merchants/merchant-rules.js';
import type { MerchantSettings } from '../fleet/merchants/merchant-settings.js';
import { CALLBACK_SECRET_MISSING } from './callback-fault.js';
import { itemFaults } from './item-faults.js';
import { notifyOf } from './notify-buyer.js';
import { onlineFieldFaults } from './online-field-faults.js';
import { providerLabel } from './provider-label.js';
import type { ItemBody, PaymentBody, ReceiptBody } from './receipt-body.js';
import { faultOfShape, faultOfViolation } from './rule-faults.js';
import { statedFields, type StatedFields } from './stated-fields.js';

export type Composed = (
  | { kind: 'composed'; document: StoredReceiptDocument }
  | { kind: 'refused'; faults: ProblemError[] }
) & { stated: StatedFields };

/**
 * Turns a well-shaped body into the complete fiscal document, or into all reasons why the register would refuse it:
 * promise 4, refused early, naming field and code.
 */
@Injectable()
export class ComposeDocument {
  constructor(
    private readonly catalog: GoodsCatalog,
    private readonly merchants: MerchantRules,
  ) {}

  async compose(merchantId: string, body: ReceiptBody, vatRule: VatRule): Promise<Composed> {
    const settings = await this.merchants.of(merchantId);
    const products = await this.findProducts(merchantId, body.items, settings);
    const goods = await this.catalog.findGoods(spicsOf(body.items, products));
    const drafts = body.items.map((item, index) => draftLine(item, `/items/${index}`, products.get(index), goods));
    const lines = drafts.map((draft, index) => ({ line: index + 1, ...draft.line }));
    const faults = drafts.flatMap((draft) => draft.faults);
    faults.push(...itemFaults(body.items));
    faults.push(...missingByRequirement(body, settings), ...(await this.callbackFaults(merchantId, body)));
    const channels = await this.merchants.messageChannels(merchantId, body.notify?.channels ?? []);
    const buyer = notifyOf(body, { byDefault: settings.notify, channels });
    faults.push(...buyer.faults);
    const totals = safeTotals(lines);
    if (!totals) {
      const detail = 'The receipt total exceeds 9 007 199 254 740 991 tiyin.';
      faults.push({ pointer: '/items', code: 'total_too_large', detail });
    }
    // With a faulty line the total is unknown: whether the payment adds up cannot be decided then.
    const payment = composePayment(body.payment, totals?.totalTiyin ?? tiyin(0), faults.length === 0);
    const document: StoredReceiptDocument = {
      type: body.type ?? 'sale',
      lines,
      payment: payment.payment,
      ...(totals ?? { totalTiyin: tiyin(0), vatTotalTiyin: tiyin(0) }),
      customer: body.customer ? { ...body.customer } : null,
      refundInfo: null,
      metadata: body.metadata ?? null,
      callbackUrl: body.callback_url ?? null,
      ...(buyer.notify && { notify: buyer.notify }),
    };
    const areRequired = settings.unsupported_fields === 'refuse';
    const mustNotLose = areRequired ? fieldsNotToBeLost(document) : [];
    if (mustNotLose.length > 0) document.requiredFields = mustNotLose;
    const request = toLocalReceipt(document, vatRule);
    const violations = checkLocalReceipt(request, (spic) => goods.get(spic), vatRule);
    const all = [...faults, ...notYetReported(violations, drafts, body), ...payment.faults];
    const stated = { ...statedFields(document, body), areRequired };
    if (all.length > 0) return { kind: 'refused', faults: all, stated };
    // What the register would not even read.
    const shape = localShapeProblem(request);
    return shape ? { kind: 'refused', faults: [faultOfShape(shape)], stated } : { kind: 'composed', document, stated };
  }

  private async callbackFaults(merchantId: string, { callback_url: url }: ReceiptBody): Promise<ProblemError[]> {
    if (url === undefined || url === null) return [];
    return (await this.merchants.hasCallbackSecret(merchantId)) ? [] : [CALLBACK_SECRET_MISSING];
  }

  /** Catalogue answers by item index; an item that names its SPIC needs none. */
  private async findProducts(
    merchantId: string,
    items: readonly ItemBody[],
    { default_goods: defaultGoods }: MerchantSettings,
  ): Promise<Map<number, ProductAnswer>> {
    const asking = items.map((item, index) => ({ item, index })).filter(({ item }) => !item.spic);
    const answers = await this.catalog.findProducts(
      merchantId,
      asking.map(({ item }) => ({ sku: item.sku ?? null, barcode: item.barcode ?? null, name: item.name })),
    );
    return new Map(
      asking.map(({ index }, position) => [
        index,
        orDefaultGoods(answers[position] ?? { kind: 'unknown' }, defaultGoods),
      ]),
    );
  }
}

/** What this merchant wants every sale to carry. */
function missingByRequirement(body: ReceiptBody, { requirements }: MerchantSettings): ProblemError[] {
  if (!requirements.external_id || body.external_id !== undefined) return [];
  return [{ pointer: '/external_id', code: 'required', detail: 'external_id is required: the merchant has set it so' }];
}

/**
 * The register's own rules were asked about the very request that it would get; where an item has its faults already,
 * about what is left of it: a caller learns of everything at once, and of nothing twice.
 */
function notYetReported(
  violations: readonly RuleViolation[],
  drafts: readonly LineDraft[],
  { items }: ReceiptBody,
): ProblemError[] {
  return violations
    .filter(({ itemIndex, field }) => itemIndex === null || !drafts[itemIndex]?.reported.has(field))
    .map((violation) => {
      const { itemIndex, field, facts } = violation;
      if (itemIndex === null || field !== 'price') return faultOfViolation(violation);
      // The draft's price is never below 0; the fault names the −5 that was given.
      return faultOfViolation({ ...violation, facts: { ...facts, given: items[itemIndex]?.price } });
    });
}

function spicsOf(items: readonly ItemBody[], products: ReadonlyMap<number, ProductAnswer>): string[] {
  return items.flatMap((item, index) => {
    const product = products.get(index);
    const spic = item.spic ?? (product?.kind === 'found' ? product.product.spic : null);
    return spic ? [spic] : [];
  });
}

/** A line with what is wrong about it. What is wrong has a harmless stand-in, so that the rules can be asked of the rest. */
interface LineDraft {
  line: Omit<ReceiptLine, 'line'>;
  faults: ProblemError[];
  /** Fields of the local API about which `faults` says everything. */
  reported: ReadonlySet<string>;
}

const NO_FIELDS: ReadonlySet<string> = new Set();
const UNRESOLVED_FIELDS: ReadonlySet<string> = new Set(['spic', 'packageCode', 'vatPercent', 'units']);
const UNNAMED_FIELDS: ReadonlySet<string> = new Set([...UNRESOLVED_FIELDS, 'name']);

function draftLine(
  item: ItemBody,
  pointer: string,
  answer: ProductAnswer | undefined,
  goods: ReadonlyMap<string, ClassifiedGoods>,
): LineDraft {
  const resolved = resolveGoods(item, pointer, answer, goods);
  const isResolved = !Array.isArray(resolved);
  const { vatPercent, ...codes } = isResolved ? resolved : UNRESOLVED;
  const amounts = draftAmounts(item, pointer);
  const { totalTiyin } = amounts;
  return {
    line: {
      name: normaliseText(item.name),
      quantity: amounts.quantity,
      priceTiyin: amounts.priceTiyin,
      discountTiyin: amounts.discountTiyin,
      totalTiyin,
      vatTiyin: vatContained(totalTiyin, vatPercent),
      labels: item.labels ?? [],
      ...codes,
      vatPercent: vatPercent as ReceiptLine['vatPercent'],
    },
    faults: [...(isResolved ? [] : resolved), ...amounts.faults],
    reported: isResolved
      ? NO_FIELDS
      : resolved.some(({ code }) => code === 'E-011')
        ? UNNAMED_FIELDS
        : UNRESOLVED_FIELDS,
  };
}

const UNRESOLVED: ResolvedGoods = {
  ...{ spic: '', packageCode: '', units: 0, vatPercent: 0 },
  ...{ sku: null, barcode: null, commission: null },
};

interface DraftAmounts extends LineAmounts {
  totalTiyin: Tiyin;
  faults: ProblemError[];
}

function draftAmounts(item: ItemBody, pointer: string): DraftAmounts {
  const parsed = parseQuantity(item.qty);
  // The body's shape was checked before; a quantity that cannot be read here would be a fault of ours.
  if (parsed.kind !== 'ok') throw new Error(`Unreadable quantity passed the shape check at ${pointer}`);
  const quantity = parsed.thousandths;
  // A price that is not above 0 is E-012's business, which says the same of 0 and of −1.
  const priceTiyin = tiyin(Math.max(item.price, 0));
  const discountTiyin = tiyin(item.discount ?? 0);
  const total = lineTotal({ priceTiyin, quantity, discountTiyin });
  const none = tiyin(0);
  switch (total.kind) {
    case 'ok':
      return { quantity, priceTiyin, discountTiyin, totalTiyin: total.totalTiyin, faults: [] };
    case 'too_large': {
      const detail = 'price × qty exceeds 9 007 199 254 740 991 tiyin.';
      const fault = { pointer, code: 'total_too_large', detail };
      return { quantity, priceTiyin: tiyin(1), discountTiyin: none, totalTiyin: none, faults: [fault] };
    }
    case 'negative': {
      const detail = 'The discount is larger than price × qty.';
      const gross = lineTotal({ priceTiyin, quantity, discountTiyin: none });
      const allowed = gross.kind === 'ok' ? `≤ ${gross.totalTiyin}` : null;
      const facts = { given: discountTiyin, allowed };
      const fault = { pointer: `${pointer}/discount`, code: 'line_total_negative', detail, facts };
      return { quantity, priceTiyin, discountTiyin: none, totalTiyin: none, faults: item.price > 0 ? [fault] : [] };
    }
  }
}

function safeTotals(lines: readonly ReceiptLine[]): ReceiptTotals | null {
  return sumTiyin(lines.map((line) => line.totalTiyin)).kind === 'ok' ? resolvedTotals(lines) : null;
}

/** The payment, or a stand-in of nothing beside the reasons why there is none. */
interface PaymentDraft {
  payment: ReceiptPayment;
  faults: ProblemError[];
}

/** @param isTotalKnown whether `totalTiyin` is what the caller must pay */
function composePayment(body: PaymentBody, totalTiyin: Tiyin, isTotalKnown: boolean): PaymentDraft {
  const { method } = body;
  const provider = providerLabel(body);
  const zero = tiyin(0);
  const refused = (...faults: ProblemError[]): PaymentDraft => ({
    payment: { method, provider, cashTiyin: zero, cardTiyin: zero },
    faults,
  });
  const strange = method === 'online' ? [] : onlineFieldFaults(body);
  if (strange.length > 0) return refused(...strange);
  if (method === 'mixed') {
    const faults = mixedFaults(body, totalTiyin, isTotalKnown);
    if (faults.length > 0 || !isTotalKnown) return refused(...faults);
    const cashTiyin = tiyin(body.cash ?? 0);
    const cardTiyin = tiyin(body.card ?? 0);
    return { payment: { method, provider, cashTiyin, cardTiyin }, faults: [] };
  }
  const extra = (['cash', 'card'] as const).filter((field) => body[field] !== undefined && body[field] !== null);
  const faults = extra.map((field) => ({
    pointer: `/payment/${field}`,
    code: 'invalid_value',
    detail: `Only the method "mixed" splits the sum; "${method}" pays all of it.`,
  }));
  const [cashTiyin, cardTiyin] = method === 'cash' ? [totalTiyin, zero] : [zero, totalTiyin];
  return { payment: { method, provider, cashTiyin, cardTiyin }, faults };
}

function mixedFaults(body: PaymentBody, totalTiyin: Tiyin, isTotalKnown: boolean): ProblemError[] {
  const missing = (['cash', 'card'] as const).filter((field) => typeof body[field] !== 'number');
  if (missing.length > 0) {
    return missing.map((field) => ({
      pointer: `/payment/${field}`,
      code: 'required',
      detail: `The method "mixed" needs ${field} in tiyin.`,
    }));
  }
  const negative = (['cash', 'card'] as const).filter((field) => (body[field] ?? 0) < 0);
  if (negative.length > 0) {
    return negative.map((field) => ({
      pointer: `/payment/${field}`,
      code: 'E-008',
      rule: 'RECEIPT_SUM_NEGATIVE',
      detail: 'A paid sum must not be negative.',
      facts: { given: body[field], allowed: '≥ 0' },
    }));
  }
  const paid = BigInt(body.cash ?? 0) + BigInt(body.card ?? 0);
  if (!isTotalKnown || paid === BigInt(totalTiyin)) return [];
  const detail = `cash + card is ${paid} tiyin, the receipt total is ${totalTiyin} tiyin.`;
  const facts = { given: String(paid), allowed: String(totalTiyin) };
  return [{ pointer: '/payment', code: 'payment_mismatch', detail, facts }];
}
