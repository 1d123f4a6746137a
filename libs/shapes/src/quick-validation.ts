import { getMetadataStorage, type ValidationArguments } from 'class-validator';
import { MAX_ENTRIES } from './bounds.js';
import { nestedTypeOf } from './known-shape.js';

type Class = new () => object;
type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
type Check = (value: unknown, owner: object) => boolean;

/** What the decorators ask of one field. */
interface Field {
  isOptional: boolean;
  checks: readonly Check[];
  /** The rules of the object, or of each object of the list, that stands here; null: a value without own rules. */
  nested: QuickValidation | null;
}

/** Takes a body that keeps all rules and returns it as an instance; null: it does not, or this walk cannot decide. */
export type QuickValidation = (value: unknown) => object | null;

const NOT_COMPILED = null;
const compiled = new WeakMap<Class, QuickValidation | typeof NOT_COMPILED>();

/**
 * The rules of a class as one walk over the body, for bodies in which nothing is wrong: the same constraint objects that
 * class-validator calls, without the error, the list of promises and the copies of its lists that it makes for every
 * field (docs/adr/0070-what-accepting-costs.md). It only ever says yes; whatever it does not accept is class-validator's to judge and
 * to explain, so that both can only differ in speed. Null for a class that uses more than is understood here: groups,
 * conditions other than `@IsOptional`, asynchronous constraints, classes that contain themselves.
 */
export function quickValidationOf(type: Class, outer: readonly Class[] = []): QuickValidation | null {
  const known = compiled.get(type);
  if (known !== undefined) return known;
  const made = compile(type, outer);
  compiled.set(type, made);
  return made;
}

function compile(type: Class, outer: readonly Class[]): QuickValidation | null {
  if (outer.includes(type)) return NOT_COMPILED;
  const storage = getMetadataStorage();
  const metadatas = storage.getTargetValidationMetadatas(type, type.name, false, false);
  if (metadatas.length === 0) return NOT_COMPILED;
  const fields = new Map<string, Field>();
  for (const [name, rules] of Object.entries(storage.groupByPropertyName(metadatas))) {
    const field = compileField({ type, name, rules, outer: [...outer, type] });
    if (field === null) return NOT_COMPILED;
    fields.set(name, field);
  }
  return (value) => instanceOf(type, fields, value);
}

interface FieldRules {
  type: Class;
  name: string;
  rules: readonly Metadata[];
  outer: readonly Class[];
}

function compileField({ type, name, rules, outer }: FieldRules): Field | null {
  const field = { isOptional: false, checks: [] as Check[], nested: null as QuickValidation | null };
  for (const rule of rules) {
    if (rule.validateIf !== undefined || hasGroups(rule)) return null;
    if (rule.type === 'conditionalValidation' && rule.name === 'isOptional') field.isOptional = true;
    else if (rule.type === 'nestedValidation') {
      const nestedType = nestedTypeOf(type, name);
      field.nested = nestedType && quickValidationOf(nestedType, outer);
      if (field.nested === null) return null;
    } else if (rule.type === 'customValidation') {
      const check = compileCheck(rule);
      if (check === null) return null;
      field.checks.push(check);
    } else return null;
  }
  return field;
}

/** The list is missing where no option was given, whatever its type says. */
function hasGroups(rule: { groups?: readonly string[] }): boolean {
  return rule.groups !== undefined && rule.groups.length > 0;
}

function compileCheck(rule: Metadata): Check | null {
  const constraints = getMetadataStorage().getTargetValidatorConstraints(rule.constraintCls);
  if (constraints.length !== 1 || constraints[0] === undefined || constraints[0].async) return null;
  const { instance } = constraints[0];
  const targetName = typeof rule.target === 'string' ? rule.target : rule.target.name;
  const args: ValidationArguments = {
    ...{ targetName, property: rule.propertyName, constraints: rule.constraints },
    ...{ object: {}, value: undefined },
  };
  const passes = (value: unknown): boolean => instance.validate(value, args) === true;
  return (value, owner) => {
    args.object = owner;
    args.value = value;
    return rule.each && Array.isArray(value) ? value.every(passes) : passes(value);
  };
}

function instanceOf(type: Class, fields: ReadonlyMap<string, Field>, value: unknown): object | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  for (const name in value) if (!fields.has(name)) return null;
  const source = value as Record<string, unknown>;
  const instance = new type() as Record<string, unknown>;
  for (const [name, field] of fields) {
    const given = source[name];
    if (given === undefined || given === null) {
      if (!field.isOptional) return null;
      if (given === null) instance[name] = null;
      continue;
    }
    if (Array.isArray(given) && given.length > MAX_ENTRIES) return null;
    for (const check of field.checks) if (!check(given, source)) return null;
    const kept = field.nested === null ? flat(given) : nestedIn(field.nested, given);
    if (kept === null) return null;
    instance[name] = kept;
  }
  return instance;
}

function nestedIn(nested: QuickValidation, value: unknown): unknown {
  if (!Array.isArray(value)) return nested(value);
  const instances: object[] = [];
  for (const each of value as unknown[]) {
    const instance = nested(each);
    if (instance === null) return null;
    instances.push(instance);
  }
  return instances;
}

/** A value, or a list or object of values; deeper nesting without a class of its own is checked by class-validator. */
function flat(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) if (typeof each === 'object' && each !== null) return null;
  return value;
}
