/** 15 to 19 digits, grouped or not, whose check digit is right. */
export function looksLikeCard(text: string): boolean {
  return candidatesIn(text).some(hasLuhn);
}

/**
 * The same as card networks number: Uzcard, Humo, Visa, Mastercard, Mir and UnionPay with 16 digits, American Express with 15. For
 * texts in which an order's own number may stand.
 */
export function holdsCardNumber(text: string): boolean {
  return candidatesIn(text).some((digits) => ISSUED.test(digits) && hasLuhn(digits));
}

const ISSUED = /^(?:(?:8600|5614|9860|4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|62\d{2})\d{12}|3[47]\d{13})$/;
const SHORTEST = 15;

function candidatesIn(text: string): string[] {
  if (text.length < SHORTEST) return [];
  const found = text.match(/(?<![0-9A-Za-z])\d(?:[ -]?\d){14,18}(?![0-9A-Za-z])/g) ?? [];
  return found.map((candidate) => candidate.replace(/\D/g, ''));
}

function hasLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
