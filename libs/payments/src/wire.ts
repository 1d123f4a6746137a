import { isObject, parseTashkentCompact, type WireObject } from '#fiscal-domain';

/** Reading of foreign JSON: every value is checked before it is used. */
export { isObject, type WireObject };

/**
 * A body of JSON whose whole numbers of sixteen digits and more are kept as text: as numbers they would be other ones. Null: it is no
 * JSON. It is read as it is first, so that the second reading meets only well-formed text.
 */
export function parseWithLongNumbers(text: string): unknown {
  try {
    JSON.parse(text);
    return JSON.parse(
      text.replaceAll(STRING_OR_LONG_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`)),
    );
  } catch {
    // Each protocol has its own answer for this.
    return null;
  }
}

const STRING_OR_LONG_NUMBER = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])\d{16,}(?![\d.eE])/g;

export function objectAt(value: unknown, key: string): WireObject {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

/** Ids come as text or number, whatever the documentation says. */
export function textAt(value: WireObject, key: string): string | null {
  const found = value[key];
  if (typeof found === 'string') return found === '' ? null : found;
  return typeof found === 'number' && Number.isSafeInteger(found) ? String(found) : null;
}

export function integerAt(value: WireObject, key: string): number | null {
  const found = value[key];
  return typeof found === 'number' && Number.isSafeInteger(found) ? found : null;
}

/** `YYYY-MM-DD HH:MM:SS` in GMT+5; null when it is anything else. */
export function tashkentTimeMs(text: string | null): number | null {
  if (text === null || !/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/.test(text)) return null;
  return parseTashkentCompact(text.replace(/\D/g, ''));
}

/** The number of a card payment as a receipt has room for it; null where this is none. */
export function rrnOf(text: string | null): string | null {
  return text !== null && /^\d{1,16}$/.test(text) ? text : null;
}
