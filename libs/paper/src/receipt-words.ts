/** The printed receipt's words. */
export const RECEIPT_LANGUAGES = ['ru', 'uz', 'en'] as const;
export type ReceiptLanguage = (typeof RECEIPT_LANGUAGES)[number];

export interface ReceiptWords {
  readonly types: Readonly<Record<string, string>>;
  readonly tin: string;
  readonly address: string;
  readonly receipt: string;
  readonly shift: string;
  readonly time: string;
  readonly discount: string;
  readonly afterDiscount: string;
  readonly vat: string;
  readonly spic: string;
  readonly marking: string;
  /** How many codes of a line are not on the paper. */
  readonly markingNotPrinted: string;
  readonly barcode: string;
  readonly total: string;
  readonly totalVat: string;
  readonly cash: string;
  readonly card: string;
  readonly wallet: string;
  readonly principalTin: string;
  readonly principalPinfl: string;
  readonly buyerTin: string;
  readonly buyerPinfl: string;
  readonly terminal: string;
  readonly sign: string;
  readonly refundOf: string;
  readonly notFiscal: string;
}

export const RECEIPT_WORDS: Readonly<Record<ReceiptLanguage, ReceiptWords>> = {
  ru: {
    types: { sale: 'Продажа', refund: 'Возврат', advance: 'Аванс', credit: 'Кредит' },
    tin: 'ИНН',
    address: 'Адрес',
    receipt: 'Чек №',
    shift: 'Смена №',
    time: 'Дата и время',
    discount: 'Скидка',
    afterDiscount: 'С учётом скидки',
    vat: 'в т. ч. НДС',
    spic: 'ИКПУ',
    marking: 'Маркировка',
    markingNotPrinted: 'Не напечатано кодов маркировки',
    barcode: 'Штрих-код',
    total: 'ИТОГО',
    totalVat: 'В том числе НДС',
    cash: 'Наличные',
    card: 'Банковская карта',
    wallet: 'Кошелёк',
    principalTin: 'ИНН комитента',
    principalPinfl: 'ПИНФЛ комитента',
    buyerTin: 'ИНН покупателя',
    buyerPinfl: 'ПИНФЛ покупателя',
    terminal: 'Терминал (ФМ)',
    sign: 'Фискальный признак',
    refundOf: 'Возврат по чеку №',
    notFiscal: 'НЕ ФИСКАЛЬНЫЙ ЧЕК · NOT FISCAL',
  },
  uz: {
    types: { sale: 'Savdo', refund: 'Qaytarish', advance: 'Bo‘nak', credit: 'Kredit' },
    tin: 'STIR',
    address: 'Manzil',
    receipt: 'Chek №',
    shift: 'Smena №',
    time: 'Sana va vaqt',
    discount: 'Chegirma',
    afterDiscount: 'Chegirma bilan',
    vat: 'shu jumladan QQS',
    spic: 'MXIK',
    marking: 'Markirovka',
    markingNotPrinted: 'Chop etilmagan markirovka kodlari',
    barcode: 'Shtrix-kod',
    total: 'JAMI',
    totalVat: 'Shu jumladan QQS',
    cash: 'Naqd pul',
    card: 'Bank kartasi',
    wallet: 'Hamyon',
    principalTin: 'Komitent STIRi',
    principalPinfl: 'Komitent JSHSHIRi',
    buyerTin: 'Xaridor STIRi',
    buyerPinfl: 'Xaridor JSHSHIRi',
    terminal: 'Terminal (FM)',
    sign: 'Fiskal belgi',
    refundOf: 'Qaytarilgan chek №',
    notFiscal: 'FISKAL CHEK EMAS · NOT FISCAL',
  },
  en: {
    types: { sale: 'Sale', refund: 'Refund', advance: 'Advance', credit: 'Credit' },
    tin: 'TIN',
    address: 'Address',
    receipt: 'Receipt No.',
    shift: 'Shift No.',
    time: 'Date and time',
    discount: 'Discount',
    afterDiscount: 'After discount',
    vat: 'incl. VAT',
    spic: 'SPIC',
    marking: 'Marking',
    markingNotPrinted: 'Marking codes not printed',
    barcode: 'Barcode',
    total: 'TOTAL',
    totalVat: 'Including VAT',
    cash: 'Cash',
    card: 'Card',
    wallet: 'Wallet',
    principalTin: 'Principal’s TIN',
    principalPinfl: 'Principal’s PINFL',
    buyerTin: 'Buyer’s TIN',
    buyerPinfl: 'Buyer’s PINFL',
    terminal: 'Terminal (FM)',
    sign: 'Fiscal sign',
    refundOf: 'Refund of receipt No.',
    notFiscal: 'NOT FISCAL',
  },
};
