import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#runtime';
import { problemCodeOf } from './problem-filter.js';

/** Counts every answer by method, route and status, and those that are problem documents by their code. */
export function observeRequests(fastify: FastifyInstance, metrics: Metrics): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    metrics.httpDuration.observe(labels, reply.elapsedTime / 1_000);
    const code = problemCodeOf(reply);
    if (code !== undefined) metrics.httpProblems.inc({ code });
    done();
  });
}
