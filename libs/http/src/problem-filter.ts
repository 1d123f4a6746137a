import { Catch, NotFoundException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { preferredLanguage } from './language.js';
import type { Logger } from '#runtime';
import { httpProblemOf } from './problem-of.js';
import { Problem, type ProblemCode } from '#problems';
import { headersOf, HttpProblem, PROBLEM_MEDIA_TYPE, problemDocument, statusOf } from './problem-answer.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { traceIdOf } from './trace-requests.js';

/** The one place that turns anything thrown into `application/problem+json` (docs/errors.md). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  /** @param allowedMethods methods that exist for the path of a URL, to distinguish 405 from 404 */
  constructor(
    private readonly logger: Logger,
    private readonly allowedMethods: (url: string) => readonly string[],
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const problem = this.problemFor(error, request);
    this.log(problem, error, request);
    if (reply.sent) return;
    sendProblem(reply, problem, request.id);
  }

  private problemFor(error: unknown, request: FastifyRequest): Problem {
    // Handlers throw Problem('not_found'); Nest's own exception means that no route fits.
    if (!(error instanceof NotFoundException)) return httpProblemOf(error);
    return noRouteProblem(this.allowedMethods(request.url));
  }

  private log(problem: Problem, error: unknown, request: FastifyRequest): void {
    const fields = {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url,
      code: problem.code,
    };
    if (!problem.isRefusal) this.logger.error({ ...fields, err: error }, 'request failed');
    else this.logger.debug({ ...fields, detail: problem.detail }, 'request refused');
  }
}

/** Of a request that no route fits. @param methods those that its path has */
export function noRouteProblem(methods: readonly string[]): Problem {
  if (methods.length === 0) return new Problem('not_found', 'There is no such path.');
  const allow = methods.join(', ');
  return new HttpProblem('method_not_allowed', `This path answers ${allow}.`, { allow });
}

const PROBLEM_CODES = new WeakMap<FastifyReply, ProblemCode>();

/** The code that a reply was answered with; undefined where it was no problem document. */
export function problemCodeOf(reply: FastifyReply): ProblemCode | undefined {
  return PROBLEM_CODES.get(reply);
}

/** Answers with the problem; also for places that run before Nest's filters. */
export function sendProblem(reply: FastifyReply, problem: Problem, requestId: string): void {
  PROBLEM_CODES.set(reply, problem.code);
  const traceId = traceIdOf(reply.request);
  const language = preferredLanguage(reply.request.headers['accept-language']);
  const document = problemDocument(problem, requestId, language);
  void reply
    .status(statusOf(problem))
    .headers({ ...headersOf(problem), [REQUEST_ID_HEADER]: requestId, 'cache-control': 'no-store' })
    .type(PROBLEM_MEDIA_TYPE)
    .send(JSON.stringify(traceId === undefined ? document : { ...document, trace_id: traceId }));
}
