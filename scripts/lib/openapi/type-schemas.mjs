import ts from 'typescript';

import { ROOT } from '../paths.mjs';

/** @typedef {Record<string, unknown>} Schema a JSON Schema 2020-12, with our own `$class` for the type of a nested body */

const MAX_LIST = 100_000;
const MAX_DEPTH = 12;
/** Fields whose numbers may have decimals; every other number of this API is whole. */
const FRACTIONS = /^(qty|quantity|.*_(percent|ratio|share|rate))$/;
const WHOLE = { type: 'integer', format: 'int64', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const NUMBER = { type: 'number', format: 'double' };
/** How long a text of an answer may be says nothing to its reader; those of requests have the limits of their rules. */
const TEXT = { type: 'string' };
/** What a handler hands over for sending as bytes. */
const BYTES = ['StreamableFile', 'Buffer', 'ReadStream', 'Readable'];

/** Turns types of TypeScript into schemas; types with a name of our own become components. */
export class TypeSchemas {
  /** @type {Record<string, Schema>} */
  components = {};
  /** Several classes may have one name. @type {Record<string, import('./type-book.mjs').BodyTypes[]>} */
  bodies = {};
  /** @type {Set<ts.Symbol>} */
  #bodiesSeen = new Set();
  /** @type {Map<string, ts.Symbol>} */
  #owners = new Map();

  /** @param {ts.TypeChecker} checker */
  constructor(checker) {
    this.checker = checker;
  }

  /**
   * @param {ts.Type} type
   * @returns {Schema | null}
   */
  answerOf(type) {
    if (type.flags & (ts.TypeFlags.Void | ts.TypeFlags.Undefined | ts.TypeFlags.Never)) return null;
    return this.schemaOf(type, { name: '', depth: 0 });
  }

  /** The fields of a body's class, with those of the classes within. @param {ts.Type} type */
  addBody(type) {
    const { symbol } = type;
    if (!symbol || !type.isClass() || !isOurs(symbol) || this.#bodiesSeen.has(symbol)) return;
    this.#bodiesSeen.add(symbol);
    /** @type {import('./type-book.mjs').BodyTypes} */
    const body = { description: this.#textOf(symbol), fields: {} };
    (this.bodies[symbol.name] ??= []).push(body);
    for (const property of this.checker.getPropertiesOfType(type)) {
      if (property.flags & ts.SymbolFlags.Method) continue;
      const schema = this.#fieldOf(property);
      body.fields[property.name] = {
        ...schema,
        ...(property.flags & ts.SymbolFlags.Optional ? { optional: true } : {}),
      };
    }
  }

  /** @param {ts.Symbol} property */
  #fieldOf(property) {
    const type = this.checker.getTypeOfSymbol(property);
    const nested = this.#classWithin(type);
    if (nested) this.addBody(nested.type);
    const schema = nested ? nested.schema : this.schemaOf(type, { name: property.name, depth: 1 });
    return this.#described(schema, property);
  }

  /** @param {ts.Type} type */
  #classWithin(type) {
    const parts = type.isUnion() ? type.types : [type];
    const isNullable = parts.some(({ flags }) => flags & ts.TypeFlags.Null);
    for (const part of parts) {
      const item = this.#itemOf(part);
      const found = item ?? part;
      if (!found.isClass() || !isOurs(found.symbol)) continue;
      const reference = { $class: found.symbol.name };
      const schema = item ? { type: 'array', items: reference } : reference;
      return { type: found, schema: isNullable ? { anyOf: [schema, { type: 'null' }] } : schema };
    }
    return null;
  }

  /**
   * @param {ts.Type} type
   * @param {{ name: string, depth: number }} at the field that holds it
   * @returns {Schema}
   */
  schemaOf(type, at) {
    const { flags } = type;
    if (at.depth > MAX_DEPTH) return {};
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (flags & ts.TypeFlags.Null) return { type: 'null' };
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: this.checker.typeToString(type) === 'true' };
    if (flags & ts.TypeFlags.BooleanLike) return { type: 'boolean' };
    if (type.isUnion()) return this.#union(type, at);
    if (flags & ts.TypeFlags.StringLike) return text(at.name);
    if (flags & (ts.TypeFlags.NumberLike | ts.TypeFlags.BigIntLike)) return number(at.name);
    if (type.isIntersection()) {
      const primitive = type.types.find((part) => part.flags & (ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike));
      if (primitive) return this.schemaOf(primitive, at);
    }
    return this.#object(type, at);
  }

  /**
   * @param {ts.UnionType} union
   * @param {{ name: string, depth: number }} at
   * @returns {Schema}
   */
  #union(union, at) {
    const isNull = (/** @type {ts.Type} */ { flags }) => (flags & ts.TypeFlags.Null) !== 0;
    const isNothing = (/** @type {ts.Type} */ { flags }) =>
      (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) !== 0;
    const isNullable = union.types.some(isNull);
    const parts = union.types.filter((part) => !isNull(part) && !isNothing(part));
    const literals = parts.filter((part) => part.isStringLiteral() || part.isNumberLiteral());
    if (literals.length === parts.length && parts.length > 1) {
      const values = /** @type {ts.LiteralType[]} */ (literals).map(
        ({ value }) => /** @type {string | number} */ (value),
      );
      const type = typeof values[0] === 'string' ? 'string' : 'integer';
      return isNullable ? { type: [type, 'null'], enum: [...values, null] } : { type, enum: values };
    }
    const booleans = parts.filter(({ flags }) => flags & ts.TypeFlags.BooleanLiteral);
    /** @type {Schema[]} */
    const schemas = parts.filter((part) => !booleans.includes(part)).map((part) => this.schemaOf(part, at));
    if (booleans.length === 2) schemas.push({ type: 'boolean' });
    else schemas.push(...booleans.map((part) => this.schemaOf(part, at)));
    const distinct = schemas.filter((one, index) => schemas.findIndex((other) => same(one, other)) === index);
    const [only] = distinct;
    if (distinct.length === 1 && only) return isNullable ? orNull(only) : only;
    return { anyOf: [...distinct, ...(isNullable ? [{ type: 'null' }] : [])] };
  }

  /**
   * @param {ts.Type} type
   * @param {{ name: string, depth: number }} at
   * @returns {Schema}
   */
  #object(type, at) {
    const item = this.#itemOf(type);
    if (item) return { type: 'array', maxItems: MAX_LIST, items: this.schemaOf(item, { ...at, depth: at.depth + 1 }) };
    const symbol = type.aliasSymbol ?? type.symbol;
    if (symbol?.name === 'Date') return { type: 'string', format: 'date-time', maxLength: 35 };
    if (symbol && BYTES.includes(symbol.name)) return { 'x-bytes': true };
    const name = this.#componentName(type);
    if (name === null) return this.#properties(type, at.depth);
    if (!this.components[name]) {
      // Taken before its fields are walked: a type may contain itself.
      this.components[name] = {};
      Object.assign(this.components[name], this.#described(this.#properties(type, 0), symbol));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /**
   * @param {ts.Type} type
   * @param {number} depth
   * @returns {Schema}
   */
  #properties(type, depth) {
    const index = this.checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const properties = this.checker.getPropertiesOfType(type).filter(({ flags }) => !(flags & ts.SymbolFlags.Method));
    if (properties.length === 0) {
      const values = index ? this.schemaOf(index, { name: '', depth: depth + 1 }) : true;
      return { type: 'object', additionalProperties: isEmpty(values) ? true : values, maxProperties: 10_000 };
    }
    /** @type {Record<string, Schema>} */
    const fields = {};
    const required = [];
    for (const property of properties) {
      const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
      const fieldType = this.checker.getTypeOfSymbol(property);
      fields[property.name] = this.#described(
        this.schemaOf(fieldType, { name: property.name, depth: depth + 1 }),
        property,
      );
      if (!isOptional) required.push(property.name);
    }
    return { type: 'object', properties: fields, required, additionalProperties: index !== undefined };
  }

  /** @param {ts.Type} type */
  #itemOf(type) {
    if (!this.checker.isArrayType(type) && !this.checker.isTupleType(type)) return null;
    return this.checker.getTypeArguments(/** @type {ts.TypeReference} */ (type))[0] ?? null;
  }

  /**
   * `DeviceView`, `DeviceViewPage` for `Page<DeviceView>`; null for what has no name or is not ours.
   * @param {ts.Type} type
   * @returns {string | null}
   */
  #componentName(type) {
    const symbol = type.aliasSymbol ?? type.symbol;
    if (!symbol || symbol.name.startsWith('__') || !isOurs(symbol)) return null;
    const parameters = type.aliasTypeArguments ?? this.#ownTypeArguments(type);
    const names = parameters.map((parameter) => this.#componentName(parameter));
    if (names.includes(null)) return null;
    const base = `${names.join('')}${symbol.name}`;
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? base : `${base}${number}`;
      const owner = this.#owners.get(name);
      if (owner === undefined) this.#owners.set(name, symbol);
      if (owner === undefined || owner === symbol) return name;
    }
  }

  /** @param {ts.Type} type */
  #ownTypeArguments(type) {
    const object = /** @type {ts.ObjectType} */ (type);
    if (!(type.flags & ts.TypeFlags.Object) || !(object.objectFlags & ts.ObjectFlags.Reference)) return [];
    const reference = /** @type {ts.TypeReference} */ (type);
    const count = reference.target.typeParameters?.length ?? 0;
    return this.checker.getTypeArguments(reference).slice(0, count);
  }

  /**
   * @param {Schema} schema
   * @param {ts.Symbol | undefined} symbol
   * @returns {Schema}
   */
  #described(schema, symbol) {
    const description = symbol ? this.#textOf(symbol) : '';
    if (description === '') return schema;
    return '$ref' in schema || '$class' in schema ? { ...schema, description } : { description, ...schema };
  }

  /** @param {ts.Symbol} symbol */
  #textOf(symbol) {
    return ts.displayPartsToString(symbol.getDocumentationComment(this.checker)).trim();
  }

  /** @param {ts.Declaration & { name?: ts.Node }} node */
  commentOn(node) {
    const symbol = node.name && this.checker.getSymbolAtLocation(node.name);
    return symbol ? this.#textOf(symbol) : '';
  }
}

/** @param {string} name @returns {Schema} */
function text(name) {
  if (/_at$/.test(name) && name !== 'close_at') return { type: 'string', format: 'date-time', maxLength: 35 };
  return { ...TEXT };
}

/** @param {string} name @returns {Schema} */
function number(name) {
  return { ...(FRACTIONS.test(name) ? NUMBER : WHOLE) };
}

/** @param {Schema} schema @returns {Schema} */
function orNull(schema) {
  if (typeof schema['type'] === 'string' && !('enum' in schema)) return { ...schema, type: [schema['type'], 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}

/** @param {Schema} one @param {Schema} other */
function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param {unknown} schema */
function isEmpty(schema) {
  return schema === true || (typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0);
}

/** @param {ts.Symbol} symbol */
function isOurs(symbol) {
  const file = symbol.declarations?.[0]?.getSourceFile().fileName ?? '';
  return file.startsWith(ROOT) && !file.includes('node_modules') && !file.includes('/generated/');
}
