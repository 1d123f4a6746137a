import { isIP } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { clientOf } from '../http/current-client.js';

/** Who asks for a change, as the trail names it. */
export interface Caller {
  merchantId: string;
  /** The OAuth client's id; of a session its user's. */
  actor: string;
  address: string | null;
  /** Of a person; left out or null: a client of the API or a program. */
  sessionId?: string | null;
  requestId: string;
}

/** A handler's parameter: the authenticated caller of an audited change. Only on routes with `@Scopes`. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller =>
  callerOfRequest(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** @throws Error on a route without `@Scopes` */
export function callerOfRequest(request: FastifyRequest): Caller {
  const client = clientOf(request);
  if (!client) throw new Error('@CurrentCaller needs @Scopes on the same handler');
  // Behind a proxy the address comes from a header and can be any text.
  const address = isIP(request.ip) === 0 ? null : request.ip;
  return {
    ...{ merchantId: client.merchantId, actor: client.clientId, address, requestId: request.id },
    sessionId: client.person?.sessionId ?? null,
  };
}
