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
async function sessionOf(role: Role, merchantId: string, steppedUpAt = new Date()): Promise<string> {
  const [userId, token] = [newId('usr'), newSessionToken()];
  const { prisma } = world.gateway;
  await prisma.user.create({ data: { id: userId, email: `${userId}@shop.uz`, name: role } });
  const of = isPlatformRole(role) ? null : merchantId;
  await prisma.membership.create({ data: { id: newId('mem'), userId, merchantId: of, role } });
  const tokenHash = new Uint8Array(hashSessionToken(token));
  const until = new Date(Date.now() + 3_600_000);
  await prisma.userSession.create({
    data: { id: newId('ses'), tokenHash, userId, login: 'password', expiresAt: until, steppedUpAt },
  });
  return token;
}

interface Cell {
  endpoint: Endpoint;
  role: Role;
  /** Null: the request names none. */
  merchantId: string | null;
  steppedUpAt?: Date;
}

/** The code of what was answered; null: no refusal. */
async function ask({ endpoint, role, merchantId, steppedUpAt }: Cell): Promise<string | null> {
  // Anew for each: some routes end the session that calls them.
  const token = await sessionOf(role, world.gateway.merchantId, steppedUpAt);
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

/** Decisions of an operator, adopting, secrets and keys, clients, providers' accounts, users, approvals and the own factors. */
const STEP_UP = [
  'DELETE /v1/clients/{id}/keys/{key}',
  'DELETE /v1/invitations/{id}',
  'DELETE /v1/me/passkeys/{id}',
  'DELETE /v1/message-accounts/{id}',
  'DELETE /v1/platform/merchants/{id}/invitations/{invitationId}',
  'DELETE /v1/provider-accounts/{id}',
  'DELETE /v1/users/{id}',
  'PATCH /v1/clients/{id}',
  'PATCH /v1/message-accounts/{id}',
  'PATCH /v1/provider-accounts/{id}',
  'PATCH /v1/users/{id}',
  'POST /v1/approvals/{id}/approve',
  'POST /v1/approvals/{id}/refuse',
  'POST /v1/clients',
  'POST /v1/clients/{id}/enable',
  'POST /v1/clients/{id}/keys',
  'POST /v1/clients/{id}/secret',
  'POST /v1/invitations',
  'POST /v1/me/passkeys',
  'POST /v1/me/passkeys/options',
  'POST /v1/me/password',
  'POST /v1/me/totp',
  'POST /v1/me/totp/begin',
  'POST /v1/message-accounts',
  'POST /v1/operator/attempts/{id}/park',
  'POST /v1/operator/attempts/{id}/resolve',
  'POST /v1/operator/devices/{id}/adopt',
  'POST /v1/operator/devices/{id}/delivered',
  'POST /v1/operator/devices/{id}/unblock',
  'POST /v1/operator/payments/{id}/document',
  'POST /v1/operator/payments/{id}/extra-charges',
  'POST /v1/operator/payments/{id}/resolve',
  'POST /v1/operator/payments/{id}/retry',
  'POST /v1/platform/classifier/back',
  'POST /v1/platform/classifier/resume',
  'POST /v1/platform/merchants/{id}/clients',
  'POST /v1/platform/merchants/{id}/invitations',
  'POST /v1/provider-accounts',
  'POST /v1/receipts/{id}/fiscal',
  'POST /v1/session/terminal',
  'POST /v1/webhooks/callbacks/rotate-secret',
  'POST /v1/webhooks/{id}/rotate-secret',
  'PUT /v1/payment-routing',
];

test('a second factor that is not fresh is asked for on exactly these routes', async () => {
  const stale = new Date(Date.now() - 3_600_000);
  const asked = new Map<string, string | null>();
  for (const endpoint of endpoints()) {
    const role = endpoint.isOverMerchants ? 'platform_administrator' : 'owner';
    const cell = { endpoint, role, merchantId: endpoint.isOverMerchants ? null : world.gateway.merchantId } as const;
    asked.set(`${endpoint.method} ${endpoint.path}`, await ask({ ...cell, steppedUpAt: stale }));
  }
  const needs = [...asked].filter(([, code]) => code === 'step_up_needed').map(([name]) => name);
  expect(needs.sort()).toEqual(STEP_UP);
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
