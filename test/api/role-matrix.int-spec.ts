// Promise: a person may call exactly what its roles' scopes allow, on every route of the description; there is no other cell.
import 'reflect-metadata';
import { hashSessionToken, newSessionToken } from '../../apps/gateway/src/access/people/sessions/session-token.js';
import {
  isPlatformRole,
  MERCHANT_ROLES,
  PLATFORM_ROLES,
  PLATFORM_SCOPES_OF_ROLE,
  SCOPES_OF_ROLE,
  type Role,
} from '../../apps/gateway/src/http/roles.js';
import { holdsScope } from '../../apps/gateway/src/http/scopes.js';
import { newId } from '../../libs/runtime/src/index.js';
import { ApiWorld } from './api-world.js';
import type { Endpoint } from './api-document.js';

const ORIGIN = 'https://console.test';

let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.start({ CONSOLE_URL: `${ORIGIN}/console` });
});
afterAll(() => world?.stop());

/** A session that has just shown its second factor. @returns the cookie's value */
async function sessionOf(role: Role, merchantId: string): Promise<string> {
  const [userId, token] = [newId('usr'), newSessionToken()];
  const { prisma } = world.gateway;
  await prisma.user.create({ data: { id: userId, email: `${userId}@shop.uz`, name: role } });
  const of = isPlatformRole(role) ? null : merchantId;
  await prisma.membership.create({ data: { id: newId('mem'), userId, merchantId: of, role } });
  const tokenHash = new Uint8Array(hashSessionToken(token));
  const until = new Date(Date.now() + 3_600_000);
  await prisma.userSession.create({
    data: { id: newId('ses'), tokenHash, userId, login: 'password', expiresAt: until, steppedUpAt: new Date() },
  });
  return token;
}

interface Cell {
  endpoint: Endpoint;
  role: Role;
  /** Null: the request names none. */
  merchantId: string | null;
}

/** The code of what was answered; null: no refusal. */
async function ask({ endpoint, role, merchantId }: Cell): Promise<string | null> {
  // Anew for each: some routes end the session that calls them.
  const token = await sessionOf(role, world.gateway.merchantId);
  const headers = {
    ...{ cookie: `__Host-fgw_session=${token}`, origin: ORIGIN, 'fgw-console': '1' },
    ...(merchantId !== null && { 'fgw-merchant': merchantId }),
  };
  const answer = await world.send(endpoint.method, world.pathOf(endpoint, 'missing'), {
    body: world.bodyOf(endpoint),
    headers,
  });
  return answer.code;
}

const REFUSALS = [
  'insufficient_scope',
  'unauthenticated',
  'session_invalid',
  'session_needed',
  'merchant_needed',
  'step_up_needed',
];

function endpoints(): Endpoint[] {
  return world.endpoints().filter(({ isClosed }) => isClosed);
}

test.each([...MERCHANT_ROLES, ...PLATFORM_ROLES])('%s at a merchant', async (role) => {
  const wrong: string[] = [];
  for (const endpoint of endpoints()) {
    const { isOverMerchants, scopes } = endpoint;
    const held = isOverMerchants ? (isPlatformRole(role) ? PLATFORM_SCOPES_OF_ROLE[role] : []) : SCOPES_OF_ROLE[role];
    const mayCall = (scopes ?? []).every((scope) => holdsScope(held, scope));
    const code = await ask({ endpoint, role, merchantId: world.gateway.merchantId });
    const isRefused = code !== null && REFUSALS.includes(code);
    if (isRefused === mayCall) wrong.push(`${endpoint.method} ${endpoint.path}: ${String(code)}`);
  }
  expect(wrong).toEqual([]);
});

test.each(PLATFORM_ROLES)('%s for the whole installation', async (role) => {
  const wrong: string[] = [];
  for (const endpoint of endpoints()) {
    const mayCall = (endpoint.scopes ?? []).every((scope) => holdsScope(PLATFORM_SCOPES_OF_ROLE[role], scope));
    const code = await ask({ endpoint, role, merchantId: null });
    const isRefused = code !== null && REFUSALS.includes(code);
    if (isRefused === mayCall) wrong.push(`${endpoint.method} ${endpoint.path}: ${String(code)}`);
  }
  expect(wrong).toEqual([]);
});

test('a client of the API is no person', async () => {
  const forPeople = endpoints().filter(({ scopes }) => scopes === null);
  expect(forPeople.length).toBeGreaterThan(8);
  const wrong: string[] = [];
  for (const endpoint of forPeople) {
    const more = { token: world.allScopes, body: world.bodyOf(endpoint) };
    const { code } = await world.send(endpoint.method, world.pathOf(endpoint, 'missing'), more);
    if (code !== 'session_needed') wrong.push(`${endpoint.method} ${endpoint.path}: ${String(code)}`);
  }
  expect(wrong).toEqual([]);
});
