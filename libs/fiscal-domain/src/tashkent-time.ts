/** Tashkent is UTC+5 all year round (no daylight saving time since 1992). */
const OFFSET_MS = 5 * 60 * 60 * 1000;

interface WallTime {
  /** YYYY, MM, DD. */
  date: [string, string, string];
  /** HH, mm, ss. */
  time: [string, string, string];
}

function wallTime(epochMs: number): WallTime {
  const shifted = new Date(epochMs + OFFSET_MS);
  const year = shifted.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) throw new RangeError(`Not a time with a four-digit year: ${epochMs}`);
  const two = (n: number): string => String(n).padStart(2, '0');
  return {
    date: [String(year).padStart(4, '0'), two(shifted.getUTCMonth() + 1), two(shifted.getUTCDate())],
    time: [two(shifted.getUTCHours()), two(shifted.getUTCMinutes()), two(shifted.getUTCSeconds())],
  };
}

/** `yyyymmddhhmmss`, the `c` of a verification link. @throws RangeError beyond years 0–9999. */
export function tashkentCompact(epochMs: number): string {
  const { date, time } = wallTime(epochMs);
  return date.join('') + time.join('');
}

/** `YYYY-MM-DD HH:MM:SS`, as in a Z-report's header. @throws RangeError beyond years 0–9999. */
export function tashkentDateTime(epochMs: number): string {
  const { date, time } = wallTime(epochMs);
  return `${date.join('-')} ${time.join(':')}`;
}

/** `DD.MM.YYYY HH:MM:SS`, as people here write it. @throws RangeError beyond years 0–9999. */
export function tashkentDayFirst(epochMs: number): string {
  const { date, time } = wallTime(epochMs);
  return `${[...date].reverse().join('.')} ${time.join(':')}`;
}

/** `YYYYMMDDTHHmmss`, as in refundInfo and in a closed Z-report. @throws RangeError beyond years 0–9999. */
export function tashkentIsoBasic(epochMs: number): string {
  const { date, time } = wallTime(epochMs);
  return `${date.join('')}T${time.join('')}`;
}

/** Reads `yyyymmddhhmmss`; null for another shape and for a moment that does not exist (30 February, 25 o'clock). */
export function parseTashkentCompact(text: string): number | null {
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/.exec(text);
  if (!match) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const date = new Date(0);
  // Not Date.UTC: it takes the years 0–99 for 1900–1999.
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, 0);
  const epochMs = date.getTime() - OFFSET_MS;
  return new Date(epochMs + OFFSET_MS).getUTCFullYear() === year && tashkentCompact(epochMs) === text ? epochMs : null;
}

/** Reads the times of Z-reports, `YYYY-MM-DD HH:MM:SS` and `YYYYMMDDTHHmmss`; null as {@link parseTashkentCompact}. */
export function parseTashkentTime(text: string): number | null {
  const isKnown = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}$/.test(text) || /^\d{8}T?\d{6}$/.test(text);
  return isKnown ? parseTashkentCompact(text.replace(/\D/g, '')) : null;
}

/**
 * `yyyymmddhhmmss` of a sale's link → `YYYYMMDDTHHmmss` of refundInfo, digit by digit: a recomputed time that is off by a second
 * leaves the refund unlinked at the tax office. null for another shape.
 */
export function compactToIsoBasic(compact: string): string | null {
  return /^\d{14}$/.test(compact) ? `${compact.slice(0, 8)}T${compact.slice(8)}` : null;
}
