import type { LocalRuleCode } from '#fiscal-domain';
import type { Language } from './language.js';
import type { ProblemCode } from './problem-codes.js';

type Texts = Readonly<Record<Exclude<Language, 'en'>, string>>;

/** The rules of the register, for whoever stands at the till. Our own English sentences say more than a table can. */
const RULE_TEXTS: Readonly<Record<LocalRuleCode, Texts>> = {
  'E-003': {
    ru: 'Этот товар нельзя продавать за наличные.',
    uz: 'Bu tovarni naqd pulga sotish mumkin emas.',
  },
  'E-004': {
    ru: 'Для маркированного товара нужен код маркировки.',
    uz: 'Markirovkalangan tovar uchun markirovka kodi kerak.',
  },
  'E-005': { ru: 'Неизвестный тип чека.', uz: 'Chek turi noma’lum.' },
  'E-006': { ru: 'В чеке нет ни одной позиции.', uz: 'Chekda birorta ham pozitsiya yo‘q.' },
  'E-007': {
    ru: 'В возврате нужно указать исходный чек.',
    uz: 'Qaytarishda dastlabki chek ko‘rsatilishi kerak.',
  },
  'E-008': { ru: 'Сумма оплаты не может быть отрицательной.', uz: 'To‘lov summasi manfiy bo‘lishi mumkin emas.' },
  'E-009': { ru: 'Оплачено больше суммы чека.', uz: 'To‘langan summa chek summasidan ortiq.' },
  'E-010': {
    ru: 'Сумма НДС чека не равна сумме НДС позиций.',
    uz: 'Chekning QQS summasi pozitsiyalar QQS summasiga teng emas.',
  },
  'E-011': { ru: 'Название товара не должно быть пустым.', uz: 'Tovar nomi bo‘sh bo‘lmasligi kerak.' },
  'E-012': { ru: 'Цена должна быть больше нуля.', uz: 'Narx noldan katta bo‘lishi kerak.' },
  'E-013': {
    ru: 'Кода ИКПУ нет в классификаторе или он больше не действует.',
    uz: 'MXIK kodi klassifikatorda yo‘q yoki endi amal qilmaydi.',
  },
  'E-014': {
    ru: 'Код упаковки не относится к этому ИКПУ.',
    uz: 'O‘lchov birligi (qadoq) kodi bu MXIKga tegishli emas.',
  },
  'E-015': { ru: 'Ставка НДС должна быть 0 или 12 %.', uz: 'QQS stavkasi 0 yoki 12 % bo‘lishi kerak.' },
  'E-016': { ru: 'Сумма НДС позиции рассчитана неверно.', uz: 'Pozitsiyaning QQS summasi noto‘g‘ri hisoblangan.' },
  'E-017': {
    ru: 'Число кодов маркировки должно быть равно числу единиц товара.',
    uz: 'Markirovka kodlari soni tovar donalari soniga teng bo‘lishi kerak.',
  },
  'E-018': {
    ru: 'Маркированный товар продаётся только целыми единицами.',
    uz: 'Markirovkalangan tovar faqat butun donalab sotiladi.',
  },
};

/** What the gateway itself finds wrong with a sale. */
const SALE_TEXTS = {
  goods_unknown: {
    ru: 'Товара нет в каталоге. Укажите ИКПУ, код упаковки, единицу и ставку НДС или добавьте товар.',
    uz: 'Tovar katalogda yo‘q. MXIK, qadoq kodi, o‘lchov birligi va QQS stavkasini ko‘rsating yoki tovarni qo‘shing.',
  },
  goods_ambiguous: {
    ru: 'Подходят несколько товаров каталога. Укажите артикул (sku).',
    uz: 'Katalogdagi bir nechta tovar mos keladi. Artikulni (sku) ko‘rsating.',
  },
  line_total_negative: { ru: 'Скидка больше суммы позиции.', uz: 'Chegirma pozitsiya summasidan katta.' },
  total_too_large: { ru: 'Сумма слишком велика.', uz: 'Summa juda katta.' },
  payment_mismatch: { ru: 'Оплата не равна сумме чека.', uz: 'To‘lov chek summasiga teng emas.' },
  payment_method_unsupported: {
    ru: 'Этот способ оплаты не поддерживается.',
    uz: 'Bu to‘lov usuli qo‘llab-quvvatlanmaydi.',
  },
  cashier_unknown: { ru: 'Такого кассира нет.', uz: 'Bunday kassir yo‘q.' },
  branch_unknown: { ru: 'Такого филиала нет.', uz: 'Bunday filial yo‘q.' },
  device_unknown: { ru: 'Такой кассы нет.', uz: 'Bunday kassa yo‘q.' },
} as const satisfies Partial<Record<ProblemCode, Texts>>;

const TEXTS: Readonly<Record<string, Texts | undefined>> = { ...RULE_TEXTS, ...SALE_TEXTS };

/** What is wrong, in the caller's language; null: only English has words for it. */
export function textOfProblem(code: string, language: Language): string | null {
  if (language === 'en' || !Object.hasOwn(TEXTS, code)) return null;
  return TEXTS[code]?.[language] ?? null;
}
