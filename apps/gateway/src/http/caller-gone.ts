import type { FastifyRequest } from 'fastify';
import { Problem } from '#problems';

/** Whether the connection of a request is closed: no answer will be read. */
export type IsCallerGone = () => boolean;

export function callerOf({ raw }: FastifyRequest): IsCallerGone {
  return () => raw.socket.destroyed;
}

/** What is not begun for a caller that has gone: it may ask again, and would then have it twice. */
export function callerGone(): Problem {
  return new Problem('service_unavailable', 'The connection was closed before anything was written.');
}
