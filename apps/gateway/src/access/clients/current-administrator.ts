import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOfRequest } from '../../audit/caller.js';
import { clientOf } from '../../http/current-client.js';
import type { Administrator } from './client-administrator.js';

/** A handler's parameter: who administers clients. Only on routes with `@Scopes`. */
export const CurrentAdministrator = createParamDecorator((_data: unknown, context: ExecutionContext): Administrator => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { ...callerOfRequest(request), scopes: clientOf(request)?.scopes ?? [] };
});
