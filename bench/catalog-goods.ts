const KINDS = ['Хлеб', 'Молоко', 'Сыр', 'Масло', 'Чай', 'Рис', 'Сахар', 'Мука', 'Шоколад', 'Кефир'];
const MARKS = ['деревенский', 'белый', 'столичный', 'домашний', 'утренний', 'золотой', 'особый', 'летний'];
const SPIC = '01905001001000001';

export function kindOf(number: number): string {
  return KINDS[number % KINDS.length] ?? '';
}

/** Names share their words, as goods do, and have one of their own: 50 000 distinct words. */
export function nameOf(number: number): string {
  const mark = MARKS[Math.floor(number / KINDS.length) % MARKS.length] ?? '';
  return `${kindOf(number)} ${mark} сорт${number % 50_000} ${number} г`;
}

export function skuOf(number: number): string {
  return `p${number}`;
}

export function productOf(number: number): Record<string, unknown> {
  const barcodes = [String(4_780_000_000_000 + number)];
  return {
    ...{ sku: skuOf(number), name: nameOf(number), barcodes },
    ...{ spic: SPIC, package_code: '1500001', vat_percent: 12 },
  };
}
