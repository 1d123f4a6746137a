import type { Language } from './languages.js';
import { isProblemCode, PROBLEMS, type ProblemCode, type ProblemKind } from './problem-codes.js';
import { textOfProblem, type ProblemFacts } from './problem-texts.js';

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

export interface ProblemOptions {
  errors?: readonly ProblemError[];
  /** When it is worth trying again, where that is known better than by the code. */
  retryAfterSeconds?: number;
  /** Logged, never answered. */
  cause?: unknown;
}

/**
 * Why something was not done, for the caller's developer: a code of the catalogue, a sentence, and where in the request. It knows
 * nothing of HTTP: `libs/http` makes the answer of it, and no other place reads a status.
 */
export class Problem extends Error {
  override readonly name: string = 'Problem';
  readonly errors: readonly ProblemError[];
  readonly retryAfterSeconds: number | null;
  /** Faults that there are, also those that are not listed. */
  readonly faults: number;
  /** `detail` is no more than what `errors` say. */
  private sumsUpErrors = false;

  /** @param detail one sentence for the caller's developer; nothing secret */
  constructor(
    readonly code: ProblemCode,
    readonly detail: string = PROBLEMS[code].title,
    options: ProblemOptions = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    const kind: ProblemKind = PROBLEMS[code];
    this.faults = options.errors?.length ?? 0;
    this.errors = options.errors?.slice(0, MAX_ERRORS) ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds ?? kind.retryAfterSeconds ?? null;
  }

  /** The request itself is in the way, as against a service that is not able to: the same request meets the same. */
  get isRefusal(): boolean {
    return PROBLEMS[this.code].status < 500;
  }

  /**
   * The problem of one or more faults: its code is that of the first one.
   * @throws RangeError when there is none
   */
  static fromErrors(errors: readonly ProblemError[]): Problem {
    const [first, ...more] = errors;
    if (!first) throw new RangeError('a problem needs at least one fault');
    const code = isProblemCode(first.code) ? first.code : 'receipt_refused';
    const problem = new Problem(code, summaryOf(shownError(first), more.length, 'en'), {
      errors: errors.map(withRule),
    });
    problem.sumsUpErrors = true;
    return problem;
  }

  /** The problem of one fault. @param pointer see ProblemError */
  static at(pointer: string, code: string, detail: string): Problem {
    return Problem.fromErrors([{ pointer, code, detail }]);
  }

  /** @param language of the faults, where there are words for them (problem-texts.ts); everything else stays English */
  detailIn(language: Language): string {
    const [first] = this.errors;
    if (!first || !this.sumsUpErrors) return this.detail;
    return summaryOf(shownError(first, language), this.faults - 1, language);
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

function summaryOf(first: ShownError, more: number, language: Language): string {
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
