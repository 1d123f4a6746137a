import type { ReceiptLanguage } from './receipt-words.js';

/** Short names in the order of the columns below. */
type Names = readonly [ru: string, uz: string, en: string];

const LANGUAGES: readonly ReceiptLanguage[] = ['ru', 'uz', 'en'];

/**
 * Units of measure by their code in the classifier OKEI, as far as goods and services are sold by them. Russian as the classifier
 * abbreviates it.
 */
const UNITS: Readonly<Record<number, Names>> = {
  3: ['мм', 'mm', 'mm'],
  4: ['см', 'sm', 'cm'],
  5: ['дм', 'dm', 'dm'],
  6: ['м', 'm', 'm'],
  8: ['км', 'km', 'km'],
  18: ['пог. м', 'pog. m', 'lin. m'],
  51: ['см²', 'sm²', 'cm²'],
  55: ['м²', 'm²', 'm²'],
  59: ['га', 'ga', 'ha'],
  111: ['мл', 'ml', 'ml'],
  112: ['л', 'l', 'l'],
  113: ['м³', 'm³', 'm³'],
  122: ['гл', 'gl', 'hl'],
  162: ['кар', 'karat', 'ct'],
  163: ['г', 'g', 'g'],
  166: ['кг', 'kg', 'kg'],
  168: ['т', 't', 't'],
  206: ['ц', 's', 'q'],
  233: ['Гкал', 'Gkal', 'Gcal'],
  245: ['кВт·ч', 'kVt·soat', 'kWh'],
  256: ['кбайт', 'KB', 'KB'],
  257: ['Мбайт', 'MB', 'MB'],
  354: ['с', 'soniya', 's'],
  355: ['мин', 'daqiqa', 'min'],
  356: ['ч', 'soat', 'h'],
  359: ['сут', 'kun', 'd'],
  360: ['нед', 'hafta', 'wk'],
  362: ['мес', 'oy', 'mo'],
  366: ['год', 'yil', 'yr'],
  539: ['чел·ч', 'kishi-soat', 'man-h'],
  616: ['боб', 'g‘altak', 'reel'],
  625: ['л.', 'varaq', 'sheet'],
  641: ['дюжина', 'o‘n ikkitalik', 'doz'],
  642: ['ед', 'birlik', 'unit'],
  657: ['изд', 'buyum', 'item'],
  704: ['набор', 'to‘plam', 'set'],
  715: ['пар', 'juft', 'pair'],
  728: ['пач', 'pachka', 'packet'],
  736: ['рул', 'rulon', 'roll'],
  778: ['упак', 'qadoq', 'pack'],
  792: ['чел', 'kishi', 'person'],
  796: ['шт', 'dona', 'pc'],
  797: ['100 шт', '100 dona', '100 pcs'],
  798: ['1000 шт', '1000 dona', '1000 pcs'],
  812: ['ящ', 'yashik', 'crate'],
  836: ['гол', 'bosh', 'head'],
  839: ['компл', 'komplekt', 'kit'],
  868: ['бут', 'shisha', 'bottle'],
  870: ['ампул', 'ampula', 'ampoule'],
  872: ['флак', 'flakon', 'vial'],
  876: ['усл. ед', 'shartli birlik', 'conv. unit'],
  2553: ['Гбайт', 'GB', 'GB'],
};

/** Null: a code that the classifier does not have, such as the register of goods' own. */
export function unitName(code: number, language: ReceiptLanguage): string | null {
  return UNITS[code]?.[LANGUAGES.indexOf(language)] ?? null;
}
