import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PLATFORM } from './roles.js';

/** Who calls, as the token or the session says. */
export interface AuthenticatedClient {
  /** A client's id; of a session its user's. */
  clientId: string;
  merchantId: string;
  scopes: readonly string[];
  /** This client must send an Idempotency-Key where one is possible. */
  requireIdempotencyKey: boolean;
}

/** What is known of a person beyond what a client has. */
export interface Person {
  userId: string;
  sessionId: string;
  /** Of this request's merchant, or of the platform. */
  roles: readonly string[];
  /** Until when a second factor that was shown counts, ms since 1970; null: none was. */
  stepUpUntilMs: number | null;
  /** By a token, at the command line; a browser has a cookie. */
  isAtTerminal: boolean;
}

/** What the guard itself must know of the caller. */
export interface KnownClient extends AuthenticatedClient {
  /** Canonical networks from which it may call; null: from anywhere. Empty: from nowhere. */
  allowedCidrs: readonly string[] | null;
  /** Only of a session. */
  person?: Person;
}

/** Where the access guard leaves the client on the request. */
export const CLIENT_PROPERTY = 'oauthClient';

/** A handler's parameter: the authenticated client. Only on routes with `@Scopes`. */
export const CurrentClient = createParamDecorator((_data: unknown, context: ExecutionContext): AuthenticatedClient => {
  const client = clientOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (!client) throw new Error('@CurrentClient needs @Scopes on the same handler');
  return client;
});

/** A handler's parameter: the person whose session calls. Only on routes with `@ForPeople`. */
export const CurrentPerson = createParamDecorator((_data: unknown, context: ExecutionContext): Person => {
  const person = clientOf(context.switchToHttp().getRequest<FastifyRequest>())?.person;
  if (!person) throw new Error('@CurrentPerson needs @ForPeople on the same handler');
  return person;
});

export function clientOf(request: FastifyRequest): KnownClient | undefined {
  return (request as FastifyRequest & { [CLIENT_PROPERTY]?: KnownClient })[CLIENT_PROPERTY];
}

/** Whose share of what all use a call takes: its merchant's; of what a person does for itself or the platform, that person's. */
export function shareOf({ clientId, merchantId }: KnownClient): string {
  return merchantId === PLATFORM ? clientId : merchantId;
}

export function setClient(request: FastifyRequest, client: KnownClient): void {
  (request as FastifyRequest & { [CLIENT_PROPERTY]?: KnownClient })[CLIENT_PROPERTY] = client;
}
