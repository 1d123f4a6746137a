import { isTestId } from '#fiscal-domain';
import { Problem, type ProblemError } from '#problems';
import { CidrSet, parseCidr } from '#outgoing';
import type { Caller } from '../../audit/caller.js';
import { holdsScope } from '../../http/scopes.js';
import type { IpPolicy, SigningPolicy } from './client-bodies.js';

/** Who administers clients, and with what power: an administrator grants only what it holds. */
export interface Administrator extends Caller {
  scopes: readonly string[];
}

/**
 * A client gives only scopes that its own token has.
 * @param added at their places in the body's `scopes`; those that the client has already are not granted anew
 * @throws Problem 403 scope_not_held
 */
export function refuseForeignScopes(
  administrator: Administrator,
  scopes: readonly string[],
  before: readonly string[] = [],
): void {
  const errors = scopes.flatMap((scope, at): ProblemError[] => {
    if (scope.startsWith('platform:') && isTestId(administrator.merchantId)) {
      const detail = 'A client of a sandbox has no power over the platform.';
      return [{ pointer: `/scopes/${String(at)}`, code: 'scope_not_held', detail }];
    }
    if (holdsScope(administrator.scopes, scope) || before.includes(scope)) return [];
    const detail = `The calling token has not the scope ${scope} itself.`;
    return [{ pointer: `/scopes/${String(at)}`, code: 'scope_not_held', detail }];
  });
  if (errors.length > 0) throw Problem.fromErrors(errors);
}

/**
 * A client is changed only by a token that has all of its scopes: new credentials, a wider allow list or a signing policy
 * of a stronger client would give the caller what it lacks.
 * @throws Problem 403 scope_not_held
 */
export function refuseStrongerClient(administrator: Administrator, scopes: readonly string[]): void {
  const missing = scopes.filter((scope) => !holdsScope(administrator.scopes, scope));
  if (missing.length === 0) return;
  const detail = `This client has scopes that the calling token lacks: ${missing.join(', ')}.`;
  throw new Problem('scope_not_held', detail);
}

interface Access {
  scopes: readonly string[];
  ipPolicy: IpPolicy;
  allowedCidrs: readonly string[];
  signingPolicy: SigningPolicy;
  hasSigningKey: boolean;
}

/**
 * A caller cannot lock itself out by mistake: not by giving up clients:admin, nor by a list without its own address, nor
 * by requiring signatures that it has no key for.
 * @throws Problem 409 own_client
 */
export function refuseOwnLockout(administrator: Administrator, clientId: string, access: Access): void {
  if (clientId !== administrator.actor) return;
  if (!access.scopes.includes('clients:admin')) {
    throw ownClient('The calling client would lose clients:admin. Let another client take it away.');
  }
  if ((access.signingPolicy === 'writes' || access.signingPolicy === 'all') && !access.hasSigningKey) {
    throw ownClient('The calling client has no signing key; register one first.');
  }
  if (access.ipPolicy === 'any') return;
  const { address } = administrator;
  const set = new CidrSet(access.allowedCidrs.flatMap((text) => parsedOrNothing(text)));
  if (address === null || !set.contains(address)) {
    throw ownClient('The list does not hold the address of this very request, the calling client would be shut out.');
  }
}

/** The only way that would be left in is one that the client has no key for. */
export function noAuthenticationKey(): Problem {
  const detail = 'The client has no active key for private_key_jwt. Register one, then take the other ways away.';
  return Problem.at('/token_endpoint_auth_methods', 'no_authentication_key', detail);
}

export function ownClient(detail: string): Problem {
  return new Problem('own_client', detail);
}

/** One network in one spelling, once. */
export function canonicalCidrs(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => parsedOrNothing(text).map((cidr) => cidr.text)))];
}

function parsedOrNothing(text: string) {
  const parse = parseCidr(text);
  return parse.kind === 'ok' ? [parse.cidr] : [];
}
