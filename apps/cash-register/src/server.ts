import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { MAX_LOCAL_REQUEST_BYTES, type LocalErrorCode } from '#fiscal-domain';
import { closePromptly, hasSeveralHosts, OwedAnswers, traceRequests } from '#http';
import { addEmulatorRoutes } from './emulator/emulator-routes.js';
import type { Register } from './register.js';
import { addScreen, isScreenRequest } from './screen/screen-routes.js';
import { subscriptionHeaders } from './subscription.js';
import { addRoutes, methodsOf } from './local-api/routes.js';
import { errorBody, httpStatusOf, type Refusal } from '#fiscal-module';

/** Longer than the idle time of common clients and proxies, so that it is they who close. */
const KEEP_ALIVE_MS = 72_000;
/** How long a connection that brought no HTTP stays open after it was answered. */
const RUBBISH_MS = 1_000;

/**
 * The local fiscal API of one register: a bare Fastify server, so that one process can serve one register or, as an
 * emulator, a thousand by the same code.
 *
 * @param all the registers of this process
 */
export function localApiServer(register: Register, all: () => readonly Register[] = () => [register]): FastifyInstance {
  const owed = new OwedAnswers();
  const server = Fastify({
    logger: false,
    bodyLimit: MAX_LOCAL_REQUEST_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // Node would refuse it without a word of ours.
    http: { requireHostHeader: false },
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, _request, reply) => {
      // A path that cannot be decoded never reaches the hooks.
      reply.headers(subscriptionHeaders(register.subscription()));
      void refuse(reply, { kind: 'refused', code: 'S-002', message: error.message });
    },
    clientErrorHandler: (_error, socket) => {
      if (!owed.endAfterThem(socket)) refuseRubbish(socket, subscriptionHeaders(register.subscription()));
    },
  });
  owed.watch(server.server);
  // Node answers 417 to an expectation that it does not know, with nothing in it. RFC 9110 §10.1.1 lets a server pass over it.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  traceRequests(server);
  closePromptly(server);
  readJsonBodies(server);
  server.addHook('onRequest', (request, reply, done) => {
    if (register.faults) reply.header('X-Emulator', '1');
    const isOfStatus = isStatus(request);
    if (!isOfStatus) reply.headers(subscriptionHeaders(register.subscription()));
    const fault = hostFault(request);
    if (fault !== null) {
      void refuse(reply, { kind: 'refused', code: 'S-003', message: fault }, 400);
      return;
    }
    if (isOfStatus) {
      done();
      return;
    }
    const given = request.headers['x-api-key'];
    if (isScreenRequest(request)) done();
    else if (typeof given === 'string' && register.accessToken.matches(given)) done();
    else void refuse(reply, { kind: 'refused', code: 'S-001', message: 'X-API-Key is missing or wrong' });
  });
  server.setNotFoundHandler((request, reply) => refuseUnknown(register, request, reply));
  server.setErrorHandler((error, request, reply) => refuseError(register, { error, request, reply }));
  addRoutes(server, register);
  addScreen(server, register);
  if (register.faults) {
    addEmulatorRoutes(server, register.faults, () => all().flatMap(({ faults }) => faults ?? []));
  }
  return server;
}

/** RFC 9112 §3.2: exactly one, which HTTP/1.0 may leave out. */
function hostFault({ headers, raw }: FastifyRequest): string | null {
  if (hasSeveralHosts(raw.rawHeaders)) return 'there is more than one Host header';
  return headers.host === undefined && raw.httpVersion === '1.1' ? 'there is no Host header' : null;
}

/** By the matched route; where none matches, the path only chooses between two refusals. */
function isStatus(request: FastifyRequest): boolean {
  return request.is404 ? pathOf(request) === '/status' : request.routeOptions.url === '/status';
}

export function refuse(reply: FastifyReply, refusal: Refusal, status = httpStatusOf(refusal.code)): FastifyReply {
  return reply.code(status).send(errorBody(refusal));
}

/** A body that is not the JSON it claims to be. */
class MalformedBody extends Error {}

/** An empty body is `undefined` for the route to judge: the shift calls take it, POST /receipts does not. */
function readJsonBodies(server: FastifyInstance): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(utf8.decode(body));
    } catch (error) {
      done(new MalformedBody(error instanceof Error ? error.message : String(error)));
      return;
    }
    done(null, parsed);
  });
}

function refuseUnknown(register: Register, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const allowed = methodsOf(pathOf(request), register);
  const message = `${request.method} ${pathOf(request)} is not a call of this API`;
  if (!allowed) return refuse(reply, { kind: 'refused', code: 'S-002', message });
  return refuse(reply.header('Allow', allowed), { kind: 'refused', code: 'S-002', message }, 405);
}

/** What is not HTTP at all still gets the documented body, then the connection ends. */
function refuseRubbish(socket: Socket, headers: Readonly<Record<string, string>>): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const refusal: Refusal = { kind: 'refused', code: 'S-003', message: 'the request is not HTTP that can be read' };
  const body = JSON.stringify(errorBody(refusal));
  const own = { 'Content-Type': 'application/json', 'Content-Length': String(body.length), Connection: 'close' };
  const lines = Object.entries({ ...headers, ...own }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
  // A peer that neither closes nor sends must not keep the connection.
  socket.setTimeout(RUBBISH_MS, () => socket.destroy());
}

interface FailedRequest {
  readonly error: unknown;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Framework errors by their code; anything else is ours: S-004 without a word about the inside. */
function refuseError(register: Register, { error, request, reply }: FailedRequest): FastifyReply {
  const malformed = (message: string): Refusal => ({ kind: 'refused', code: 'S-003', message });
  if (error instanceof MalformedBody) return refuse(reply, malformed(`the body is not valid JSON: ${error.message}`));
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return refuse(reply, malformed(`the body is larger than ${String(MAX_LOCAL_REQUEST_BYTES)} bytes`), 413);
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return refuse(reply, malformed('the content type must be application/json'), 415);
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return refuse(reply, malformed(error instanceof Error ? error.message : 'the request cannot be read'), statusCode);
  }
  register.logger.error(
    { err: error, method: request.method, path: pathOf(request) },
    'a call failed inside the register',
  );
  const internal: LocalErrorCode = 'S-004';
  return refuse(reply, { kind: 'refused', code: internal, message: 'internal error of the register' });
}

export function pathOf(request: FastifyRequest): string {
  const [path = '/'] = request.url.split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
