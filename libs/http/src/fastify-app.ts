import type { IncomingMessage } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addBodyParsers, FORM_LIMIT_BYTES } from './body-parsers.js';
import type { Cidr } from '#outgoing';
import { BodyValidationPipe } from './body-validation.pipe.js';
import { answerClientError } from './client-error.js';
import { NestLogger, type Logger } from '#runtime';
import type { Metrics } from '#runtime';
import { observeRequests } from './observe-requests.js';
import { noRouteProblem, ProblemFilter, sendProblem } from './problem-filter.js';
import { httpProblemOf } from './problem-of.js';
import { Problem } from '#problems';
import { OwedAnswers } from './owed-answers.js';
import { HttpProblem } from './problem-answer.js';
import { closePromptly } from './prompt-closing.js';
import { hostFault } from './raw-headers.js';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';
import { RouteTable } from './route-table.js';
import { SECURITY_HEADERS, STRICT_TRANSPORT } from './security-headers.js';
import { refuseTinyChunks } from './tiny-chunks.js';
import { traceRequests } from './trace-requests.js';
import { endUnreadAnswers } from './unread-answers.js';
import { leaveUnreadBodies } from './unread-bodies.js';

/** Of a call whose route has no limit of its own. */
export const BODY_LIMIT_BYTES = 256 * 1024;

export interface HttpAppOptions {
  logger: Logger;
  metrics?: Metrics;
  /** Proxies whose `X-Forwarded-For` is trusted; none unless given. */
  trustedProxies?: readonly Cidr[];
  /** Default 256 KiB. */
  bodyLimitBytes?: number;
  /** How long a whole request may take to arrive. Default 30 s. */
  requestTimeoutMs?: number;
  /** The outside reaches this by https alone: browsers are informed of it. */
  isHttpsOutside?: boolean;
  /** How long a client may leave an answer without taking anything of it. Default 2 minutes. */
  unreadAnswerMs?: number;
  /** How long an idle connection is kept; longer than the usual proxy's 60 s. Default 75 s. */
  keepAliveTimeoutMs?: number;
}

/** Nest's root module as `NestFactory.create` takes it. */
export type RootModule = Parameters<typeof NestFactory.create>[0];

/**
 * A Nest application on Fastify with what every program shares: problem documents for every error, request ids, body
 * limit and timeouts, raw bodies, validation of bodies. The caller calls `listen` and `close`.
 */
export async function createFastifyNestApp(
  module: RootModule,
  options: HttpAppOptions,
): Promise<NestFastifyApplication> {
  const routes = new RouteTable();
  const adapter = createAdapter(options);
  addHooks(adapter.getInstance<FastifyInstance>(), routes, options);
  addBodyParsers(adapter);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLogger(options.logger),
    rawBody: true,
    abortOnError: false,
    return503OnClosing: false,
  });
  app.useGlobalFilters(new ProblemFilter(options.logger, (url) => routes.methodsOf(url)));
  app.useGlobalPipes(new BodyValidationPipe());
  return app;
}

/**
 * Stops taking requests, lets those in hand finish, and only then closes what they use. (`app.close()` alone would
 * disconnect the database first.)
 */
export async function stopFastifyNestApp(app: NestFastifyApplication): Promise<void> {
  await app.getHttpAdapter().getInstance().close();
  await app.close();
}

function createAdapter(options: HttpAppOptions): FastifyAdapter {
  const requestTimeout = options.requestTimeoutMs ?? 30_000;
  const trustProxy = (options.trustedProxies ?? []).map((cidr) => cidr.text);
  const owed = new OwedAnswers();
  const adapter = new FastifyAdapter({
    bodyLimit: options.bodyLimitBytes ?? BODY_LIMIT_BYTES,
    requestTimeout,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? 75_000,
    http: {
      requestTimeout,
      headersTimeout: Math.min(requestTimeout, 10_000),
      // Node checks for slow requests this often.
      connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
      // Refused by our own hook: Node would answer an empty 400, without a problem and without a request id.
      requireHostHeader: false,
    },
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    genReqId: (request: IncomingMessage) => requestIdOf(request.headers),
    requestIdHeader: false,
    clientErrorHandler: (error, socket) => {
      if (!owed.endAfterThem(socket)) answerClientError(error, socket);
    },
    // The router's own refusals (broken escape in the path) come before any hook or filter.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.headers(SECURITY_HEADERS);
      sendProblem(reply, httpProblemOf(error), request.id);
    },
    forceCloseConnections: 'idle',
    // Answered as a problem by our own hook.
    return503OnClosing: false,
    logger: false,
  });
  owed.watch(adapter.getInstance<FastifyInstance>().server);
  return adapter;
}

function addHooks(fastify: FastifyInstance, routes: RouteTable, options: HttpAppOptions): void {
  const { metrics, isHttpsOutside, unreadAnswerMs } = options;
  const always = isHttpsOutside === true ? { ...SECURITY_HEADERS, ...STRICT_TRANSPORT } : SECURITY_HEADERS;
  fastify.addHook('onRoute', (route) => {
    routes.add(route.url, route.method);
    const config: object = route.config ?? {};
    if ('bodyLimitBytes' in config && typeof config.bodyLimitBytes === 'number')
      route.bodyLimit = config.bodyLimitBytes;
    else if ('acceptsForm' in config) route.bodyLimit = FORM_LIMIT_BYTES;
  });
  traceRequests(fastify);
  const stopping = closePromptly(fastify);
  fastify.addHook('onRequest', (request, reply, done) => {
    refuseTinyChunks(request.raw);
    void reply.headers(always).header(REQUEST_ID_HEADER, request.id);
    // Answers of the API belong to one caller; handlers may set another value.
    if (request.routeOptions.url?.startsWith('/v1/')) void reply.header('cache-control', 'no-store');
    if (stopping.isClosing()) {
      sendProblem(reply, new Problem('shutting_down'), request.id);
      return;
    }
    const fault = hostFault(request.raw);
    if (fault !== null) {
      sendProblem(reply, new Problem('malformed_request', fault), request.id);
      return;
    }
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding.toLowerCase() === 'identity') done();
    else refuseEncoding(request, reply);
  });
  // After every check that needs no body, before the first byte of it: what leads nowhere is not parsed.
  fastify.addHook('preParsing', (request, reply, payload, done) => {
    if (request.is404) sendProblem(reply, noRouteProblem(routes.methodsOf(request.url)), request.id);
    else done(null, payload);
  });
  leaveUnreadBodies(fastify);
  endUnreadAnswers(fastify, unreadAnswerMs);
  if (metrics) observeRequests(fastify, metrics);
}

/** A compressed body would not parse and could hide its size: refused by name instead of as broken JSON. */
function refuseEncoding(request: FastifyRequest, reply: FastifyReply): void {
  const problem = new HttpProblem('unsupported_media_type', 'Send the body without Content-Encoding.', {
    'accept-encoding': 'identity',
  });
  sendProblem(reply, problem, request.id);
}
