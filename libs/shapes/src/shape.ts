import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError, type ValidatorOptions } from 'class-validator';
import { pointerTo, Problem, type ProblemError } from '#problems';
import { MAX_ENTRIES, MAX_FIELDS } from './bounds.js';
import { listsJudgedApart, withoutEntries } from './judged-apart.js';
import { knownShape, unknownMethodNames } from './known-shape.js';
import { quickValidationOf } from './quick-validation.js';
import { keepValidationMetadata } from './validation-metadata.js';

keepValidationMetadata();

/** A decorator may name its code itself: `@Matches(…, { context: { code: 'invalid_text' } })`. */
interface ConstraintContext {
  code?: unknown;
}

/** Deeper than any body of this API. */
const MAX_DEPTH = 16;
const TYPE_CONSTRAINTS = new Set([
  'isString',
  'isNumber',
  'isInt',
  'isBoolean',
  'isArray',
  'isObject',
  'isInstance',
  'nestedValidation',
  'unknownValue',
]);

const CODES: Readonly<Record<string, string>> = {
  whitelistValidation: 'unknown_field',
  isDefined: 'required',
  isNotEmpty: 'required',
  isNotEmptyObject: 'required',
  min: 'out_of_range',
  max: 'out_of_range',
  isPositive: 'out_of_range',
  isNegative: 'out_of_range',
  maxLength: 'too_long',
  isByteLength: 'too_long',
  minLength: 'too_short',
  arrayMaxSize: 'too_many',
  arrayMinSize: 'too_few',
  arrayNotEmpty: 'too_few',
  arrayUnique: 'duplicate',
  isIn: 'invalid_value',
  isEnum: 'invalid_value',
  equals: 'invalid_value',
};

/** All shape violations at once, as one 422 with RFC 6901 pointers. */
export function validationProblem(violations: readonly ValidationError[]): Problem {
  return Problem.fromErrors(violations.flatMap((violation) => errorsOf(violation, [])));
}

const VALIDATOR: ValidatorOptions = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  stopAtFirstError: false,
  validationError: { target: false, value: true },
};

/** A value as an instance of its class, or what is wrong with it. */
export type Shaped<T> = { kind: 'ok'; value: T } | { kind: 'refused'; problem: Problem };

/**
 * Holds a value against the rules of a class: unknown fields are refused, nothing is converted silently, and what is no object at
 * all is refused as well. class-validator without Nest's own pipe around it: that one walks each body four times more and awaits
 * every constraint, though all of ours answer at once. A body in which nothing is wrong does not even come to it.
 */
export function checkShape<T extends object>(type: new () => T, value: unknown): Shaped<T> {
  const apart = listsJudgedApart(type);
  if (apart === null) return checkWhole(type, value);
  const { body, sent } = withoutEntries(value, apart);
  const shaped = checkWhole(type, body);
  if (shaped.kind === 'ok') Object.assign(shaped.value, sent);
  return shaped;
}

function checkWhole<T extends object>(type: new () => T, value: unknown): Shaped<T> {
  const right = quickValidationOf(type)?.(value) ?? null;
  if (right !== null) return { kind: 'ok', value: right as T };
  const fault = oddShape(value);
  if (fault !== null) return refused(fault);
  return shapedAs(type, value as object);
}

/** The same for the values of a query, none of which is a list or an object with fields of its own. */
export function checkQuery<T extends object>(type: new () => T, value: unknown): Shaped<T> {
  const right = quickValidationOf(type)?.(value) ?? null;
  if (right !== null) return { kind: 'ok', value: right as T };
  const fault = typeof value === 'object' && value !== null ? tooMany(value, []) : null;
  if (fault !== null) return refused(fault);
  return shapedAs(type, value ?? {});
}

function refused(...faults: ProblemError[]): { kind: 'refused'; problem: Problem } {
  return { kind: 'refused', problem: Problem.fromErrors(faults) };
}

function shapedAs<T extends object>(type: new () => T, value: object): Shaped<T> {
  const known = validInstance(type, knownShape(type, value));
  const shaped = known.kind === 'refused' ? known : validInstance(type, value);
  const hidden = unknownMethodNames(type, value).map(unknownField);
  if (hidden.length === 0) return shaped;
  return refused(...hidden, ...(shaped.kind === 'refused' ? shaped.problem.errors : []));
}

function validInstance<T extends object>(type: new () => T, given: object): Shaped<T> {
  const value = plainToInstance(type, given);
  const violations = validateSync(value, VALIDATOR);
  return violations.length > 0 ? { kind: 'refused', problem: validationProblem(violations) } : { kind: 'ok', value };
}

function oddShape(body: unknown): ProblemError | null {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return oddNesting(body);
  const missing = body === undefined || body === null;
  const detail = missing ? 'A JSON object is required as the body.' : 'The body must be a JSON object.';
  return { pointer: '', code: missing ? 'required' : 'invalid_type', detail };
}

/**
 * Shapes that the decorators cannot refuse, or only after they have cost too much: more fields or entries than anything here has;
 * a list within a list (`ValidateNested` descends into it and finds nothing wrong); nesting so deep that a recursive walk would
 * exhaust the stack; and a `constructor`, which class-transformer takes for the class of a value that has none and calls.
 */
function oddNesting(body: unknown): ProblemError | null {
  const waiting: { value: unknown; path: readonly (string | number)[] }[] = [{ value: body, path: [] }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (path.length >= MAX_DEPTH) {
      const detail = `The body is nested deeper than ${String(MAX_DEPTH)} levels.`;
      return { pointer: pointerTo(path), code: 'too_deep', detail };
    }
    const many = tooMany(value, path);
    if (many !== null) return many;
    const isList = Array.isArray(value);
    for (const [key, child] of Object.entries(value)) {
      if (key === 'constructor' && path.length > 0) {
        return unknownField([...path, key]);
      }
      if (typeof child !== 'object' || child === null) continue;
      if (isList && Array.isArray(child)) {
        const pointer = pointerTo([...path, key]);
        return { pointer, code: 'invalid_type', detail: 'a list within a list is not expected' };
      }
      waiting.push({ value: child, path: [...path, key] });
    }
  }
  return null;
}

function unknownField(path: readonly (string | number)[]): ProblemError {
  return { pointer: pointerTo(path), code: 'unknown_field', detail: `${String(path.at(-1))} is not a known field` };
}

function tooMany(value: object, path: readonly (string | number)[]): ProblemError | null {
  const isList = Array.isArray(value);
  const count = isList ? value.length : Object.keys(value).length;
  if (count <= (isList ? MAX_ENTRIES : MAX_FIELDS)) return null;
  const detail = isList ? `a list has ${MAX_ENTRIES} entries at most` : `an object has ${MAX_FIELDS} fields at most`;
  return { pointer: pointerTo(path), code: 'too_many', detail };
}

function errorsOf(violation: ValidationError, parents: readonly string[]): ProblemError[] {
  const path = [...parents, violation.property];
  const own = ownErrors(violation, pointerTo(path));
  // Within something of another type there is nothing to be right or wrong about.
  if (own.some(({ code }) => code === 'invalid_type')) return own;
  const children = (violation.children ?? []).flatMap((child) => errorsOf(child, path));
  return [...own, ...children];
}

function ownErrors(violation: ValidationError, pointer: string): ProblemError[] {
  const constraints = Object.entries(violation.constraints ?? {});
  if (constraints.length === 0) return [];
  const name = violation.property;
  if (constraints.some(([constraint]) => constraint === 'whitelistValidation')) {
    return [{ pointer, code: 'unknown_field', detail: `${name} is not a known field` }];
  }
  // A missing field fails each of its rules: one error says it.
  if (violation.value === undefined || violation.value === null) {
    return [{ pointer, code: 'required', detail: `${name} is required` }];
  }
  const wrongType = constraints.find(
    ([constraint]) => TYPE_CONSTRAINTS.has(constraint) && !contextCode(violation, constraint),
  );
  if (wrongType) return [{ pointer, code: 'invalid_type', detail: wrongType[1] }];
  return constraints.map(([constraint, detail]) => ({
    pointer,
    code: contextCode(violation, constraint) ?? CODES[constraint] ?? 'invalid_format',
    detail,
  }));
}

function contextCode(violation: ValidationError, constraint: string): string | undefined {
  const contexts: Readonly<Record<string, ConstraintContext | undefined>> = violation.contexts ?? {};
  const code = contexts[constraint]?.code;
  return typeof code === 'string' ? code : undefined;
}
