import { plainToInstance } from 'class-transformer';
import { getMetadataStorage } from 'class-validator';

/** @typedef {import('./type-schemas.mjs').Schema} Schema */
/** @typedef {import('./explore.mjs').BodyClass} BodyClass */
/**
 * What class-validator keeps of a decorator's arguments: a number, a pattern or a list, by its rule. Its own typings say `any[]` too.
 * @typedef {any[]} Constraints
 */
/** @typedef {{ name?: string, type: string, each?: boolean, constraints: Constraints, propertyName: string }} Rule */

/** C0 and C1 controls and DEL: what `IsCleanText` refuses beside lone surrogates, which no pattern can name. */
const CLEAN_TEXT = String.raw`^[^\u0000-\u001F\u007F-\u009F]*$`;
/** The same with the GS1 separator, which belongs to marking codes. */
const MARKING_CODE = String.raw`^[^\u0000-\u001C\u001E\u001F\u007F-\u009F]*$`;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;
/** Bytes: contract of the API, and the default of createFastifyNestApp. */
const MAX_BODY = 262_144;

/** What a rule of class-validator, or one of our own, says in a schema. Unknown ones limit more than is described. */
const SAYINGS = /** @type {Record<string, (constraints: Constraints) => Schema>} */ ({
  isString: () => ({ type: 'string' }),
  isBoolean: () => ({ type: 'boolean' }),
  isInt: () => ({ type: 'integer', format: 'int64' }),
  isNumber: () => ({ type: 'number', format: 'double' }),
  isArray: () => ({ type: 'array' }),
  isObject: () => ({ type: 'object' }),
  min: ([minimum]) => ({ minimum }),
  max: ([maximum]) => ({ maximum }),
  minLength: ([minLength]) => ({ minLength }),
  maxLength: ([maxLength]) => ({ maxLength }),
  isLength: ([minLength, maxLength]) => ({ minLength, ...(maxLength !== undefined && { maxLength }) }),
  isNotEmpty: () => ({ minLength: 1 }),
  matches: ([pattern]) => ({ type: 'string', pattern: pattern.source }),
  isIn: ([values]) => ({ enum: [...values] }),
  isEnum: ([, values]) => ({ enum: [...values] }),
  arrayMinSize: ([minItems]) => ({ minItems }),
  arrayMaxSize: ([maxItems]) => ({ maxItems }),
  arrayUnique: () => ({ uniqueItems: true }),
  isISO8601: () => ({ type: 'string', format: 'date-time', maxLength: 35 }),
  isCleanText: () => ({ pattern: CLEAN_TEXT }),
  isMarkingCode: () => ({ pattern: MARKING_CODE }),
  isLongEnough: () => ({ minLength: 5 }),
  isEmailShaped: () => ({ type: 'string', format: 'email', maxLength: 254 }),
  isWebUrl: () => ({ type: 'string', format: 'uri' }),
  isMetadata: () => ({
    type: 'object',
    maxProperties: 50,
    propertyNames: { minLength: 1, maxLength: 64, pattern: CLEAN_TEXT },
    additionalProperties: { type: 'string', maxLength: 512, pattern: CLEAN_TEXT },
  }),
  isQuantity: () => ({
    anyOf: [
      { type: 'number', format: 'double', exclusiveMinimum: 0, maximum: MAX_SAFE / 1_000 },
      { type: 'string', pattern: String.raw`^\+?\d+(\.\d{1,3})?$`, maxLength: 32 },
    ],
  }),
});
/** These say the whole shape; what the type of the field says is left out. */
const WHOLE_SHAPES = ['isQuantity', 'isMetadata'];

/** Bodies and queries: types and comments from the sources, limits from the decorators that judge the requests. */
export class BodySchemas {
  /** @type {Record<string, Schema>} */
  components = {};
  /** @type {Map<BodyClass, string>} */
  #names = new Map();

  /** @param {import('./type-book.mjs').TypeBook} book */
  constructor({ bodies }) {
    this.types = bodies;
  }

  /** @param {BodyClass} type @returns {Schema} */
  referenceTo(type) {
    const known = this.#names.get(type);
    const name = known ?? this.#freeName(type.name);
    if (known === undefined) {
      this.#names.set(type, name);
      /** @type {Schema} */
      const schema = {};
      // Taken before its fields are walked: a body may contain itself.
      this.components[name] = schema;
      Object.assign(schema, this.#objectOf(type));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** @param {string} base */
  #freeName(base) {
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? base : `${base}${number}`;
      if (!this.components[name]) return name;
    }
  }

  /** Of several classes with one name the one that has the fields. @param {BodyClass} type @param {readonly string[]} fields */
  #typesOf(type, fields) {
    return this.types[type.name]?.find((types) => fields.every((field) => field in types.fields));
  }

  /** @param {BodyClass} type @returns {Schema[]} */
  queryOf(type) {
    return [...this.#fieldsOf(type)].map(([name, { schema, isRequired }]) => {
      const { description, ...rest } = schema;
      return {
        name,
        in: 'query',
        required: isRequired,
        ...(description ? { description } : {}),
        schema: inQuery(rest),
      };
    });
  }

  /** @param {BodyClass} type @returns {Schema} */
  #objectOf(type) {
    const fields = this.#fieldsOf(type);
    const required = [...fields].filter(([, { isRequired }]) => isRequired).map(([name]) => name);
    const description = this.#typesOf(type, [...fields.keys()])?.description;
    return {
      ...(description ? { description } : {}),
      type: 'object',
      properties: Object.fromEntries([...fields].map(([name, { schema }]) => [name, schema])),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    };
  }

  /** @param {BodyClass} type */
  #fieldsOf(type) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, type.name, false, false);
    /** @type {Map<string, Rule[]>} */
    const byField = new Map();
    for (const rule of /** @type {Rule[]} */ (/** @type {unknown} */ (rules))) {
      byField.set(rule.propertyName, [...(byField.get(rule.propertyName) ?? []), rule]);
    }
    // The order of the class; the storage has the inherited fields last.
    const types = this.#typesOf(type, [...byField.keys()])?.fields ?? {};
    const order = Object.keys(types);
    const names = [...byField.keys()].sort((one, other) => order.indexOf(one) - order.indexOf(other));
    return new Map(
      names.map((name) => [
        name,
        this.#fieldOf(type, { name, rules: byField.get(name) ?? [], known: types[name] ?? {} }),
      ]),
    );
  }

  /** @param {BodyClass} type @param {{ name: string, rules: Rule[], known: Schema & { optional?: boolean } }} field */
  #fieldOf(type, { name, rules, known }) {
    const { optional, description, ...typed } = known;
    const isNamed = (/** @type {string} */ rule) => rules.some(({ name: own }) => own === rule);
    const takesNull = isNamed('isOptional');
    const isWhole = rules.some((rule) => WHOLE_SHAPES.includes(rule.name ?? ''));
    const { type: rest, isNullable } = withoutNull(isWhole ? {} : typed);
    let schema = this.#resolved(rest, type, name);
    for (const rule of rules) schema = applied(schema, rule);
    schema = limited(schema);
    // What is optional may be null as well (`@IsOptional`), whatever its type says.
    if (takesNull || isNullable) schema = nullable(schema);
    const isConditional = rules.some((rule) => rule.type === 'conditionalValidation');
    return { schema: described(schema, description), isRequired: optional !== true && !isConditional };
  }

  /** Replaces `$class` by a reference, and the compiler's limits by nothing: the decorators know better. @param {Schema} schema @param {BodyClass} type @param {string} name */
  #resolved(schema, type, name) {
    if ('$class' in schema || ('items' in schema && '$class' in /** @type {Schema} */ (schema['items']))) {
      const nested = nestedClass(type, name);
      if (nested === null) return {};
      const reference = this.referenceTo(nested);
      return '$class' in schema ? reference : { type: 'array', items: reference };
    }
    return withoutLimits(schema);
  }
}

/** What @Type names can only be asked by using it. @param {BodyClass} type @param {string} name @returns {BodyClass | null} */
function nestedClass(type, name) {
  const probe = /** @type {Record<string, object | undefined>} */ (plainToInstance(type, { [name]: {} }))[name];
  return probe === undefined || probe.constructor === Object ? null : /** @type {BodyClass} */ (probe.constructor);
}

/** @param {Schema} schema @param {Rule} rule @returns {Schema} */
function applied(schema, rule) {
  const saying = rule.name === undefined ? undefined : SAYINGS[rule.name];
  if (!saying) return schema;
  const declared = saying(rule.constraints ?? []);
  if (rule.each) return { ...schema, items: merged(/** @type {Schema} */ (schema['items'] ?? {}), declared) };
  return merged(schema, declared);
}

/** A second pattern stands beside the first, not in its place. @param {Schema} schema @param {Schema} declared @returns {Schema} */
function merged(schema, declared) {
  // The class of a nested body says all there is to say.
  if ('$ref' in schema) return schema;
  if ('pattern' in schema && 'pattern' in declared) {
    const { pattern, ...rest } = declared;
    // Clean text is a matter of course where another pattern already says more.
    if (pattern === CLEAN_TEXT) return { ...schema, ...rest };
    if (schema['pattern'] === CLEAN_TEXT) return { ...schema, ...declared };
    const others = Array.isArray(schema['allOf']) ? schema['allOf'] : [];
    return { ...schema, ...rest, allOf: [...others, { pattern }] };
  }
  if ('enum' in declared) {
    const { format: _format, minimum: _minimum, maximum: _maximum, ...rest } = schema;
    return { ...rest, ...declared };
  }
  return { ...schema, ...declared };
}

/** What no rule limits is limited by the size of a body, or of a number that JSON carries exactly. @param {Schema} schema @returns {Schema} */
function limited(schema) {
  const { type, items, anyOf, pattern, additionalProperties: others } = schema;
  if (type === 'object' && typeof others === 'object' && others !== null) {
    return { ...schema, additionalProperties: limited(/** @type {Schema} */ (others)) };
  }
  if (type === 'integer' && !('enum' in schema)) return { minimum: -MAX_SAFE, maximum: MAX_SAFE, ...schema };
  if (type === 'string' && !('enum' in schema)) {
    const digits = /^\^(?:\\d|\[[^\]]*\])\{(?:\d+,)?(\d+)\}\$$/.exec(String(pattern))?.[1];
    return { maxLength: digits === undefined ? MAX_BODY : Number(digits), ...schema };
  }
  if (type === 'array') return { maxItems: MAX_BODY, ...schema, items: limited(/** @type {Schema} */ (items ?? {})) };
  return Array.isArray(anyOf) ? { ...schema, anyOf: anyOf.map(limited) } : schema;
}

/** @param {Schema} schema @returns {Schema} */
function withoutLimits(schema) {
  const { maxLength: _maxLength, maxItems: _maxItems, maxProperties: _maxProperties, ...rest } = schema;
  if (typeof rest['items'] === 'object' && rest['items'] !== null) {
    return { ...rest, items: withoutLimits(/** @type {Schema} */ (rest['items'])) };
  }
  if (rest['type'] === 'integer' && !('enum' in rest))
    return { type: 'integer', format: 'int64', ...('description' in rest ? { description: rest['description'] } : {}) };
  return rest;
}

/** @param {Schema} schema */
function withoutNull(schema) {
  const { type, anyOf } = schema;
  if (Array.isArray(type) && type.includes('null')) {
    const { enum: values, ...rest } = schema;
    const left = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
    return { type: { ...rest, ...left, type: type.find((one) => one !== 'null') }, isNullable: true };
  }
  if (Array.isArray(anyOf)) {
    const left = anyOf.filter((one) => one.type !== 'null');
    if (left.length < anyOf.length) return { type: left.length === 1 ? left[0] : { anyOf: left }, isNullable: true };
  }
  return { type: schema, isNullable: false };
}

/** @param {Schema} schema @returns {Schema} */
function nullable(schema) {
  const { type, enum: values } = schema;
  if (typeof type === 'string') {
    const more = Array.isArray(values) ? { enum: [...values, null] } : {};
    return { ...schema, type: [type, 'null'], ...more };
  }
  if (Array.isArray(values)) return { ...schema, enum: [...values, null] };
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], { type: 'null' }] };
  return { anyOf: [schema, { type: 'null' }] };
}

/** Queries hold texts only, and what is left out is not null. @param {Schema} schema @returns {Schema} */
function inQuery(schema) {
  const { type } = withoutNull(schema);
  const plain = /** @type {Schema} */ (type);
  return 'enum' in plain || 'type' in plain ? plain : { ...plain, type: 'string' };
}

/** @param {Schema} schema @param {unknown} description @returns {Schema} */
function described(schema, description) {
  return description ? { description, ...schema } : schema;
}
