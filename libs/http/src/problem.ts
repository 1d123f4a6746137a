import type { Language } from './language.js';
import { isProblemCode, PROBLEMS, type ProblemCode, type ProblemKind } from './problem-codes.js';
import { textOfProblem, type ProblemFacts } from './problem-texts.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Faults that an answer lists: a small request can have many thousands. */
const MAX_ERRORS = 100;

/** One fault of the request. */
export interface ProblemError {
  /** RFC 6901 pointer into the body, 0-based; `''` is the whole body. */
  pointer: string;
  code: string;
  rule?: string;
  /** In English. */
  detail: string;
  /** For the sentence about it in any language; never answered by themselves. */
  facts?: ProblemFacts;
}

/** A fault as it is answered. */
export type ShownError = Omit<ProblemError, 'facts'>;

/** RFC 9457 document as docs/errors.md shows it. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  retryable: boolean;
  request_id: string;
  /** Of the request's trace, while the gateway traces. */
  trace_id?: string;
  errors: ShownError[];
}

export interface ProblemOptions {
  errors?: readonly ProblemError[];
  headers?: Readonly<Record<string, string>>;
  /** Logged, never answered. */
  cause?: unknown;
}

/** An answer that is not the one the caller hoped for. Thrown anywhere below a controller, answered in one place. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly errors: readonly ProblemError[];
  readonly headers: Readonly<Record<string, string>>;
  private readonly kind: ProblemKind;
  /** `detail` is no more than what `errors` say. */
  private sumsUpErrors = false;
  /** Faults that there are, also those that are not listed. */
  private readonly faults: number;

  /** @param detail one sentence for the caller's developer; nothing secret */
  constructor(
    readonly code: ProblemCode,
    readonly detail: string = PROBLEMS[code].title,
    options: ProblemOptions = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = PROBLEMS[code];
    this.status = this.kind.status;
    this.faults = options.errors?.length ?? 0;
    this.errors = options.errors?.slice(0, MAX_ERRORS) ?? [];
    const { retryAfterSeconds } = this.kind;
    this.headers = {
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...lowerCaseNames(options.headers ?? {}),
    };
  }

  /**
   * The problem of one or more faults: its code is that of the first one.
   * @throws RangeError when there is none
   */
  static fromErrors(errors: readonly ProblemError[]): Problem {
    const [first, ...more] = errors;
    if (!first) throw new RangeError('a problem needs at least one fault');
    const code = isProblemCode(first.code) ? first.code : 'receipt_refused';
    const problem = new Problem(code, summary(shownError(first), more.length, 'en'), { errors: errors.map(withRule) });
    problem.sumsUpErrors = true;
    return problem;
  }

  /** @param language of the details, where there are words for them (problem-texts.ts); everything else stays English */
  toDocument(requestId: string, language: Language = 'en'): ProblemDocument {
    const errors = this.errors.map((error) => shownError(error, language));
    const [first] = errors;
    return {
      type: `urn:fiscal-gateway:problem:${this.code}`,
      title: this.kind.title,
      status: this.status,
      detail: first && this.sumsUpErrors ? summary(first, this.faults - 1, language) : this.detail,
      code: this.code,
      retryable: this.kind.retryable,
      request_id: requestId,
      errors,
    };
  }
}

/** A fault as it is answered: worded in the language, its figures within the sentence. */
export function shownError({ facts, ...error }: ProblemError, language: Language = 'en'): ShownError {
  return { ...error, detail: textOfProblem(error.code, language, facts) ?? error.detail };
}

const MORE: Readonly<Record<Language, (count: number) => string>> = {
  en: (count) => `(and ${String(count)} more, see errors)`,
  ru: (count) => `(и ещё ${String(count)}, см. errors)`,
  uz: (count) => `(va yana ${String(count)} ta, errors maydoniga qarang)`,
};

function summary(first: ShownError, more: number, language: Language): string {
  return more === 0 ? first.detail : `${first.detail} ${MORE[language](more)}`;
}

/** RFC 6901 pointer of the path, e.g. `/items/0/price`. */
export function pointerTo(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function withRule(error: ProblemError): ProblemError {
  if (error.rule !== undefined || !isProblemCode(error.code)) return error;
  const { rule }: ProblemKind = PROBLEMS[error.code];
  return rule === undefined ? error : { ...error, rule };
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
