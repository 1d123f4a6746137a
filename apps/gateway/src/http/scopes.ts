import type { FastifyRequest } from 'fastify';
import { addToRouteConfig } from '#http';

/** What a token or a session may allow (docs/access.md). */
export const SCOPES = [
  'receipts:write',
  'receipts:read',
  'refunds:write',
  'payments:write',
  'payments:read',
  'catalog:write',
  'catalog:read',
  'devices:admin',
  'devices:read',
  'operator:resolve',
  'operator:read',
  'webhooks:admin',
  'messages:write',
  'webhooks:read',
  'clients:admin',
  'clients:read',
  'users:admin',
  'users:read',
  'platform:admin',
  'platform:read',
] as const;

export type Scope = (typeof SCOPES)[number];

/** What a merchant's client may have: everything but the whole installation. */
export const MERCHANT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !scope.startsWith('platform:'));

/** Whatever a merchant has can be read with these. */
export const READ_SCOPES: readonly Scope[] = [
  'receipts:read',
  'payments:read',
  'catalog:read',
  'devices:read',
  'operator:read',
  'webhooks:read',
  'clients:read',
  'users:read',
];

/** One who may change something may read it as well: the scope on the right lies in the one on the left. */
const CONTAINED: Readonly<Partial<Record<Scope, Scope>>> = {
  'payments:write': 'payments:read',
  'devices:admin': 'devices:read',
  'operator:resolve': 'operator:read',
  'webhooks:admin': 'webhooks:read',
  'clients:admin': 'clients:read',
  'users:admin': 'users:read',
  'platform:admin': 'platform:read',
};

/** Whether a token or session with these scopes has this one, by itself or within another. */
export function holdsScope(held: readonly string[], wanted: string): boolean {
  return held.includes(wanted) || SCOPES.some((scope) => CONTAINED[scope] === wanted && held.includes(scope));
}

/** On a handler or controller: a valid token or session with all of these scopes is needed. Every route below /v1 has it. */
export function Scopes(...scopes: [Scope, ...Scope[]]): MethodDecorator & ClassDecorator {
  return onHandlers({ scopes });
}

/** On a handler that also a suspended merchant may call: it makes nothing new, and ends what is under way. */
export function AlsoWhenSuspended(): MethodDecorator & ClassDecorator {
  return onHandlers({ alsoWhenSuspended: true });
}

/**
 * Whether a suspended merchant may make this request: it reads, decides about what was accepted, or ends it. What is about the caller
 * itself (its session, its factors) concerns no merchant.
 */
export function isOpenToSuspended({ method, routeOptions }: FastifyRequest): boolean {
  const { scopes = [], alsoWhenSuspended = false, merchantOptional = false } = routeOptions.config;
  return (
    alsoWhenSuspended ||
    merchantOptional ||
    method === 'GET' ||
    method === 'HEAD' ||
    scopes.includes('operator:resolve')
  );
}

/**
 * On a handler or controller below /v1 that any token and any session may call.
 * @param ofMerchant it is about the merchant of the request, and not about the caller itself
 */
export function SignedIn({ ofMerchant = false }: { ofMerchant?: boolean } = {}): MethodDecorator & ClassDecorator {
  return onHandlers({ scopes: [], merchantOptional: !ofMerchant });
}

/**
 * On a handler or controller: only a person's session, no client of the API. Beside `@Scopes` or `@SignedIn`.
 * @param atTerminal also the session of a command line, which else reaches what a client may reach: factors and approvals are for browsers
 */
export function ForPeople({ atTerminal = false }: { atTerminal?: boolean } = {}): MethodDecorator & ClassDecorator {
  return onHandlers({ forPeople: true, atTerminal });
}

/** On a handler: a session needs a second factor that was shown within the last minutes. A token passes: it has no factors. */
export function StepUp(): MethodDecorator & ClassDecorator {
  return onHandlers({ stepUp: true });
}

/** On a handler or controller of the whole installation: a session acts for the platform there, whatever merchant it names. */
export function OverMerchants(): MethodDecorator & ClassDecorator {
  return onHandlers({ overMerchants: true });
}

/** On a handler that reads: it is bounded by merchant in its own way, or waits for something else, and takes no turn of the reads. */
export function OwnTurn(): MethodDecorator & ClassDecorator {
  return onHandlers({ ownTurn: true });
}

/** Changes that a merchant can put under four eyes (docs/users.md). */
export type FourEyesRule = 'unknown' | 'provider_account' | 'four_eyes';

/** On a handler: where the merchant has set it, a second user must have approved this very request. */
export function FourEyes(rule: FourEyesRule): MethodDecorator & ClassDecorator {
  return onHandlers({ fourEyes: rule });
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

/** What decorators say of a route. */
export interface RouteAccess {
  scopes?: readonly Scope[];
  ownAuthentication?: boolean;
  alsoWhenSuspended?: boolean;
  forPeople?: boolean;
  atTerminal?: boolean;
  stepUp?: boolean;
  /** A session may leave open for which of its merchants it calls. */
  merchantOptional?: boolean;
  overMerchants?: boolean;
  fourEyes?: FourEyesRule;
  ownTurn?: boolean;
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
