import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Who calls, as the token says. */
export interface AuthenticatedClient {
  clientId: string;
  merchantId: string;
  scopes: readonly string[];
  /** This client must send an Idempotency-Key where one is possible. */
  requireIdempotencyKey: boolean;
}

/** What the guard itself must know of the caller. */
export interface KnownClient extends AuthenticatedClient {
  /** Canonical networks from which it may call; null: from anywhere. Empty: from nowhere. */
  allowedCidrs: readonly string[] | null;
}

/** Where the access guard leaves the client on the request. */
export const CLIENT_PROPERTY = 'oauthClient';

/** A handler's parameter: the authenticated client. Only on routes with `@Scopes`. */
export const CurrentClient = createParamDecorator((_data: unknown, context: ExecutionContext): AuthenticatedClient => {
  const client = clientOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (!client) throw new Error('@CurrentClient needs @Scopes on the same handler');
  return client;
});

export function clientOf(request: FastifyRequest): KnownClient | undefined {
  return (request as FastifyRequest & { [CLIENT_PROPERTY]?: KnownClient })[CLIENT_PROPERTY];
}
