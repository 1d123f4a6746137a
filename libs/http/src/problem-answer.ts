import {
  Problem,
  PROBLEMS,
  shownError,
  type Language,
  type ProblemKind,
  type ProblemOptions,
  type ShownError,
} from '#problems';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

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

/** A problem that only HTTP has, with the headers that belong to it. Names in lower case. */
export class HttpProblem extends Problem {
  constructor(
    code: Problem['code'],
    detail: string | undefined,
    readonly headers: Readonly<Record<string, string>>,
    options: ProblemOptions = {},
  ) {
    super(code, detail, options);
  }
}

/** For pages about a code; of a problem that happened ask `statusOf`. */
export function problemKind(code: Problem['code']): ProblemKind {
  return PROBLEMS[code];
}

export function statusOf({ code }: Problem): number {
  return PROBLEMS[code].status;
}

/** What is answered beside the document. */
export function headersOf(problem: Problem): Record<string, string> {
  const { retryAfterSeconds } = problem;
  return {
    ...(retryAfterSeconds !== null && { 'retry-after': String(retryAfterSeconds) }),
    ...(problem instanceof HttpProblem && problem.headers),
  };
}

/**
 * Where the gateway says what the code means and what its caller does. A reference with its full path (RFC 9457 §3.1.1): the same
 * text at every gateway, whatever its address. Programs compare `code`.
 */
export function typeOfProblem(code: Problem['code']): string {
  return `/docs/problems/${code}`;
}

/** @param language of the details, where there are words for them; everything else stays English */
export function problemDocument(problem: Problem, requestId: string, language: Language = 'en'): ProblemDocument {
  const { code } = problem;
  const { title, status, retryable } = PROBLEMS[code];
  return {
    type: typeOfProblem(code),
    title,
    status,
    detail: problem.detailIn(language),
    code,
    retryable,
    request_id: requestId,
    errors: problem.errors.map((error) => shownError(error, language)),
  };
}
