import type { Schema } from './api-document.js';

/** A value with the place that it has in an answer. */
interface Place {
  schema: Schema;
  resolve: (schema: Schema) => Schema;
  at: string;
}

const ULID = '[0-9a-z]{26}';
/** What a reader of the example takes a text for. Plain words may be anything. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['an id', new RegExp(`^[a-z]{3}_(test_)?${ULID}$`)],
  ['a time', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/],
  ['a day', /^\d{4}-\d\d-\d\d$/],
  ['an address', /^https?:\/\//],
];

/** Texts that a caller chooses: any may look like something else. */
const OF_THE_CALLER = new Set(['name', 'code', 'external_id', 'description']);

/**
 * Where the example of an answer is of another shape than what a gateway answered: fields that it lacks, other types, and texts of another
 * kind, as an id of a receipt in place of one of a device. Both are known to be within the schema.
 */
export function shapeFaults(example: unknown, answered: unknown, place: Place): string[] {
  const schema = place.resolve(place.schema);
  const choices = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  // Nothing is there in one of them, or the example shows another of several forms.
  if (example === null || answered === null || choices.length > 1) return [];
  if (choices[0]) return shapeFaults(example, answered, { ...place, schema: choices[0] });
  if (typeOf(example) !== typeOf(answered)) return [`${place.at}: ${typeOf(answered)}, not ${typeOf(example)}`];
  if (Array.isArray(example) && Array.isArray(answered)) return faultsOfList(example, answered, { ...place, schema });
  if (typeof example === 'object') return faultsOfObject(example, Object(answered) as object, { ...place, schema });
  if (typeof example !== 'string' || typeof answered !== 'string' || schema.enum) return [];
  const [shown, is] = [kindOf(example, place.at), kindOf(answered, place.at)];
  return shown === is || is === null ? [] : [`${place.at}: ${is}, not "${example}"`];
}

function faultsOfList(example: readonly unknown[], answered: readonly unknown[], place: Place): string[] {
  if (answered.length === 0) return [];
  if (example.length === 0) return [`${place.at}: shown empty`];
  const items = { ...place, schema: place.schema.items ?? {}, at: `${place.at}[]` };
  return [...new Set(answered.flatMap((item) => shapeFaults(example[0], item, items)))];
}

function faultsOfObject(example: object, answered: object, place: Place): string[] {
  const { properties } = place.schema;
  // A map, or JSON of any shape: its keys are the caller's.
  if (!properties) return [];
  const shown = new Map<string, unknown>(Object.entries(example));
  return Object.entries(answered).flatMap(([name, value]) => {
    const at = `${place.at}.${name}`;
    const schema = properties[name];
    if (!schema || OF_THE_CALLER.has(name)) return [];
    return shown.has(name) ? shapeFaults(shown.get(name), value, { ...place, schema, at }) : [`${at}: not shown`];
  });
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

function kindOf(text: string, at: string): string | null {
  const kind = KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
  // An event or a step is about things of many kinds.
  return kind === 'an id' && !at.endsWith('.subject_id') ? `an id of ${text.slice(0, 3)}` : kind;
}
