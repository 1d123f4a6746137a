import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOfRequest } from '../../../audit/caller.js';
import { clientOf } from '../../../http/current-client.js';
import type { RoleGiver } from '../invitations/invitations.js';

/** A handler's parameter: who gives roles. Only on routes with `@Scopes`. */
export const CurrentGiver = createParamDecorator((_data: unknown, context: ExecutionContext): RoleGiver => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const client = clientOf(request);
  return { ...callerOfRequest(request), scopes: client?.scopes ?? [], roles: client?.person?.roles ?? [] };
});
