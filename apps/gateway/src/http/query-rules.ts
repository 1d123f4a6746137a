import { Matches, ValidateBy } from 'class-validator';
import { MAX_TIYIN } from '#fiscal-domain';

/** RFC 3339 with an offset; seconds and their fraction may be left out. */
const TIMESTAMP = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
/** What JavaScript writes of moments before and after these PostgreSQL does not read as a time. */
export const [FIRST_MOMENT_MS, LAST_MOMENT_MS] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map(
  Date.parse,
) as [number, number];
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** A moment in a query, e.g. `2026-01-02T03:04:05Z`. In a URL, `+` is written %2B. */
export function IsTimestamp(): PropertyDecorator {
  return rule('isTimestamp', 'must be a time such as 2026-01-02T03:04:05Z', (text) => readTimestamp(text) !== null);
}

/** A day of Tashkent in a query, e.g. `2026-01-02`. */
export function IsDay(): PropertyDecorator {
  return rule('isDay', 'must be a day such as 2026-01-02', (text) => DAY.test(text) && isRealDay(text));
}

/** A sum in tiyin in a query. */
export function IsTiyinText(): PropertyDecorator {
  return rule(
    'isTiyinText',
    `must be a sum in tiyin from 0 to ${MAX_TIYIN}`,
    (text) => /^\d{1,16}$/.test(text) && BigInt(text) <= BigInt(MAX_TIYIN),
  );
}

/** Our ids and the merchant's own codes: nothing that PostgreSQL could not compare. */
export function IsPlainText(maxLength: number): PropertyDecorator {
  return Matches(new RegExp(`^[^\\u0000\\ud800-\\udfff]{1,${maxLength}}$`, 'u'), {
    message: ({ property }) => `${property} must be a text of 1 to ${maxLength} characters`,
  });
}

/** Null for what is no such moment, as 30 February, or one that its offset puts before the year 1 or after 9999. */
export function readTimestamp(text: string): Date | null {
  const match = TIMESTAMP.exec(text);
  if (!match || !isRealDay(text.slice(0, 10))) return null;
  const ms = Date.parse(text);
  return ms >= FIRST_MOMENT_MS && ms <= LAST_MOMENT_MS ? new Date(ms) : null;
}

function isRealDay(day: string): boolean {
  const start = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day) && !day.startsWith('0000');
}

function rule(name: string, must: string, holds: (text: string) => boolean): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => typeof value === 'string' && holds(value),
      defaultMessage: (args) => `${args?.property ?? 'it'} ${must}`,
    },
  });
}
