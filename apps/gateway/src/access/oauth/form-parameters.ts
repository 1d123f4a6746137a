import { OauthError } from './oauth-error.js';

/**
 * The parameters of a form. One without a value counts as absent, a repeated one is an error (RFC 6749 §3.2).
 * @param body the parsed form; anything else when the caller sent no form
 * @throws OauthError `invalid_request`
 */
export function readFormParameters(body: unknown): ReadonlyMap<string, string> {
  if (!(body instanceof URLSearchParams)) {
    throw new OauthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.');
  }
  const parameters = new Map<string, string>();
  for (const [name, value] of body) {
    if (parameters.has(name)) throw new OauthError('invalid_request', 'A parameter is repeated.');
    parameters.set(name, value);
  }
  for (const [name, value] of parameters) if (value === '') parameters.delete(name);
  return parameters;
}
