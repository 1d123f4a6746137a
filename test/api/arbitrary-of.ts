import fc from 'fast-check';
import { apiDescription, type Schema } from './api-document.js';

export interface ArbitraryOptions {
  /** Only what is required. */
  minimal?: boolean;
}

/** Larger sums add nothing here; the limits themselves have tests of their own. */
const BIG = 1_000_000_000_000;

/** Values that a schema allows, as far as it says so. */
export function arbitraryOf(given: Schema, options: ArbitraryOptions = {}): fc.Arbitrary<unknown> {
  const schema = apiDescription().resolve(given);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => arbitraryOf(one, options)));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const wanted = options.minimal ? types.slice(0, 1) : types;
  if (wanted.length === 0) return fc.jsonValue();
  return fc.oneof(...wanted.map((type) => ofType(type, schema, options)));
}

function ofType(type: string, schema: Schema, options: ArbitraryOptions): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: Math.max(schema.minimum ?? -BIG, -BIG), max: Math.min(schema.maximum ?? BIG, BIG) });
    case 'number':
      return fc.integer({ min: 1, max: 1_000_000 }).map((thousandths) => thousandths / 1_000);
    case 'string':
      return texts(schema);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}, options), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)),
      });
    default:
      return objects(schema, options);
  }
}

function texts({ format, pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString());
  if (format === 'uri') return fc.webPath().map((path) => `https://shop.example${path}`.slice(0, maxLength));
  if (format === 'email') return fc.constantFrom('a@b.example', 'user.name@shop.uz');
  const most = Math.min(maxLength, minLength + 40);
  // What names the characters to keep out says nothing of the form.
  if (pattern !== undefined && !pattern.startsWith('^[^')) {
    return fc
      .stringMatching(new RegExp(pattern))
      .filter((text) => text.length >= minLength && text.length <= maxLength);
  }
  return fc.string({ minLength, maxLength: most }).map((text) => text.trim().padEnd(minLength, 'x'));
}

function objects(
  { properties = {}, required = [], additionalProperties }: Schema,
  options: ArbitraryOptions,
): fc.Arbitrary<object> {
  const names = Object.keys(properties).filter((name) => !options.minimal || required.includes(name));
  if (names.length === 0 && typeof additionalProperties === 'object' && !options.minimal) {
    return fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }), arbitraryOf(additionalProperties), { maxKeys: 3 });
  }
  const fields = Object.fromEntries(names.map((name) => [name, arbitraryOf(properties[name] ?? {}, options)]));
  return fc.record(fields, { requiredKeys: required, noNullPrototype: true });
}

/** One allowed value, always the same. */
export function sampleOf(schema: Schema): unknown {
  return fc.sample(arbitraryOf(schema, { minimal: true }), { seed: 7, numRuns: 1 })[0];
}
