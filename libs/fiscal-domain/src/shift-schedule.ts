/** When a shift is closed: a time of day in Tashkent, which has no daylight saving time. */

const DAY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60 * 1000;
const TASHKENT_OFFSET_MS = 5 * 60 * MINUTE_MS;

/** Minutes after midnight of `HH:MM`, 00:00 to 23:59; null for any other text. */
export function parseTimeOfDay(text: string): number | null {
  const match = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(text);
  return match ? Number(match[1]) * 60 + Number(match[2]) : null;
}

/**
 * The first moment after `afterMs` at which the clocks of Tashkent show this time of day. A shift that was opened after
 * today's closing time is closed tomorrow; one that was opened days ago was due long ago.
 *
 * @param minutesOfDay 0 (midnight) to 1439
 */
export function nextTimeOfDay(afterMs: number, minutesOfDay: number): number {
  const local = afterMs + TASHKENT_OFFSET_MS;
  const midnight = local - modulo(local, DAY_MS);
  const today = midnight + minutesOfDay * MINUTE_MS;
  return (today > local ? today : today + DAY_MS) - TASHKENT_OFFSET_MS;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
