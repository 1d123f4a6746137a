import type { FastifyInstance } from 'fastify';
import { PROBLEMS } from '#problems';
import type { Metrics } from '#runtime';
import { problemCodeOf } from './problem-filter.js';

/** Of refusals whose increase an alert adds up (ops/prometheus/alerts.yml, group `security`). */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Counts every answer by method, route and status, and those that are problem documents by their code. */
export function observeRequests(fastify: FastifyInstance, metrics: Metrics): void {
  // From 0 on: a series that begins with a thousand refusals has not increased, as Prometheus sees it.
  for (const [code, { status }] of Object.entries(PROBLEMS))
    if (REFUSALS.has(status)) metrics.httpProblems.inc({ code }, 0);
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    metrics.httpDuration.observe(labels, reply.elapsedTime / 1_000);
    const code = problemCodeOf(reply);
    if (code !== undefined) metrics.httpProblems.inc({ code });
    done();
  });
}
