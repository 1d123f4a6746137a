import { OauthError } from './oauth-error.js';

/** A syntactically right request for a token; nothing in it is believed yet. */
export interface TokenRequest {
  clientId: string;
  clientSecret: string;
  grantType: string;
  /** Scopes asked for; `null` = all that the client may have. */
  scopes: readonly string[] | null;
}

interface ClientCredentials {
  id: string;
  secret: string;
}

/** scope-token of RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * Reads RFC 6749 §4.4.2 with client_secret_basic or client_secret_post.
 * @param body the parsed form; anything else when the caller sent no form
 * @throws OauthError `invalid_request`, `invalid_client` (no or unusable credentials), `invalid_scope`
 */
export function readTokenRequest(authorization: string | undefined, body: unknown): TokenRequest {
  if (!(body instanceof URLSearchParams)) {
    throw new OauthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.');
  }
  const parameters = readParameters(body);
  const { id, secret } = readCredentials(authorization, parameters);
  const grantType = parameters.get('grant_type');
  if (grantType === undefined) throw new OauthError('invalid_request', 'The parameter grant_type is missing.');
  return { clientId: id, clientSecret: secret, grantType, scopes: readScopes(parameters.get('scope')) };
}

/** A parameter without a value counts as absent, a repeated one is an error (RFC 6749 §3.2). */
function readParameters(body: URLSearchParams): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of body) {
    if (parameters.has(name)) throw new OauthError('invalid_request', 'A parameter is repeated.');
    parameters.set(name, value);
  }
  for (const [name, value] of parameters) if (value === '') parameters.delete(name);
  return parameters;
}

function readCredentials(
  authorization: string | undefined,
  parameters: ReadonlyMap<string, string>,
): ClientCredentials {
  const id = parameters.get('client_id');
  const secret = parameters.get('client_secret');
  if (authorization === undefined) {
    if (id === undefined || secret === undefined)
      throw new OauthError('invalid_client', 'Client authentication is needed.');
    return { id, secret };
  }
  // One method of authentication per request (RFC 6749 §2.3).
  if (secret !== undefined) throw new OauthError('invalid_request', 'The client authenticates in two ways.');
  const basic = readBasic(authorization);
  if (!basic) throw new OauthError('invalid_client', 'The Authorization header cannot be used.');
  if (id !== undefined && id !== basic.id)
    throw new OauthError('invalid_request', 'Two different client_id are given.');
  return basic;
}

/** Both parts are form-urlencoded before base64 (RFC 6749 §2.3.1). */
function readBasic(authorization: string): ClientCredentials | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  const id = formDecode(pair.slice(0, colon));
  const secret = formDecode(pair.slice(colon + 1));
  return id === null || secret === null ? null : { id, secret };
}

function formDecode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // A broken escape: told by the return value.
    return null;
  }
}

function readScopes(scope: string | undefined): readonly string[] | null {
  if (scope === undefined) return null;
  const scopes = scope.split(' ');
  if (!scopes.every((token) => SCOPE_TOKEN.test(token)))
    throw new OauthError('invalid_scope', 'The scope is malformed.');
  return [...new Set(scopes)];
}
