import type { AuthMethod } from './auth-methods.js';
import { OauthError } from './oauth-error.js';

type SecretMethod = Exclude<AuthMethod, 'private_key_jwt'>;

/** How a client says who it is; nothing in it is verified yet. */
export type ClientCredentials =
  | { kind: 'secret'; method: SecretMethod; clientId: string; secret: string }
  /** private_key_jwt (RFC 7523 §2.2); the client's id stands in the assertion, and here if it was given beside it. */
  | { kind: 'assertion'; clientId: string | null; assertion: string };

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** By its name in the metadata. */
export function methodOf(credentials: ClientCredentials): AuthMethod {
  return credentials.kind === 'secret' ? credentials.method : 'private_key_jwt';
}

/**
 * Reads client_secret_basic, client_secret_post or private_key_jwt; one of them per request (RFC 6749 §2.3).
 * @throws OauthError `invalid_request`, `invalid_client` (no or unusable credentials)
 */
export function readClientCredentials(
  authorization: string | undefined,
  parameters: ReadonlyMap<string, string>,
): ClientCredentials {
  const id = parameters.get('client_id');
  const secret = parameters.get('client_secret');
  const assertion = readAssertion(parameters);
  const ways = [authorization, secret, assertion].filter((way) => way !== undefined).length;
  if (ways > 1) throw new OauthError('invalid_request', 'The client authenticates in two ways.');
  if (assertion !== undefined) return { kind: 'assertion', clientId: id ?? null, assertion };
  if (authorization === undefined) {
    if (id === undefined || secret === undefined)
      throw new OauthError('invalid_client', 'Client authentication is needed.');
    return { kind: 'secret', method: 'client_secret_post', clientId: id, secret };
  }
  const basic = readBasic(authorization);
  if (!basic) throw new OauthError('invalid_client', 'The Authorization header cannot be used.');
  if (id !== undefined && id !== basic.clientId)
    throw new OauthError('invalid_request', 'Two different client_id are given.');
  return basic;
}

function readAssertion(parameters: ReadonlyMap<string, string>): string | undefined {
  const assertion = parameters.get('client_assertion');
  const type = parameters.get('client_assertion_type');
  if (assertion === undefined && type === undefined) return undefined;
  if (assertion === undefined || type === undefined)
    throw new OauthError('invalid_request', 'client_assertion and client_assertion_type belong together.');
  if (type !== JWT_BEARER) throw new OauthError('invalid_client', 'The client_assertion_type is not supported.');
  return assertion;
}

/** Both parts are form-urlencoded before base64 (RFC 6749 §2.3.1). */
function readBasic(authorization: string): ClientCredentials | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  const clientId = formDecode(pair.slice(0, colon));
  const secret = formDecode(pair.slice(colon + 1));
  if (clientId === null || secret === null) return null;
  return { kind: 'secret', method: 'client_secret_basic', clientId, secret };
}

function formDecode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // A broken escape: reported by the return value.
    return null;
  }
}
