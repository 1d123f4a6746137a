import { SetMetadata } from '@nestjs/common';

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
  'clients:admin',
] as const;

export type Scope = (typeof SCOPES)[number];

export const SCOPES_METADATA = 'scopes';

/** On a handler or controller: a valid token with all of these scopes is needed. Every route below /v1 has it. */
export function Scopes(...scopes: [Scope, ...Scope[]]): MethodDecorator & ClassDecorator {
  return SetMetadata(SCOPES_METADATA, scopes);
}

export const OWN_AUTHENTICATION = 'ownAuthentication';

/** On a handler below /v1 whose caller proves himself otherwise than by a token: payment providers, by their own protocols. */
export function OwnAuthentication(): MethodDecorator & ClassDecorator {
  return SetMetadata(OWN_AUTHENTICATION, true);
}
