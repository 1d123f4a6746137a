import { WebSocket } from 'ws';
import { LINK_PROTOCOL } from '#link';
import { apiDescription, type Operation } from '../api/api-document.js';
import type { TestSystem } from '../system/system.js';
import type { BareServer } from './bare-server.js';
import { HARMLESS, HOSTILE, hostileIn, UNREAD, type Body } from './bodies.js';
import { chunkedRequest, send, sendRaw } from './sending.js';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** A place at which bytes of a caller are worked on, and what is sent there. */
export interface Entry {
  place: string;
  program: 'gateway' | 'relay';
  isAuthenticated: boolean;
  /** Where a byte may cost more than MAX_RATIO times a harmless one, and why stands there. */
  maxRatio?: number;
  /** The most that is taken there. */
  bytes: number;
  /** Spaces at the end mean nothing there. */
  isPadded?: boolean;
  harmless: Body;
  /** Where Node.js itself takes most of the time, before any code of ours could stop it: a server that is sent the same hostile bytes. */
  bare?: { pid: number; send: (text: string) => Promise<unknown> };
  hostile: Readonly<Record<string, Body>>;
  send: (text: string) => Promise<unknown>;
}

export interface HostileTargets {
  system: TestSystem;
  bare: BareServer;
  /** With every scope. */
  token: string;
  /** Of a payment provider; its address is no secret. */
  accountPath: string;
  stop: () => Promise<void>;
}

/** Everything that may be sent without a token. */
export function openEntries({ system, bare, accountPath }: HostileTargets): Entry[] {
  const gateway = system.gatewayUrls[0] ?? '';
  const relay = system.relayUrls[0] ?? '';
  const json = (place: string, bytes: number, call: { url?: string; method: string; path: string }): Entry => ({
    ...{ place, bytes, harmless: HARMLESS, hostile: UNREAD, isAuthenticated: false, isPadded: true },
    program: call.url === relay ? 'relay' : 'gateway',
    send: (text) =>
      send(call.url ?? gateway, { ...call, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) }),
  });
  return [
    json('a route without its token', 4 * MIB, { method: 'PUT', path: '/v1/catalog/products' }),
    json('an unknown path', 4 * MIB, { method: 'POST', path: '/no/such/path' }),
    json('a method that a path does not have', 4 * MIB, { method: 'POST', path: '/healthz' }),
    json('the token endpoint, as JSON', 16 * KIB, { method: 'POST', path: '/oauth/token' }),
    { ...json('a provider’s callback', 64 * KIB, { method: 'POST', path: accountPath }), hostile: HOSTILE },
    json('the relay, an unknown path', 4 * MIB, { url: relay, method: 'POST', path: '/link' }),
    json('the relay, calls handed over, as JSON', 2 * MIB, {
      url: relay,
      method: 'POST',
      path: '/internal/link-calls',
    }),
    handedOver(relay),
    formEntry(gateway),
    fileEntry(gateway),
    openDrippingEntry(gateway, bare),
    ...headerEntries(gateway),
    linkEntry(relay),
  ];
}

/** With a token: the routes that take JSON and are tried in every run, and a body in small chunks. */
export function tokenEntries(targets: HostileTargets): Entry[] {
  const chunks = drippingEntry(targets.system.gatewayUrls[0] ?? '', { authorization: `Bearer ${targets.token}` });
  return [chunks, ...routeEntries(targets).filter(({ place }) => ALWAYS.has(place))];
}

/** Every other route that takes JSON behind a token, tried by `npm run test:long`: some fifty. */
export function otherTokenEntries(targets: HostileTargets): Entry[] {
  return routeEntries(targets).filter(({ place }) => !ALWAYS.has(place));
}

/** What shops send all day, and what may be largest. */
const ALWAYS: ReadonlySet<string> = new Set([
  ...['POST /v1/receipts', 'POST /v1/receipts/batch', 'POST /v1/receipts/validate', 'POST /v1/receipts/{id}/refunds'],
  ...['POST /v1/payments', 'POST /v1/payments/{id}/confirm'],
  ...['PUT /v1/catalog/products', 'PUT /v1/catalog/syncs/{id}/products', 'POST /v1/catalog/resolve'],
  ...['POST /v1/webhooks', 'POST /v1/provider-accounts', 'POST /v1/devices'],
]);

function routeEntries({ system, token }: HostileTargets): Entry[] {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, prefer: 'respond-async' };
  return apiDescription()
    .endpoints()
    .filter(({ scopes, operation }) => scopes !== null && operation.requestBody?.content['application/json'])
    .map(({ method, path, operation }): Entry => ({
      ...{ place: `${method} ${path}`, program: 'gateway' as const, isAuthenticated: true, isPadded: true },
      ...{ bytes: limitOf(path), harmless: HARMLESS, hostile: { ...HOSTILE, ...inFieldsOf(operation) } },
      send: (text) =>
        send(system.gatewayUrls[0] ?? '', {
          ...{ method, path: path.replaceAll(/\{\w+\}/g, 'x'), headers, body: Buffer.from(text) },
        }),
    }));
}

/** Of every field that holds a list or an object. */
function inFieldsOf({ requestBody }: Operation): Record<string, Body> {
  const schema = apiDescription().resolve(requestBody?.content['application/json']?.schema ?? {});
  const fields = Object.entries(schema.properties ?? {}).filter(([, field]) => {
    const { type, anyOf, $ref } = field;
    return (
      $ref !== undefined || anyOf !== undefined || [type].flat().some((one) => one === 'array' || one === 'object')
    );
  });
  return Object.assign({}, ...fields.map(([name]) => hostileIn(name))) as Record<string, Body>;
}

const LARGE: ReadonlySet<string> = new Set([
  '/v1/catalog/products',
  '/v1/catalog/syncs/{id}/products',
  '/v1/receipts/batch',
]);

function limitOf(path: string): number {
  return LARGE.has(path) ? 4 * MIB : 256 * KIB;
}

function handedOver(url: string): Entry {
  const headers = {
    'content-type': 'application/octet-stream',
    'x-link-auth': `1.${Date.now()}.${'a'.repeat(22)}.${'b'.repeat(43)}.${'c'.repeat(43)}`,
  };
  return {
    ...{ place: 'the relay, calls handed over, with a forged proof', program: 'relay', isAuthenticated: false },
    ...{ bytes: 2 * MIB, harmless: HARMLESS, hostile: { 'frames that are none': HOSTILE['empty lists'] ?? HARMLESS } },
    send: (text) => send(url, { method: 'POST', path: '/internal/link-calls', headers, body: Buffer.from(text) }),
  };
}

function formEntry(url: string): Entry {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const repeated =
    (unit: string): Body =>
    (bytes) =>
      unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
  return {
    ...{ place: 'the token endpoint, as a form', program: 'gateway', isAuthenticated: false, bytes: 16 * KIB - 16 },
    harmless: (bytes) => `grant_type=client_credentials&client_id=x&client_secret=${'a'.repeat(bytes - 60)}`,
    hostile: {
      'names alone': (bytes) =>
        Array.from({ length: bytes / 3 }, (_, at) => at.toString(36))
          .join('&')
          .slice(0, bytes),
      'one name again and again': repeated('a&'),
      'separators alone': repeated('&'),
      'escapes alone': repeated('%41'),
      'escaped marks': repeated('%CC%81'),
      'broken escapes': repeated('%'),
      'plus signs': repeated('+'),
      'scopes without end': (bytes) =>
        `client_id=a&client_secret=b&grant_type=client_credentials&scope=${'a+'.repeat((bytes - 70) / 2)}`,
      'an assertion of dots': (bytes) =>
        `grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=${'.'.repeat(bytes - 150)}`,
      'an assertion of nested JSON': (bytes) =>
        `grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=${Buffer.from(`{"alg":"RS256","x":${'['.repeat(2_000)}`).toString('base64url')}.${Buffer.from('[[],'.repeat(bytes / 12)).toString('base64url')}.x`.slice(
          0,
          bytes,
        ),
    },
    send: (text) => send(url, { method: 'POST', path: '/oauth/token', headers, body: Buffer.from(text) }),
  };
}

function fileEntry(url: string): Entry {
  return {
    ...{ place: 'a file without a token', program: 'gateway', isAuthenticated: false, bytes: 8 * MIB },
    harmless: (bytes) => 'sku,spic\n'.repeat(bytes / 9),
    hostile: {
      'one record of columns': (bytes) => 'a,'.repeat(bytes / 2),
      'quotes alone': (bytes) => '"'.repeat(bytes),
    },
    send: (text) =>
      send(url, {
        ...{ method: 'POST', path: '/v1/catalog/imports', headers: { 'content-type': 'text/csv' } },
        body: Buffer.from(text),
      }),
  };
}

/**
 * Refused by its head, so that of a harmless body not a byte is read. Of chunks Node.js parses what one read has brought, up to 64 KiB,
 * before the connection is cut: its parser cannot be stopped within a read, pause() takes effect after it (tried: 10.9 ms before, 8.4
 * to 10.9 ms with it). The bare server cuts within the first read. A gateway asks the database who is calling, and the next read has been
 * parsed when the answer is there: two reads to one, 2.1 × where the sender is quick; 4.3 × where it is slow and the bare server's one read
 * is half of one. All of the body would be sixteen reads and more.
 */
function openDrippingEntry(url: string, { pid, url: bareUrl }: BareServer): Entry {
  const bare = { pid, send: (text: string) => sendRaw(bareUrl, Buffer.from(text, 'latin1')) };
  return { ...drippingEntry(url, {}), place: 'chunks without a token', isAuthenticated: false, bare, maxRatio: 6 };
}

/** Chunks of a byte each. */
function drippingEntry(url: string, authorization: { authorization?: string }): Entry {
  const headers = { 'content-type': 'application/json', ...authorization };
  const call = { method: 'PUT', path: '/v1/catalog/products', headers };
  return {
    ...{ place: 'chunks', program: 'gateway', isAuthenticated: true, bytes: MIB },
    harmless: (bytes) => chunkedRequest(call, HARMLESS(bytes), 8 * KIB).toString('latin1'),
    hostile: {
      'chunks of one byte': (bytes) => chunkedRequest(call, HARMLESS(bytes / 6), 1).toString('latin1'),
      'chunks of sixteen bytes': (bytes) => chunkedRequest(call, HARMLESS((bytes * 16) / 22), 16).toString('latin1'),
      'chunks of one byte after large ones': (bytes) => {
        const [large, small] = [
          chunkedRequest(call, HARMLESS(16 * KIB), KIB),
          chunkedRequest(call, 'x'.repeat(bytes / 6), 1),
        ];
        return Buffer.concat([large.subarray(0, -5), small.subarray(small.indexOf('\r\n\r\n') + 4)]).toString('latin1');
      },
    },
    send: (text) => sendRaw(url, Buffer.from(text, 'latin1')),
  };
}

/** All headers together may have 16 KiB. */
const HEADER_BYTES = 14 * KIB;

function headerEntries(url: string): Entry[] {
  const repeated =
    (unit: string, before = ''): Body =>
    (bytes) =>
      `${before}${unit.repeat((bytes - before.length) / unit.length)}`;
  const entry = (header: string, hostile: Readonly<Record<string, Body>>, path = '/v1/merchant'): Entry => ({
    ...{ place: `the header ${header}`, program: 'gateway', isAuthenticated: false, bytes: HEADER_BYTES },
    ...{ harmless: (bytes) => 'a'.repeat(bytes), hostile },
    send: (text) => send(url, { method: 'GET', path, headers: { [header]: text } }),
  });
  return [
    entry('authorization', {
      'a token without end': repeated('a', 'Bearer '),
      'a token that ends wrongly': (bytes) => `Bearer ${'a'.repeat(bytes - 8)}!`,
      'spaces before a token': (bytes) => `Bearer ${' '.repeat(bytes - 9)}a b`,
      'padding alone': repeated('=', 'Bearer a'),
    }),
    entry('accept-language', {
      'languages without end': repeated('ru;q=0.1,'),
      'weights alone': repeated(';q=', 'ru'),
      'commas alone': repeated(','),
    }),
    entry(
      'accept',
      {
        'types without end': repeated('a/b;q=0.1,'),
        'parameters alone': repeated(';a=b', 'text/html'),
        'stars alone': repeated('*/*,'),
      },
      '/r/x',
    ),
    entry(
      'accept-language',
      { 'languages without end, on a page': repeated('ru;q=0.1,'), 'hyphens alone': repeated('-a', 'ru') },
      '/r/x',
    ),
    entry('x-forwarded-for', {
      'addresses without end': repeated('1.2.3.4, '),
      'commas alone': repeated(','),
      'spaces alone': (bytes) => `1${' '.repeat(bytes - 2)}1`,
    }),
    entry('x-request-id', {
      'an id without end': repeated('a-'),
      'spaces inside': (bytes) => `a${' '.repeat(bytes - 2)}a`,
    }),
    entry('content-type', {
      'parameters alone': repeated(';a=b', 'application/json'),
      'quotes alone': repeated('"', 'a/b;c='),
    }),
    entry('cookie', { 'cookies without end': repeated('a=b;') }),
    {
      ...entry('', {}),
      place: 'a query',
      harmless: (bytes) => `a=${'a'.repeat(bytes - 2)}`,
      hostile: {
        'names alone': (bytes) =>
          Array.from({ length: bytes / 5 }, (_, at) => at.toString(36))
            .join('&')
            .slice(0, bytes),
        'one name again and again': repeated('a&'),
        'escapes alone': repeated('%41'),
        'escaped marks': repeated('%CC%81'),
        'brackets alone': repeated('a[]=&'),
      },
      send: (text) => send(url, { method: 'GET', path: `/r/x?${text}` }),
    },
    {
      ...entry('', {}),
      place: 'a path',
      harmless: (bytes) => 'a'.repeat(bytes),
      hostile: {
        'slashes alone': repeated('/'),
        'dots and slashes': repeated('./'),
        'escapes alone': repeated('%41'),
        'escaped slashes': repeated('%2F'),
        'letters and slashes': repeated('v1/'),
        'of the documentation': (bytes) => `docs/${'a/'.repeat((bytes - 5) / 2)}`,
      },
      send: (text) => send(url, { method: 'GET', path: `/${text}` }),
    },
  ];
}

/** What a stranger may say on a link before it is cut. */
function linkEntry(url: string): Entry {
  const header =
    (text: (bytes: number) => string): Body =>
    (bytes) =>
      text(bytes - 4);
  return {
    ...{ place: 'the first words on a link', program: 'relay', isAuthenticated: false, bytes: 7 * KIB },
    harmless: header((bytes) => `{"type":"hello","deviceId":"${'a'.repeat(bytes - 40)}"}`),
    hostile: {
      'empty lists': header((bytes) => `[${'[],'.repeat((bytes - 10) / 3)}[]]`),
      'lists in lists': header((bytes) => '['.repeat(bytes)),
      'a run of marks': header((bytes) => `{"type":"a${'\u0301\u0316'.repeat((bytes - 20) / 4)}"}`),
      'short names': header((bytes) => `{${Array.from({ length: bytes / 10 }, (_, at) => `"f${at}":1`).join(',')}}`),
    },
    send: (text) => helloOf(url, text),
  };
}

function helloOf(url: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/link`, LINK_PROTOCOL, { perMessageDeflate: false });
  return new Promise((resolve) => {
    socket.once('message', () => socket.send(Buffer.concat([length, bytes])));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve());
  });
}
