import { ValidateBy, type ValidationOptions } from 'class-validator';
import { labelProblem, parseQuantity, textProblem } from '#fiscal-domain';

const MAX_METADATA_KEYS = 50;
const MAX_METADATA_KEY_LENGTH = 64;
const MAX_METADATA_VALUE_LENGTH = 512;

/** A quantity that libs/fiscal-domain can read without a float: JSON number or decimal text. */
export function IsQuantity(options?: ValidationOptions): PropertyDecorator {
  return constraint('isQuantity', 'invalid_quantity', options, (value) => {
    if (typeof value !== 'number' && typeof value !== 'string') return 'must be a number or a decimal text';
    const parsed = parseQuantity(value);
    if (parsed.kind === 'ok') return null;
    return {
      not_a_number: 'must be a plain decimal number',
      not_positive: 'must be greater than 0',
      too_many_decimals: 'must have at most 3 decimals',
      too_large: 'is too large',
      too_precise: 'must be a decimal text: no JSON number of this size says three decimals exactly',
    }[parsed.reason];
  });
}

/** Text that PostgreSQL, JSON and a receipt printer can all hold. */
export function IsCleanText(options?: ValidationOptions): PropertyDecorator {
  return constraint('isCleanText', 'invalid_text', options, (value) => (isText(value) ? textFault(value) : null));
}

/** A marking code: as clean text, but the GS1 separator U+001D belongs to it. */
export function IsMarkingCode(options?: ValidationOptions): PropertyDecorator {
  return constraint('isMarkingCode', 'invalid_text', options, (value) =>
    isText(value) && labelProblem(value) !== null ? 'must be a marking code without control characters' : null,
  );
}

export function IsEmailShaped(options?: ValidationOptions): PropertyDecorator {
  return constraint('isEmailShaped', 'invalid_format', options, (value) => {
    if (!isText(value)) return 'must be a text';
    if (textFault(value)) return textFault(value);
    return value.length <= 254 && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(value) ? null : 'must be an e-mail address';
  });
}

export function IsWebUrl(options?: ValidationOptions): PropertyDecorator {
  return constraint('isWebUrl', 'invalid_format', options, (value) => {
    if (!isText(value) || !URL.canParse(value)) return 'must be an absolute URL';
    if (textFault(value)) return textFault(value);
    return /^https?:$/.test(new URL(value).protocol) ? null : 'must be an http or https URL';
  });
}

/** `{text: text}`, at most 50 entries. */
export function IsMetadata(options?: ValidationOptions): PropertyDecorator {
  return constraint('isMetadata', 'invalid_value', options, (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object of texts';
    const entries = Object.entries(value);
    if (entries.length > MAX_METADATA_KEYS) return `must have at most ${MAX_METADATA_KEYS} keys`;
    return entries.map(metadataFault).find((fault) => fault !== null) ?? null;
  });
}

function metadataFault([key, value]: [string, unknown]): string | null {
  if (key.length === 0 || key.length > MAX_METADATA_KEY_LENGTH) {
    return `must have keys of 1 to ${MAX_METADATA_KEY_LENGTH} characters`;
  }
  if (!isText(value)) return 'must have texts as values';
  if (value.length > MAX_METADATA_VALUE_LENGTH)
    return `must have values of at most ${MAX_METADATA_VALUE_LENGTH} characters`;
  return textFault(key) ?? textFault(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function textFault(text: string): string | null {
  const problem = textProblem(text);
  if (problem === null) return null;
  return {
    nul: 'must not contain the NUL character',
    control: 'must not contain control characters',
    lone_surrogate: 'must be well-formed Unicode',
    marks: 'must not contain more than 30 combining marks in a row',
  }[problem];
}

/** One class-validator constraint whose fault text is computed, with the problem code that it answers with. */
function constraint(
  name: string,
  code: string,
  options: ValidationOptions | undefined,
  faultOf: (value: unknown) => string | null,
): PropertyDecorator {
  const faultOfAny = (value: unknown): string | null =>
    options?.each && Array.isArray(value)
      ? (value.map(faultOf).find((fault) => fault !== null) ?? null)
      : faultOf(value);
  return ValidateBy(
    {
      name,
      validator: {
        validate: (value: unknown) => faultOf(value) === null,
        defaultMessage: (args) => faultOfAny(args?.value) ?? 'is not valid',
      },
    },
    { ...options, context: { code } },
  );
}
