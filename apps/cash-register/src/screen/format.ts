import { tashkentDayFirst } from '#fiscal-domain';
import { sumText } from '#paper';
import type { Say } from './words.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Tiyin as so'm; a net sum may be negative. */
export function money(say: Say, sumTiyin: number): string {
  return say('sum', { sum: plainMoney(say, sumTiyin) });
}

/** Where the column says what money it is. The decimal mark is that of the language (CLDR: a comma in Russian and in Uzbek); a receipt has its own. */
export function plainMoney(say: Say, sumTiyin: number): string {
  const text = sumText(Math.abs(sumTiyin)).replace('.', say('decimal_mark'));
  return sumTiyin < 0 ? `−${text}` : text;
}

/** The two largest units that are not zero, rounded up to seconds below a minute. */
export function duration(say: Say, lengthMs: number): string {
  if (lengthMs < MINUTE_MS) return say('seconds', { n: String(Math.max(0, Math.ceil(lengthMs / 1000))) });
  const units = [
    ['days', Math.floor(lengthMs / DAY_MS)],
    ['hours', Math.floor((lengthMs % DAY_MS) / HOUR_MS)],
    ['minutes', Math.floor((lengthMs % HOUR_MS) / MINUTE_MS)],
  ] as const;
  const shown = units.filter(([, count]) => count > 0).slice(0, 2);
  return shown.map(([unit, count]) => say(unit, { n: String(count) })).join(' ');
}

/** How long something has been waiting, in whole minutes: it need not be shown anew every second. */
export function age(say: Say, lengthMs: number): string {
  return lengthMs < MINUTE_MS ? say('minutes', { n: '0' }) : duration(say, lengthMs);
}

/** Tashkent time without seconds, as people here write it. */
export function moment(epochMs: number): string {
  return tashkentDayFirst(epochMs).slice(0, 16);
}
