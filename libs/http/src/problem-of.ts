import { HttpException } from '@nestjs/common';
import { Problem, problemOf, type ProblemCode } from '#problems';
import { isError } from '#runtime';

/** The framework's errors by their own code: more exact than the status. */
const BY_FASTIFY_CODE: Readonly<Record<string, { code: ProblemCode; detail: string }>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'malformed_json', detail: 'The body is not valid JSON.' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'malformed_json', detail: 'The body is empty, JSON was expected.' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    detail: 'The body is not as long as Content-Length says.',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'payload_too_large', detail: 'The body is larger than this path allows.' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'Send the body as application/json, without Content-Encoding.',
  },
  FST_ERR_BAD_URL: { code: 'malformed_request', detail: 'The path holds a broken percent escape.' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'uri_too_long', detail: 'A part of the path is too long.' },
};

const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  400: 'malformed_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  409: 'conflict',
  413: 'payload_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  422: 'invalid_value',
  429: 'too_many_requests',
  431: 'headers_too_large',
  503: 'service_unavailable',
};

/** Any thrown value as the problem that is answered: the framework's errors by their own code, everything else by what it is. */
export function httpProblemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const framework = frameworkCode(error) ?? frameworkCode(isError(error) ? error.cause : undefined);
  const known = framework === undefined ? undefined : BY_FASTIFY_CODE[framework];
  if (known) return new Problem(known.code, known.detail, { cause: error });
  const status = statusOf(error);
  if (status === undefined) return problemOf(error);
  return new Problem(BY_STATUS[status] ?? (status < 500 ? 'malformed_request' : 'internal'), undefined, {
    cause: error,
  });
}

function frameworkCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('FST_') ? code : undefined;
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  const isFramework = frameworkCode(error) !== undefined;
  const status =
    isFramework && typeof error === 'object' && error !== null && 'statusCode' in error && error.statusCode;
  return typeof status === 'number' ? status : undefined;
}
