import { hash } from 'node:crypto';

export function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

/**
 * JSON in which equal values have equal text: keys sorted by code unit, no spaces, `undefined` members left out.
 * The body hash of a request is `sha256(canonicalJson(validated body))`.
 * @throws TypeError for what JSON cannot carry (bigint, NaN, infinities, functions, cycles)
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('not a JSON number');
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item === undefined ? null : item)).join(',')}]`;
  }
  if (typeof value !== 'object') throw new TypeError(`JSON cannot carry a ${typeof value}`);
  const source = value as Readonly<Record<string, unknown>>;
  let members = '';
  // Sorting compares UTF-16 code units, as `<` does.
  for (const key of Object.keys(source).sort()) {
    const member = source[key];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}
