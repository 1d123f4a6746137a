/** Reading of foreign JSON: every value is checked before it is used. */
export type WireObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
