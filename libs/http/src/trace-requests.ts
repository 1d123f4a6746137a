import type { FastifyInstance, FastifyRequest } from 'fastify';
import { beginRequestTrace, currentTrace, isTracing, withTrace, type Span, type TraceContext } from '#runtime';

interface RequestTrace {
  context: TraceContext;
  span: Span | null;
}

const TRACES = new WeakMap<FastifyRequest, RequestTrace>();
/** Asked every few seconds, by programs. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** The id of the request's trace, for its log lines and its problem; undefined while nothing is traced. */
export function traceIdOf(request: FastifyRequest): string | undefined {
  return TRACES.get(request)?.context.traceId;
}

/** Gives each request a place in a trace. Before all other hooks, so that what they refuse has one too; nothing while tracing is off. */
export function traceRequests(fastify: FastifyInstance): void {
  if (!isTracing()) return;
  fastify.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const given = request.headers['traceparent'];
    const trace = UNTRACED.has(route)
      ? null
      : beginRequestTrace(`${request.method} ${route}`, typeof given === 'string' ? given : undefined);
    if (!trace) return done();
    TRACES.set(request, trace);
    trace.span?.set({ 'http.request.method': request.method, 'http.route': route, 'request.id': request.id });
    withTrace(trace.context, done);
  });
  // A body arrives by events of the connection, which know nothing of the request's trace.
  fastify.addHook('preHandler', (request, _reply, done) => {
    const context = TRACES.get(request)?.context ?? null;
    // Without a body, or with one that came along with the head, it is still known: each entry costs.
    if (context === currentTrace()) done();
    else withTrace(context, done);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const span = TRACES.get(request)?.span;
    span?.set({ 'http.response.status_code': reply.statusCode });
    if (reply.statusCode >= 500) span?.fail(`HTTP ${String(reply.statusCode)}`);
    span?.end();
    done();
  });
}
