import type { Entry, HostileTargets } from './entries.js';
import { HARMLESS, HOSTILE, hostileIn, type Body } from './bodies.js';
import { send } from './sending.js';

const KIB = 1_024;
const LOGIN_BYTES = 32 * KIB;
const FORM_BYTES = 16 * KIB - 16;

/** Where people log in, each with the fields that it reads: no session is needed, so every byte is a stranger's. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '/auth/login': ['email', 'password', 'code'],
  '/auth/passkey/options': [],
  '/auth/passkey': ['credential'],
  '/auth/invitation': ['token'],
  '/auth/invitation/accept': ['token', 'name', 'credential'],
  '/auth/oidc/start': ['return_to', 'invitation'],
};

/** Every entry below /auth. */
export function authEntries({ system }: HostileTargets): Entry[] {
  const url = system.gatewayUrls[0] ?? '';
  return [
    ...Object.entries(FIELDS).flatMap(([path, fields]) => [
      fromPage(url, path, fields),
      { ...fromPage(url, path, fields), place: `POST ${path}, from a foreign page`, send: asStranger(url, path) },
    ]),
    logoutEntry(url),
    callbackEntry(url),
    ...['/auth/methods', '/auth/oidc/callback', '/v1/me'].map((path) => cookieEntry(url, path)),
  ];
}

function fromPage(url: string, path: string, fields: readonly string[]): Entry {
  const origin = url.replace('127.0.0.1', 'localhost');
  const headers = { 'content-type': 'application/json', origin, 'fgw-console': '1', 'sec-fetch-site': 'same-origin' };
  return {
    ...{ place: `POST ${path}`, program: 'gateway', isAuthenticated: false, isPadded: true, bytes: LOGIN_BYTES },
    harmless: HARMLESS,
    hostile: Object.assign({}, HOSTILE, ...fields.map((field) => hostileIn(field))) as Readonly<Record<string, Body>>,
    send: async (text) => {
      const status = await send(url, { method: 'POST', path, headers, body: Buffer.from(text) });
      // What its page may not send at all would prove nothing of the body; nothing here makes a gateway fail.
      if (status === 403 || (status ?? 0) >= 500) throw new Error(`POST ${path} answered ${status}`);
    },
  };
}

function asStranger(url: string, path: string): Entry['send'] {
  const headers = { 'content-type': 'application/json', origin: 'https://evil.uz', 'sec-fetch-site': 'cross-site' };
  return async (text) => {
    const status = await send(url, { method: 'POST', path, headers, body: Buffer.from(text) });
    if ((status ?? 400) < 400 || (status ?? 0) >= 500) throw new Error(`POST ${path} answered ${status}`);
  };
}

function logoutEntry(url: string): Entry {
  const path = '/auth/oidc/backchannel-logout';
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const repeated =
    (unit: string, before = ''): Body =>
    (bytes) =>
      `${before}${unit.repeat(Math.floor((bytes - before.length) / unit.length))}`;
  const nested = Buffer.from(`{"alg":"RS256","x":${'['.repeat(2_000)}`).toString('base64url');
  return {
    ...{ place: `POST ${path}`, program: 'gateway', isAuthenticated: false, bytes: FORM_BYTES },
    harmless: repeated('a', 'logout_token='),
    hostile: {
      'one name again and again': repeated('a&'),
      'escapes alone': repeated('%41', 'logout_token='),
      'broken escapes': repeated('%'),
      'a token of dots': repeated('.', 'logout_token='),
      'a token of nested JSON': repeated('W10s', `logout_token=${nested}.`),
      'plus signs': repeated('+', 'logout_token='),
    },
    send: (text) => send(url, { method: 'POST', path, headers, body: Buffer.from(text) }),
  };
}

function callbackEntry(url: string): Entry {
  const path = '/auth/oidc/callback';
  return {
    ...{ place: `GET ${path}`, program: 'gateway', isAuthenticated: false, bytes: 14 * KIB },
    harmless: (bytes) => `code=${'a'.repeat(bytes - 5)}`,
    hostile: {
      'codes again and again': (bytes) => 'code=a&'.repeat(bytes / 7),
      'escapes alone': (bytes) => `state=${'%41'.repeat((bytes - 6) / 3)}`,
    },
    send: (text) => send(url, { method: 'GET', path: `${path}?${text}` }),
  };
}

/** Sessions and logins that were begun: any cookie may be sent to any path. */
function cookieEntry(url: string, path: string): Entry {
  const repeated =
    (unit: string, before = ''): Body =>
    (bytes) =>
      `${before}${unit.repeat((bytes - before.length) / unit.length)}`;
  return {
    ...{ place: `cookies at ${path}`, program: 'gateway', isAuthenticated: false, bytes: 14 * KIB },
    harmless: repeated('a', 'other='),
    hostile: {
      'sessions without end': repeated('fgw_session=a;'),
      'a session of its own length': repeated('a', 'fgw_session=fgw_us_'),
      'a login that was never sealed': repeated('A', 'fgw_login='),
      'logins without end': repeated('fgw_login=A;'),
      'separators alone': repeated(';'),
      'equals signs alone': repeated('='),
    },
    send: (text) =>
      send(url, {
        method: 'GET',
        path,
        headers: { cookie: text, 'sec-fetch-site': 'same-origin', 'fgw-console': '1' },
      }),
  };
}
