import type { LocalRuleCode } from '#fiscal-domain';
import type { Language } from './languages.js';
import type { ProblemCode } from './problem-codes.js';

/** The figures of a fault, worded in each language; never answered by themselves. */
export interface ProblemFacts {
  /** Line of the receipt, from 1; left out for the receipt as a whole. */
  line?: number;
  /** What the caller gave; null or left out is "nothing". */
  given: unknown;
  /** What would have been right, as figures and codes alone; null where no list or bound says it. */
  allowed: string | null;
  /** Which of the code's sentences; left out for the usual one. */
  reason?: string | null;
}

/** Each sentence without its full stop: the figures follow it. */
type Texts = Readonly<Record<Exclude<Language, 'en'>, string>>;
type RuleTexts = Readonly<Record<Language, string>>;

/** The rules of the register, for the cashier, in the words of the cloud API. */
const RULE_TEXTS: Readonly<Record<LocalRuleCode | 'E-013 inactive', RuleTexts>> = {
  'E-003': {
    en: 'These goods must not be sold for cash',
    ru: 'Этот товар нельзя продавать за наличные',
    uz: 'Bu tovarni naqd pulga sotish mumkin emas',
  },
  'E-004': {
    en: 'Marked goods need a marking code',
    ru: 'Для маркированного товара нужен код маркировки',
    uz: 'Markirovkalangan tovar uchun markirovka kodi kerak',
  },
  'E-005': { en: 'There is no such type of receipt', ru: 'Неизвестный тип чека', uz: 'Chek turi noma’lum' },
  'E-006': {
    en: 'The receipt has no line',
    ru: 'В чеке нет ни одной позиции',
    uz: 'Chekda birorta ham pozitsiya yo‘q',
  },
  'E-007': {
    en: 'A refund has to name the receipt of the sale',
    ru: 'В возврате нужно указать исходный чек',
    uz: 'Qaytarishda dastlabki chek ko‘rsatilishi kerak',
  },
  'E-008': {
    en: 'A paid sum must not be negative',
    ru: 'Сумма оплаты не может быть отрицательной',
    uz: 'To‘lov summasi manfiy bo‘lishi mumkin emas',
  },
  'E-009': {
    en: 'More was paid than the receipt is worth',
    ru: 'Оплачено больше суммы чека',
    uz: 'To‘langan summa chek summasidan ortiq',
  },
  'E-010': {
    en: 'The VAT of the receipt is not the sum of its lines',
    ru: 'Сумма НДС чека не равна сумме НДС позиций',
    uz: 'Chekning QQS summasi pozitsiyalar QQS summasiga teng emas',
  },
  'E-011': {
    en: 'The name must not be empty',
    ru: 'Название товара не должно быть пустым',
    uz: 'Tovar nomi bo‘sh bo‘lmasligi kerak',
  },
  'E-012': {
    en: 'The price must be a whole number of tiyin above 0',
    ru: 'Цена должна быть целым числом тийинов больше нуля',
    uz: 'Narx noldan katta butun tiyin bo‘lishi kerak',
  },
  'E-013': {
    en: 'The SPIC is not in the national classification register',
    ru: 'Кода ИКПУ нет в классификаторе',
    uz: 'MXIK kodi klassifikatorda yo‘q',
  },
  'E-013 inactive': {
    en: 'The SPIC is no longer in force in the classification register',
    ru: 'Код ИКПУ больше не действует',
    uz: 'MXIK kodi endi amal qilmaydi',
  },
  'E-014': {
    en: 'The package code does not belong to the SPIC',
    ru: 'Код упаковки не относится к этому ИКПУ',
    uz: 'O‘lchov birligi (qadoq) kodi bu MXIKga tegishli emas',
  },
  'E-015': {
    en: 'There is no such rate of VAT',
    ru: 'Такой ставки НДС нет',
    uz: 'Bunday QQS stavkasi yo‘q',
  },
  'E-016': {
    en: 'The VAT of the line is not computed rightly',
    ru: 'Сумма НДС позиции рассчитана неверно',
    uz: 'Pozitsiyaning QQS summasi noto‘g‘ri hisoblangan',
  },
  'E-017': {
    en: 'There must be one marking code for each piece',
    ru: 'Число кодов маркировки должно быть равно числу единиц товара',
    uz: 'Markirovka kodlari soni tovar donalari soniga teng bo‘lishi kerak',
  },
  'E-018': {
    en: 'Marked goods are sold by whole pieces',
    ru: 'Маркированный товар продаётся только целыми единицами',
    uz: 'Markirovkalangan tovar faqat butun donalab sotiladi',
  },
};

/** What the gateway itself finds wrong with a sale; in English each place says it in words of its own. */
const SALE_TEXTS = {
  goods_unknown: {
    ru: 'Товара нет в каталоге. Укажите ИКПУ, код упаковки, единицу и ставку НДС или добавьте товар',
    uz: 'Tovar katalogda yo‘q. MXIK, qadoq kodi, o‘lchov birligi va QQS stavkasini ko‘rsating yoki tovarni qo‘shing',
  },
  goods_ambiguous: {
    ru: 'Подходят несколько товаров каталога. Укажите артикул (sku)',
    uz: 'Katalogdagi bir nechta tovar mos keladi. Artikulni (sku) ko‘rsating',
  },
  line_total_negative: { ru: 'Скидка больше суммы позиции', uz: 'Chegirma pozitsiya summasidan katta' },
  total_too_large: { ru: 'Сумма слишком велика', uz: 'Summa juda katta' },
  payment_mismatch: { ru: 'Оплата не равна сумме чека', uz: 'To‘lov chek summasiga teng emas' },
  payment_method_unsupported: {
    ru: 'Этот способ оплаты не поддерживается',
    uz: 'Bu to‘lov usuli qo‘llab-quvvatlanmaydi',
  },
  callback_secret_missing: {
    ru: 'Секрет подписи обратных вызовов ещё никому не показан. Получите его: POST /v1/webhooks/callbacks/rotate-secret',
    uz: 'Qayta chaqiruvlar imzosining siri hali hech kimga ko‘rsatilmagan. Uni oling: POST /v1/webhooks/callbacks/rotate-secret',
  },
  field_unsupported: {
    ru: 'Касса не передаёт это в фискальный документ, а чек без этого не принимается (настройка unsupported_fields)',
    uz: 'Kassa buni fiskal hujjatga kiritmaydi, busiz esa chek qabul qilinmaydi (unsupported_fields sozlamasi)',
  },
  cashier_unknown: { ru: 'Такого кассира нет', uz: 'Bunday kassir yo‘q' },
  branch_unknown: { ru: 'Такого филиала нет', uz: 'Bunday filial yo‘q' },
  device_unknown: { ru: 'Такой кассы нет', uz: 'Bunday kassa yo‘q' },
} as const satisfies Partial<Record<ProblemCode, Texts>>;

const TEXTS: Readonly<Record<string, Partial<RuleTexts> | undefined>> = { ...RULE_TEXTS, ...SALE_TEXTS };

const WORDS: Readonly<Record<Language, { line: string; given: string; allowed: string; nothing: string }>> = {
  en: { line: 'Line', given: 'given', allowed: 'allowed', nothing: 'nothing' },
  ru: { line: 'Позиция', given: 'указано', allowed: 'допустимо', nothing: 'ничего' },
  uz: { line: 'Pozitsiya', given: 'berilgan', allowed: 'mumkin', nothing: 'hech narsa' },
};

/** Of what was given: enough to recognise it. */
const SHOWN_LENGTH = 80;

/**
 * What is wrong, in the caller's language, with the figures where the fault brings them.
 * @returns null: only the fault's own English detail has words for it
 */
export function textOfProblem(code: string, language: Language, facts?: ProblemFacts): string | null {
  const sentence = sentenceOf(code, language, facts?.reason ?? null);
  if (sentence === null) return null;
  // Without figures the place that found the fault says more in English than a table can.
  if (facts === undefined) return language === 'en' ? null : `${sentence}.`;
  const words = WORDS[language];
  const line = facts.line === undefined ? '' : `${words.line} ${facts.line}: `;
  const given = `${words.given}: ${shown(facts.given, words.nothing)}`;
  const allowed = facts.allowed === null ? '' : `; ${words.allowed}: ${facts.allowed}`;
  return `${line}${sentence} (${given}${allowed}).`;
}

function sentenceOf(code: string, language: Language, reason: string | null): string | null {
  const key = reason === null ? code : `${code} ${reason}`;
  return Object.hasOwn(TEXTS, key) ? (TEXTS[key]?.[language] ?? null) : null;
}

function shown(value: unknown, nothing: string): string {
  if (value === undefined || value === null) return nothing;
  const text = typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
