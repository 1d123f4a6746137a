// Promise: the token endpoint reads RFC 6749 to the letter and refuses what it leaves unclear.
import { OauthError } from './oauth-error.js';
import { readAboutToken, readTokenRequest } from './token-request.js';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

function refusal(authorization: string | undefined, body: unknown): string {
  try {
    readTokenRequest(authorization, typeof body === 'string' ? new URLSearchParams(body) : body);
  } catch (error) {
    if (error instanceof OauthError) return error.code;
    throw error;
  }
  return 'accepted';
}

test('client_secret_basic and client_secret_post', () => {
  const credentials = { kind: 'secret', method: 'client_secret_basic', clientId: 'cli:1', secret: 's/+ %ü' };
  const expected = { credentials, grantType: 'client_credentials', scopes: null };
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  expect(readTokenRequest(basic('cli:1', 's/+ %ü'), form)).toEqual(expected);
  const post = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'cli:1', client_secret: 's/+ %ü' });
  const posted = { ...credentials, method: 'client_secret_post' };
  expect(readTokenRequest(undefined, post)).toEqual({ ...expected, credentials: posted });
  const both = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'cli:1' });
  expect(readTokenRequest(basic('cli:1', 's/+ %ü'), both)).toEqual(expected);
});

test('private_key_jwt, with and without a client_id beside it', () => {
  const form = { grant_type: 'client_credentials', client_assertion_type: JWT_BEARER, client_assertion: 'a.b.c' };
  const read = (more = {}): unknown =>
    readTokenRequest(undefined, new URLSearchParams({ ...form, ...more })).credentials;
  expect(read()).toEqual({ kind: 'assertion', clientId: null, assertion: 'a.b.c' });
  expect(read({ client_id: 'x' })).toEqual({ kind: 'assertion', clientId: 'x', assertion: 'a.b.c' });
});

test('a request about a token needs the token', () => {
  const about = readAboutToken(basic('c', 's'), new URLSearchParams('token=t&token_type_hint=access_token'));
  const credentials = { kind: 'secret', method: 'client_secret_basic', clientId: 'c', secret: 's' };
  expect(about).toEqual({ credentials, token: 't' });
  expect(() => readAboutToken(basic('c', 's'), new URLSearchParams('token='))).toThrow(OauthError);
});

test('scopes: absent and empty mean all, repetitions fold', () => {
  const scopesOf = (scope: string): unknown =>
    readTokenRequest(basic('c', 's'), new URLSearchParams({ grant_type: 'x', scope })).scopes;
  expect(scopesOf('')).toBeNull();
  expect(scopesOf('a:b c a:b')).toEqual(['a:b', 'c']);
});

test.each([
  ['no form', undefined, undefined, 'invalid_request'],
  ['JSON instead of a form', basic('c', 's'), { grant_type: 'client_credentials' }, 'invalid_request'],
  ['a repeated parameter', basic('c', 's'), 'grant_type=a&grant_type=a', 'invalid_request'],
  ['a repeated empty parameter', basic('c', 's'), 'grant_type=a&scope=&scope=', 'invalid_request'],
  ['no grant_type', basic('c', 's'), 'x=1', 'invalid_request'],
  ['an empty grant_type', basic('c', 's'), 'grant_type=', 'invalid_request'],
  ['two ways of authentication', basic('c', 's'), 'grant_type=a&client_id=c&client_secret=s', 'invalid_request'],
  ['two client ids', basic('c', 's'), 'grant_type=a&client_id=d', 'invalid_request'],
  [
    'an assertion beside a secret',
    basic('c', 's'),
    `grant_type=a&client_assertion_type=${JWT_BEARER}&client_assertion=x`,
    'invalid_request',
  ],
  ['an assertion without its type', undefined, 'grant_type=a&client_assertion=x', 'invalid_request'],
  ['a type without its assertion', undefined, `grant_type=a&client_assertion_type=${JWT_BEARER}`, 'invalid_request'],
  [
    'another type of assertion',
    undefined,
    'grant_type=a&client_assertion_type=saml&client_assertion=x',
    'invalid_client',
  ],
  ['no credentials', undefined, 'grant_type=a', 'invalid_client'],
  ['an empty secret', undefined, 'grant_type=a&client_id=c&client_secret=', 'invalid_client'],
  ['Bearer', 'Bearer x', 'grant_type=a', 'invalid_client'],
  ['Basic without a colon', `Basic ${Buffer.from('abc').toString('base64')}`, 'grant_type=a', 'invalid_client'],
  ['Basic with a broken escape', `Basic ${Buffer.from('a%zz:b').toString('base64')}`, 'grant_type=a', 'invalid_client'],
  ['Basic that is no base64', 'Basic !!!', 'grant_type=a', 'invalid_client'],
  ['a malformed scope', basic('c', 's'), 'grant_type=a&scope=a"b', 'invalid_scope'],
  ['a scope with two spaces', basic('c', 's'), 'grant_type=a&scope=a++b', 'invalid_scope'],
])('%s', (...[, authorization, body, code]) => {
  expect(refusal(authorization, body)).toBe(code);
});
