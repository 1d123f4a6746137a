import { readClientCredentials, type ClientCredentials } from './client-credentials.js';
import { readFormParameters } from './form-parameters.js';
import { OauthError } from './oauth-error.js';

/** A syntactically right request for a token; nothing in it is verified yet. */
export interface TokenRequest {
  credentials: ClientCredentials;
  grantType: string;
  /** Scopes asked for; `null` = all that the client may have. */
  scopes: readonly string[] | null;
}

/** A request about a token: to revoke it (RFC 7009) or to introspect it (RFC 7662). A `token_type_hint` changes nothing. */
export interface AboutToken {
  credentials: ClientCredentials;
  token: string;
}

/** scope-token of RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * Reads RFC 6749 §4.4.2.
 * @param body the parsed form; anything else when the caller sent no form
 * @throws OauthError `invalid_request`, `invalid_client` (no or unusable credentials), `invalid_scope`
 */
export function readTokenRequest(authorization: string | undefined, body: unknown): TokenRequest {
  const parameters = readFormParameters(body);
  const credentials = readClientCredentials(authorization, parameters);
  const grantType = parameters.get('grant_type');
  if (grantType === undefined) throw new OauthError('invalid_request', 'The parameter grant_type is missing.');
  return { credentials, grantType, scopes: readScopes(parameters.get('scope')) };
}

/** @throws OauthError `invalid_request`, `invalid_client` */
export function readAboutToken(authorization: string | undefined, body: unknown): AboutToken {
  const parameters = readFormParameters(body);
  const credentials = readClientCredentials(authorization, parameters);
  const token = parameters.get('token');
  if (token === undefined) throw new OauthError('invalid_request', 'The parameter token is missing.');
  return { credentials, token };
}

function readScopes(scope: string | undefined): readonly string[] | null {
  if (scope === undefined) return null;
  const scopes = scope.split(' ');
  if (!scopes.every((token) => SCOPE_TOKEN.test(token)))
    throw new OauthError('invalid_scope', 'The scope is malformed.');
  return [...new Set(scopes)];
}
