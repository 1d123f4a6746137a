import { Matches } from 'class-validator';

/** One pattern: `receipt.registered`, `receipt.*` or `*`. */
export const EVENT_PATTERN = /^(\*|[a-z]{1,32}\.(\*|[a-z_]{1,48}))$/;
/** At most 20 of them, joined by commas. */
const EVENT_PATTERNS = /^(\*|[a-z]{1,32}\.(\*|[a-z_]{1,48}))(,(\*|[a-z]{1,32}\.(\*|[a-z_]{1,48}))){0,19}$/;

/** For a query. */
export function AreEventPatterns(): PropertyDecorator {
  return Matches(EVENT_PATTERNS, {
    message: 'type must be event types joined by commas, such as receipt.registered,refund.*',
  });
}

/** Whether one of the patterns means events of this type. */
export function wants(patterns: readonly string[], type: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );
}
