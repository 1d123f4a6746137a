import { plainToInstance } from 'class-transformer';
import { getMetadataStorage } from 'class-validator';
import { MAX_ENTRIES } from './bounds.js';

type Class = (new () => object) & { prototype: object };

interface KnownField {
  /** The class of the object, or of the objects of the list, that stands here; null: values. */
  type: Class | null;
  maxEntries: number;
}

/** Named in an answer, so many of one object. */
const UNKNOWN_NAMED = 10;
/** Of a list where no list belongs: enough for the fault to be seen. */
const ENTRIES_SEEN = 2;

const known = new WeakMap<Class, ReadonlyMap<string, KnownField>>();

/**
 * What class-transformer and class-validator need to see of a body to find its faults, and no more: nothing within unknown fields,
 * no entries beyond the one that is too many, nothing that is nested deeper than the field says. Both work on everything that
 * they are given, at microseconds for each name; here the work is bounded by the rules of the class instead of by the body. What has
 * no fault in this shape is still to be validated as it is.
 */
export function knownShape(type: Class, body: object): object {
  const fields = fieldsOf(type);
  const shape: Record<string, unknown> = {};
  let unknown = 0;
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    const field = fields.get(name);
    if (field) shape[name] = field.type ? typedIn(field.type, value, field.maxEntries) : flat(value);
    else if ((unknown += 1) <= UNKNOWN_NAMED) shape[name] = null;
  }
  return shape;
}

type Path = readonly (string | number)[];

/**
 * Where unknown fields stand that are named like a method of every object (`toString`, `constructor`): class-transformer leaves them out of
 * the instance, so that class-validator finds nothing unknown.
 */
export function unknownMethodNames(type: Class, body: object): Path[] {
  const fields = fieldsOf(type);
  const own = Object.keys(body).filter((name) => name in type.prototype && !fields.has(name));
  const nested = [...fields].flatMap(([name, field]): Path[] => {
    const value = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined;
    return field.type === null ? [] : within(field.type, value, field.maxEntries).map((path) => [name, ...path]);
  });
  return [...own.map((name) => [name]), ...nested];
}

function within(type: Class, value: unknown, maxEntries: number): Path[] {
  if (!Array.isArray(value)) return isObject(value) ? unknownMethodNames(type, value) : [];
  return value
    .slice(0, maxEntries + 1)
    .flatMap((each: unknown, at) =>
      isObject(each) && !Array.isArray(each) ? unknownMethodNames(type, each).map((path) => [at, ...path]) : [],
    );
}

function typedIn(type: Class, value: unknown, maxEntries: number): unknown {
  if (!Array.isArray(value)) return isObject(value) ? knownShape(type, value) : value;
  return value.slice(0, maxEntries + 1).map((each: unknown) => (isObject(each) ? knownShape(type, each) : each));
}

/** A value, or a list or object of values; whatever is nested in it is wrong there, and empty. */
function flat(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(emptied);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]: [string, unknown]) => [name, emptied(each)]));
}

export function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return isObject(value) ? {} : value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function fieldsOf(type: Class): ReadonlyMap<string, KnownField> {
  const found = known.get(type);
  if (found) return found;
  const storage = getMetadataStorage();
  const fields = new Map<string, KnownField>();
  const rules = storage.getTargetValidationMetadatas(type, type.name, false, false);
  for (const { propertyName, type: kind, name, constraints } of rules) {
    const field = fields.get(propertyName) ?? { type: null, maxEntries: ENTRIES_SEEN };
    if (kind === 'nestedValidation') field.type = nestedTypeOf(type, propertyName);
    if (name === 'arrayMaxSize') field.maxEntries = Math.min(Number((constraints as unknown[])[0]), MAX_ENTRIES);
    fields.set(propertyName, field);
  }
  known.set(type, fields);
  return fields;
}

/** What @Type names can only be asked by using it. */
export function nestedTypeOf(type: Class, name: string): Class | null {
  const probe = new Map(Object.entries(plainToInstance(type, { [name]: {} }))).get(name) as object;
  return probe.constructor === Object ? null : (probe.constructor as Class);
}
