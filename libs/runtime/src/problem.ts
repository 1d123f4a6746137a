import { isProblemCode, PROBLEMS, type ProblemCode, type ProblemKind } from './problem-codes.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** One fault of the request. */
export interface ProblemError {
  /** RFC 6901 pointer into the body, 0-based; `''` is the whole body. */
  pointer: string;
  code: string;
  rule?: string;
  detail: string;
}

/** RFC 9457 document as contract.md "Errors" gives it. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  retryable: boolean;
  request_id: string;
  errors: ProblemError[];
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

  /** @param detail one sentence for the caller's developer; nothing secret */
  constructor(
    readonly code: ProblemCode,
    readonly detail: string = PROBLEMS[code].title,
    options: ProblemOptions = {},
  ) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = PROBLEMS[code];
    this.status = this.kind.status;
    this.errors = options.errors ?? [];
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
    const detail = more.length === 0 ? first.detail : `${first.detail} (and ${String(more.length)} more, see errors)`;
    return new Problem(code, detail, { errors: errors.map(withRule) });
  }

  toDocument(requestId: string): ProblemDocument {
    return {
      type: `urn:fiscal-gateway:problem:${this.code}`,
      title: this.kind.title,
      status: this.status,
      detail: this.detail,
      code: this.code,
      retryable: this.kind.retryable,
      request_id: requestId,
      errors: [...this.errors],
    };
  }
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
