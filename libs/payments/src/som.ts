import { tiyin, type Tiyin } from '#fiscal-domain';

export type SomReading = { kind: 'ok'; tiyin: Tiyin } | { kind: 'unreadable' };

const DECIMAL = /^(\d{1,14})(?:\.(\d{1,8}))?$/;

/** From here on a double is further from the next one than 0.01: which sum was written is not known any more. */
const COARSE_FROM = 2 ** 46;

/**
 * Som as a provider writes it ("1000", "1000.5", "1000.00", or a JSON number) in tiyin, exactly: read as decimal text,
 * never through a float. What is not a whole number of tiyin is unreadable.
 */
export function somToTiyin(som: string | number): SomReading {
  if (typeof som === 'number' && som >= COARSE_FROM && !Number.isInteger(som)) return { kind: 'unreadable' };
  const match = DECIMAL.exec(String(som));
  if (!match) return { kind: 'unreadable' };
  const [, whole = '0', fraction = ''] = match;
  const hundredths = fraction.padEnd(2, '0');
  if (/[^0]/.test(hundredths.slice(2))) return { kind: 'unreadable' };
  const value = BigInt(whole) * 100n + BigInt(hundredths.slice(0, 2));
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) return { kind: 'unreadable' };
  return { kind: 'ok', tiyin: tiyin(Number(value)) };
}

/** Som with two decimals: 150050 → "1500.50". */
export function tiyinToSom(amountTiyin: number): string {
  const whole = Math.trunc(amountTiyin / 100);
  return `${whole}.${String(amountTiyin % 100).padStart(2, '0')}`;
}

/** Som as a JSON number: the nearest double prints as the same decimals up to 2^46 som. */
export function tiyinToSomNumber(amountTiyin: number): number {
  return Number(tiyinToSom(amountTiyin));
}
