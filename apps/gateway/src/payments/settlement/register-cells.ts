import { MAX_TIYIN } from '#fiscal-domain';

/** Spaces of any kind between thousands, and the apostrophe of some locales. */
const GROUPS = /[\s\u00a0\u202f']/gu;
const CURRENCY = /(?:uzs|сум|so[‘'`ʻ]?m|som)\.?$/iu;
const PLAIN = /^([+-]?)(\d{1,15})(?:[.,](\d{1,2}))?$/;
const GROUPED_BY_COMMA = /^[+-]?\d{1,3}(,\d{3})+(\.\d{1,2})?$/;
const GROUPED_BY_POINT = /^[+-]?\d{1,3}(\.\d{3})+(,\d{1,2})?$/;

/**
 * A sum as a spreadsheet has it. A comma or a point before three digits alone may mean thousands or not: such a text is none.
 * @returns tiyin; null: it cannot be read for sure
 */
export function readSum(text: string, unit: 'som' | 'tiyin'): number | null {
  const bare = text.replaceAll(GROUPS, '').replace(CURRENCY, '');
  const match = PLAIN.exec(ungrouped(bare));
  if (!match) return null;
  const [, sign = '', whole = '', part = ''] = match;
  if (unit === 'tiyin' && /[1-9]/.test(part)) return null;
  const tiyin = unit === 'tiyin' ? BigInt(whole) : BigInt(whole) * 100n + BigInt(part.padEnd(2, '0'));
  if (tiyin > BigInt(MAX_TIYIN)) return null;
  return sign === '-' && tiyin !== 0n ? -Number(tiyin) : Number(tiyin);
}

/** Thousands are taken out only where both signs, or more than one group, show which is which. */
function ungrouped(text: string): string {
  if (GROUPED_BY_COMMA.test(text) && isCertain(text, ',', '.')) return text.replaceAll(',', '');
  if (GROUPED_BY_POINT.test(text) && isCertain(text, '.', ',')) return text.replaceAll('.', '').replace(',', '.');
  return text;
}

function isCertain(text: string, group: string, decimal: string): boolean {
  return text.includes(decimal) || text.split(group).length > 2;
}

const MS_PER_DAY = 86_400_000;
/** Tashkent has no summer time. */
const TASHKENT_MS = 5 * 3_600_000;
/** Day 0 of spreadsheets. */
const SPREADSHEET_EPOCH_MS = Date.UTC(1899, 11, 30);
const YEAR_FIRST = /^(\d{4})[-./](\d{2})[-./](\d{2})(?=$|[ T])/i;
const DAY_FIRST = /^(\d{2})[-./](\d{2})[-./](\d{4})(?=$|[ T,])/i;
/** Behind the day: a time that says in which zone it is, as RFC 3339 writes it and as databases do. */
const TIME_IN_ZONE = /^[T, ]+(\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)? ?(?:Z|UTC|GMT|([+-]\d{2}):?(\d{2})?)$/i;

/** @returns the day in Tashkent, YYYY-MM-DD; null: it cannot be read */
export function readDay(text: string): string | null {
  const bare = text.trim();
  const written = YEAR_FIRST.exec(bare) ?? swapped(DAY_FIRST.exec(bare));
  if (written) {
    const [{ length }, ...parts] = written;
    const day = realDay(parts.join('-'));
    const inZone = TIME_IN_ZONE.exec(bare.slice(length));
    return day === null || inZone === null ? day : dayThere(day, inZone);
  }
  if (/^\d{13}$/.test(bare)) return dayOf(Number(bare) + TASHKENT_MS);
  // A date cell of a workbook: days since 1900, the time behind the point.
  if (/^\d{5}(\.\d+)?$/.test(bare)) return dayOf(SPREADSHEET_EPOCH_MS + Math.floor(Number(bare)) * MS_PER_DAY);
  return null;
}

function swapped(match: RegExpExecArray | null): [string, ...string[]] | null {
  if (!match) return null;
  const [all, day = '', month = '', year = ''] = match;
  return [all, year, month, day];
}

/** Which day it was in Tashkent at this time of another zone. */
function dayThere(day: string, [, time = '', hours = '+00', minutes = '00']: RegExpExecArray): string | null {
  return dayOf(Date.parse(`${day}T${time}${hours}:${minutes}`) + TASHKENT_MS);
}

/** No register is of another time: what a cell says beyond it is no day, and not every database can hold it. */
const FIRST_MS = Date.UTC(2000, 0, 1);
const END_MS = Date.UTC(2200, 0, 1);

function dayOf(ms: number): string | null {
  return ms >= FIRST_MS && ms < END_MS ? new Date(ms).toISOString().slice(0, 10) : null;
}

/** The 31st of February is none. */
export function realDay(text: string): string | null {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return dayOf(ms) === text ? text : null;
}
