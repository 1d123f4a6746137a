/** The zone of the receipts and of the law: every merchant of this gateway sells by it. Uzbekistan has no summer time. */
export const ZONE = 'Asia/Tashkent';
export const ZONE_LABEL = 'UTC+5';

const parts = new Intl.DateTimeFormat('en-GB', {
  timeZone: ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

function partsOf(at: Date): Record<string, string> {
  return Object.fromEntries(parts.formatToParts(at).map(({ type, value }) => [type, value]));
}

/** `22.11.2026 18:05:09` of Tashkent, as on a receipt. */
export function formatTime(at: string | Date): string {
  const { day, month, year, hour, minute, second } = partsOf(new Date(at));
  return `${day}.${month}.${year} ${hour}:${minute}:${second}`;
}

/** `22.11.2026`. */
export function formatDay(at: string | Date): string {
  return formatTime(at).slice(0, 10);
}

/** `2026-11-22` of Tashkent, as the reports take it. */
export function tashkentDay(at: Date): string {
  const { day, month, year } = partsOf(at);
  return `${year}-${month}-${day}`;
}

/** Midnight of Tashkent so many days ago, as the filters take it. */
export function startOfDay(daysAgo: number): string {
  return new Date(`${tashkentDay(new Date(Date.now() - daysAgo * 86_400_000))}T00:00:00+05:00`).toISOString();
}

/** What `<input type="datetime-local">` holds, read as time of Tashkent. */
export function inputToInstant(text: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text)) return undefined;
  const at = new Date(`${text.length === 16 ? `${text}:00` : text}+05:00`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The other way round. */
export function instantToInput(instant: string | undefined): string {
  if (instant === undefined || Number.isNaN(new Date(instant).getTime())) return '';
  const { day, month, year, hour, minute } = partsOf(new Date(instant));
  return `${year}-${month}-${day}T${hour}:${minute}`;
}
