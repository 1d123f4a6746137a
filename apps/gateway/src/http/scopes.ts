import type { FastifyRequest } from 'fastify';
import { addToRouteConfig } from '#http';

/** What a token may allow (docs/access.md). */
export const SCOPES = [
  'receipts:write',
  'receipts:read',
  'refunds:write',
  'payments:write',
  'catalog:write',
  'catalog:read',
  'devices:admin',
  'operator:resolve',
  'webhooks:admin',
  'messages:write',
  'clients:admin',
] as const;

export type Scope = (typeof SCOPES)[number];

/** On a handler or controller: a valid token with all of these scopes is needed. Every route below /v1 has it. */
export function Scopes(...scopes: [Scope, ...Scope[]]): MethodDecorator & ClassDecorator {
  return onHandlers({ scopes });
}

/** On a handler below /v1 whose caller is authenticated otherwise than by a token: payment providers, by their own protocols. */
export function OwnAuthentication(): MethodDecorator & ClassDecorator {
  return onHandlers({ ownAuthentication: true });
}

/**
 * The scopes that a request's route needs; null for a public route, and for a path without a route. It goes by the route that
 * matched and never by the URL, which can spell the same path in many ways.
 * @throws Error for a route below /v1 that says nothing: a mistake of ours, which stays closed
 */
export function neededScopes({ method, routeOptions }: FastifyRequest): readonly Scope[] | null {
  const { url = '', config } = routeOptions;
  const { scopes, ownAuthentication } = config;
  if (scopes) return scopes;
  if (ownAuthentication === true || !url.startsWith('/v1')) return null;
  throw new Error(`${method} ${url} has no @Scopes`);
}

interface RouteAccess {
  scopes?: readonly Scope[];
  ownAuthentication?: boolean;
}

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- an interface can be added to, a type cannot
  interface FastifyContextConfig extends RouteAccess {}
}

/** What stands at a handler itself comes before what stands at its controller. */
function onHandlers(access: RouteAccess): MethodDecorator & ClassDecorator {
  return (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor) => {
    const handlers = descriptor ? [descriptor.value] : methodsOf(target as { prototype: object });
    for (const handler of handlers) addToRouteConfig(handler as object, { ...access });
  };
}

function methodsOf({ prototype }: { prototype: object }): unknown[] {
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return descriptors.flatMap(([name, { value }]: [string, PropertyDescriptor]): unknown[] =>
    name !== 'constructor' && typeof value === 'function' ? [value] : [],
  );
}
