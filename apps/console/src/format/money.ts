/** Sums are whole tiyin everywhere; only these functions know that 100 of them are a so‘m. */
const GROUP = '\u202f';

/** `1 234 567,00`; the sign is a real minus. */
export function formatTiyin(tiyin: number, language: string): string {
  const digits = String(Math.abs(tiyin)).padStart(3, '0');
  const whole = groupDigits(digits.slice(0, -2));
  return `${tiyin < 0 ? '−' : ''}${whole}${markOf(language)}${digits.slice(-2)}`;
}

/** A number or a decimal text, as answers have it: `1,5`. */
export function formatQuantity(quantity: number | string, language: string): string {
  return String(quantity).replace('.', markOf(language));
}

/** `1 234 567`. */
export function formatCount(count: number): string {
  return `${count < 0 ? '−' : ''}${groupDigits(String(Math.abs(Math.trunc(count))))}`;
}

/** What a person typed as so‘m; null when it is no sum. No floating point on the way. */
export function parseSom(text: string): number | null {
  const match = /^(\d{1,13})(?:[.,](\d{1,2}))?$/.exec(text.replace(/[\s\u00a0\u202f]/g, ''));
  if (!match) return null;
  return Number(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`);
}

/** As `parseSom` reads it, for an input field, with the decimal mark that a person of the language types. */
export function tiyinToInput(tiyin: number, language: string): string {
  const digits = String(tiyin).padStart(3, '0');
  const cents = digits.slice(-2);
  return cents === '00' ? digits.slice(0, -2) : `${digits.slice(0, -2)}${markOf(language)}${cents}`;
}

/** Of CLDR: a comma in Russian and in Uzbek, in either script. The register's screen has the same. */
function markOf(language: string): string {
  return language === 'en' ? '.' : ',';
}

function groupDigits(digits: string): string {
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return groups.join(GROUP);
}
