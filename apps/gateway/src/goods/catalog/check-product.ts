import { nameKey, normaliseText } from '#fiscal-domain';
import type { ProblemError } from '#problems';
import type { ClassifiedGoods } from './goods-catalog.js';
import { LANGUAGES, type Names, type ProductInput } from './product-input.js';
import type { ProductFacts } from './product-view.js';
import { wordKey, wordsOf } from './words.js';
import { isGiven } from '../../http/given.js';

/** A product that may be written, with everything that is derived from it. Its JSON is what write-products.ts reads. */
export interface CheckedProduct extends ProductFacts {
  name: string;
  name_key: string;
  names: Names;
  aliases: string[];
  barcode: string | null;
  barcodes: string[];
  price_tiyin: number | null;
  words: string[];
  /** Decimal texts: JSON numbers would lose bits. */
  word_keys: string[];
  /** Name keys beside `name_key`, barcodes beside `barcode`. */
  more_keys: { kind: 'name' | 'barcode'; key: string }[];
}

export type ProductCheck =
  | { kind: 'ok'; product: CheckedProduct; warnings: ProblemError[] }
  | { kind: 'rejected'; errors: ProblemError[]; warnings: ProblemError[] };

/**
 * A well-shaped product against the classification register. What a sale of it would be refused for is an error, what
 * deserves a check is a warning. VAT is never changed because of a relief: only the caller knows whether it applies.
 * @param goods the register's entry of its SPIC; undefined = the register has none
 */
export function checkProduct(
  merchantId: string,
  input: ProductInput,
  goods: ClassifiedGoods | undefined,
): ProductCheck {
  const warnings: ProblemError[] = [];
  const refused = (...errors: ProblemError[]): ProductCheck => ({ kind: 'rejected', errors, warnings });
  if (!goods) return refused(fault('spic', 'E-013', 'The code is not in the national classification register.'));
  const packageCode = input.package_code ?? onlyOne(goods.packages);
  const vatPercent = input.vat_percent ?? onlyOne(goods.vatPercents);
  const errors = [...blocking(input, goods)];
  if (packageCode === undefined) errors.push(choice('package_code', goods.packages));
  if (vatPercent === undefined) errors.push(choice('vat_percent', goods.vatPercents));
  warnings.push(...notable(input, goods, vatPercent));
  if (packageCode === undefined || vatPercent === undefined || errors.length > 0) return refused(...errors);
  const completed = { packageCode, vatPercent, units: input.units ?? goods.units };
  return { kind: 'ok', product: complete(merchantId, input, completed), warnings };
}

function* blocking(input: ProductInput, goods: ClassifiedGoods): Generator<ProblemError, void, undefined> {
  if (!goods.active) yield fault('spic', 'E-013', 'The code is no longer in force in the classification register.');
  const { package_code: packageCode } = input;
  if (packageCode !== undefined && packageCode !== null && !goods.packages.includes(packageCode))
    yield fault('package_code', 'E-014', `The code has the packages ${listed(goods.packages)}.`);
  const { commission } = input;
  if (commission?.tin && commission.pinfl)
    yield fault('commission', 'invalid_value', 'A commission names tin or pinfl, not both.');
}

function* notable(
  input: ProductInput,
  goods: ClassifiedGoods,
  vatPercent: number | undefined,
): Generator<ProblemError, void, undefined> {
  if (isGiven(input.marked) && input.marked !== goods.marked) {
    const detail = `The classification register says that these goods are ${goods.marked ? '' : 'not '}marked; that decides.`;
    yield fault('marked', 'differs_from_classifier', detail);
  }
  if (isGiven(input.cash_allowed) && input.cash_allowed !== goods.cashAllowed) {
    const detail = `The classification register ${goods.cashAllowed ? 'allows' : 'forbids'} cash for these goods; that decides.`;
    yield fault('cash_allowed', 'differs_from_classifier', detail);
  }
  if (isGiven(input.units) && input.units !== goods.units)
    yield fault('units', 'differs_from_classifier', `The classification register measures it in ${goods.units}.`);
  if (vatPercent !== undefined && goods.vatPercents.length > 0 && !goods.vatPercents.includes(vatPercent))
    yield fault('vat_percent', 'differs_from_classifier', `Usual for the code: ${listed(goods.vatPercents)}.`);
}

function complete(
  merchantId: string,
  input: ProductInput,
  { packageCode, vatPercent, units }: { packageCode: string; vatPercent: number; units: number },
): CheckedProduct {
  const names = namesOf(input.name);
  const all = LANGUAGES.flatMap((language) => names[language] ?? []);
  const [name = ''] = all;
  const aliases = distinct((input.aliases ?? []).map((alias) => tidy(alias)));
  const barcodes = distinct((input.barcodes ?? []).map((code) => code.trim()));
  const [firstKey = '', ...nameKeys] = distinct([...all, ...aliases].map(nameKey));
  const [barcode = null, ...moreBarcodes] = barcodes;
  const words = wordsOf([...all, ...aliases]);
  return {
    ...{ sku: normaliseText(input.sku), name, name_key: firstKey, names, aliases, barcode, barcodes },
    ...{ spic: input.spic, package_code: packageCode, units, vat_percent: vatPercent },
    price_tiyin: input.price ?? null,
    marked: input.marked ?? null,
    cash_allowed: input.cash_allowed ?? null,
    owner_type: input.owner_type ?? null,
    commission: commissionOf(input),
    attributes: { ...input.attributes },
    words,
    word_keys: words.map((word) => String(wordKey(merchantId, word))),
    more_keys: [
      ...nameKeys.map((key) => ({ kind: 'name' as const, key })),
      ...moreBarcodes.map((key) => ({ kind: 'barcode' as const, key })),
    ],
  };
}

function commissionOf({ commission }: ProductInput): CheckedProduct['commission'] {
  if (commission?.tin) return { tin: commission.tin };
  return commission?.pinfl ? { pinfl: commission.pinfl } : null;
}

/** A single text is Russian: the language of the registers' printed lines. */
function namesOf(name: string | Names): Names {
  if (typeof name === 'string') return { ru: tidy(name) };
  return Object.fromEntries(
    LANGUAGES.flatMap((language) => {
      const text = name[language];
      return typeof text === 'string' ? [[language, tidy(text)]] : [];
    }),
  );
}

function tidy(text: string): string {
  return normaliseText(text).trim();
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values.filter((value) => value !== ''))];
}

function onlyOne<T>(values: readonly T[]): T | undefined {
  return values.length === 1 ? values[0] : undefined;
}

function choice(field: string, values: readonly (string | number)[]): ProblemError {
  return fault(field, 'required', `The classification code leaves a choice of ${field}: ${listed(values)}.`);
}

function listed(values: readonly (string | number)[]): string {
  return values.length === 0 ? 'none' : values.slice(0, 10).join(', ') + (values.length > 10 ? ', …' : '');
}

function fault(field: string, code: string, detail: string): ProblemError {
  return { pointer: `/${field}`, code, detail };
}
