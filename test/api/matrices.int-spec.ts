// Promise: no route is open to who must not use it, shows or changes what is another merchant's, or is missing in the description.
import 'reflect-metadata';
import { holdsScope, SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { ApiWorld } from './api-world.js';
import { apiDescription, type Endpoint } from './api-document.js';

/** What may be called without a token. A route is added here only on purpose. */
const PUBLIC = [
  'DELETE /v1/providers/{provider}/{account}',
  'GET /.well-known/oauth-authorization-server',
  'GET /auth/methods',
  'GET /auth/oidc/callback',
  'GET /auth/terminal',
  'GET /console',
  'GET /console/assets/{file}',
  'GET /console/{screen}',
  'GET /console/{screen}/{id}',
  'GET /docs',
  'GET /docs/guide',
  'GET /docs/guide/{path}',
  'GET /docs/problems',
  'GET /docs/problems/{code}',
  'GET /docs/{file}',
  'GET /healthz',
  'GET /metrics',
  'GET /openapi.json',
  'GET /r/{receipt}',
  'GET /readyz',
  'GET /u/{message}',
  'GET /v1/providers/{provider}/{account}',
  'PATCH /v1/providers/{provider}/{account}',
  'POST /auth/invitation',
  'POST /auth/invitation/accept',
  'POST /auth/login',
  'POST /auth/oidc/backchannel-logout',
  'POST /auth/oidc/start',
  'POST /auth/passkey',
  'POST /auth/passkey/options',
  'POST /auth/terminal/token',
  'POST /m/{account}',
  'POST /oauth/introspect',
  'POST /oauth/revoke',
  'POST /oauth/token',
  'POST /r/{receipt}/messages',
  'POST /r/{receipt}/stop',
  'POST /u/{message}',
  'POST /v1/providers/{provider}/{account}',
  'POST /v1/providers/{provider}/{account}/{operation}',
  'PUT /v1/providers/{provider}/{account}',
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

let world: ApiWorld;
let closed: Endpoint[];

beforeAll(async () => {
  world = await ApiWorld.start();
  closed = world.endpoints().filter(({ scopes }) => scopes !== null);
});

afterAll(() => world?.stop());

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

test('the description names every route of the router, and no other', () => {
  const fastify = world.gateway.app.getHttpAdapter().getInstance();
  const described = world.endpoints().map(nameOf).sort();
  expect(described).toEqual(routesOf(fastify.printRoutes({ commonPrefix: false })));
});

test('only what is listed is public', () => {
  const open = world.endpoints().filter(({ isClosed }) => !isClosed);
  expect(open.map(nameOf).sort()).toEqual(PUBLIC);
  expect(closed.filter(({ path }) => !path.startsWith('/v1/')).map(nameOf)).toEqual([]);
});

test('scope × endpoint: no token 401, every other scope 403, the right one neither', async () => {
  const wrong: string[] = [];
  const tokens = new Map<string, string>();
  const tokenWith = async (scopes: readonly string[]): Promise<string> => {
    const key = [...scopes].sort().join(' ');
    const token = tokens.get(key) ?? (await world.token(scopes));
    tokens.set(key, token);
    return token;
  };
  for (const endpoint of closed) {
    const { method } = endpoint;
    const path = world.pathOf(endpoint, 'missing');
    const body = world.bodyOf(endpoint);
    const needed = endpoint.scopes ?? [];
    const others = SCOPES.filter((scope) => !needed.some((one) => holdsScope([scope], one)));
    const ask = async (token: string | undefined): Promise<number> =>
      (await world.send(method, path, { token, body })).status;
    const statuses = [await ask(undefined), await ask('fgw_at_unknown'), await ask(await tokenWith(others))];
    const right = await ask(await tokenWith(needed));
    const without = needed.length === 0 ? String(right) : '403';
    if (statuses.join() !== `401,401,${without}` || right === 401 || right === 403)
      wrong.push(`${nameOf(endpoint)}: ${statuses.join()}, ${right}`);
    for (const one of needed.length > 1 ? needed : []) {
      const status = await ask(await tokenWith([one]));
      if (status !== 403) wrong.push(`${nameOf(endpoint)} with ${one} alone: ${status}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('another merchant’s id answers like one that does not exist, and nothing changes', async () => {
  const merchantId = await world.gateway.createMerchant();
  const stranger = await world.token(SCOPES, merchantId);
  const before = await world.gateway.world();
  const wrong: string[] = [];
  const naming = closed.filter(({ path }) => path.includes('{') && !path.startsWith('/v1/platform/'));
  for (const endpoint of naming) {
    const more = { token: stranger, body: world.bodyOf(endpoint) };
    const foreign = await world.send(endpoint.method, world.pathOf(endpoint, 'own'), more);
    const missing = await world.send(endpoint.method, world.pathOf(endpoint, 'missing'), more);
    const answered = [foreign.status, foreign.code, withoutId(foreign.text)].join();
    const expected = [404, 'not_found', withoutId(missing.text)].join();
    if (answered !== expected) wrong.push(`${nameOf(endpoint)}: ${answered} but ${missing.status} ${expected}`);
  }
  expect(wrong).toEqual([]);
  expect(naming.length).toBeGreaterThan(20);
  expect(await world.gateway.world()).toBe(before);
});

test('a method that a path does not have is 405 and names those it has', async () => {
  const byPath = new Map<string, string[]>();
  for (const { path, method } of world.endpoints()) byPath.set(path, [...(byPath.get(path) ?? []), method]);
  for (const endpoint of world.endpoints()) {
    const path = endpoint.path.includes('{file}') ? '/docs/x' : world.pathOf(endpoint, 'missing');
    const known = METHODS.filter((method) => isServed(path, method, byPath));
    for (const method of METHODS.filter((one) => !known.includes(one))) {
      const { status, code, headers } = await world.send(method, path, { token: world.allScopes });
      const allow = (headers.get('allow') ?? '').split(', ').filter((one) => one !== 'HEAD');
      expect([method, path, status, code, allow]).toEqual([method, path, 405, 'method_not_allowed', known.sort()]);
    }
  }
});

test('an unknown field is refused by its name', async () => {
  const taking = closed.filter(({ operation }) => {
    const schema = operation.requestBody?.content['application/json']?.schema;
    return schema && apiDescription().resolve(schema).additionalProperties === false;
  });
  expect(taking.length).toBeGreaterThan(10);
  for (const endpoint of taking) {
    const body = { ...(world.bodyOf(endpoint) as object), surprise: 1 };
    const path = world.pathOf(endpoint, 'missing');
    const { status, text } = await world.send(endpoint.method, path, { token: world.allScopes, body });
    const { errors } = JSON.parse(text) as { errors: { pointer: string; code: string }[] };
    expect([nameOf(endpoint), status, errors]).toEqual([
      nameOf(endpoint),
      422,
      expect.arrayContaining([expect.objectContaining({ pointer: '/surprise', code: 'unknown_field' })]),
    ]);
  }
});

test('every answer carries what a browser must not do with it, also a refusal', async () => {
  for (const path of ['/healthz', '/v1/receipts/x', '/nowhere', '/docs']) {
    const { headers } = await world.send('GET', path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('server')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  }
});

/** Also `/v1/devices/{id}` serves what `/v1/devices/mine` names no method for. */
function isServed(path: string, method: string, byPath: ReadonlyMap<string, readonly string[]>): boolean {
  return [...byPath].some(([template, methods]) => {
    const pattern = new RegExp(`^${template.split(/\{\w+\}/).join('[^/]+')}$`);
    return pattern.test(path) && methods.includes(method);
  });
}

/** Without what differs by nature. */
function withoutId(text: string): string {
  return text.replace(/"request_id":"[^"]*"/, '').replaceAll(/[a-z]{3}_[0-9a-z]{26}/g, 'id');
}

/** `GET /v1/devices/{id}` … from the router's own drawing of its tree. */
function routesOf(drawing: string): string[] {
  const stack: string[] = [];
  const routes: string[] = [];
  for (const line of drawing.split('\n')) {
    const match = /^((?:[│ ] {3})*)(?:├── |└── )(\S*)(?: \(([A-Z, ]+)\))?$/.exec(line);
    if (!match) continue;
    const [, indent = '', part = '', methods] = match;
    stack.length = indent.length / 4;
    stack.push(part);
    if (methods === undefined) continue;
    const path = stack
      .join('')
      .replaceAll(/:(\w+)/g, '{$1}')
      .replace(/\/?\*$/, '/{path}');
    for (const method of methods.split(', ')) if (METHODS.includes(method)) routes.push(`${method} ${path}`);
  }
  return [...new Set(routes)].sort();
}
