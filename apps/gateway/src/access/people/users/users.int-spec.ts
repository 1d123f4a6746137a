// Promise: a user gives no more than it has, the last owner stays, and where the merchant wants four eyes one user alone changes nothing.
import 'reflect-metadata';
import { sampleDocument } from '#database/testing';
import { newId } from '#runtime';
import { totpAt } from '../credentials/totp.js';
import { Invitations } from '../invitations/invitations.js';
import { codesOf, msUntil, PASSWORD, PeopleRig, type Browser } from '../testing/people-rig.js';
import { SessionRepository } from '../sessions/session.repository.js';
import { Users } from './users.js';

let rig: PeopleRig;
let merchantId: string;
let owner: Browser;

beforeAll(async () => {
  rig = await PeopleRig.start(2);
  merchantId = await rig.createMerchant();
  owner = await rig.join('owner', ['owner'], merchantId);
});
afterAll(() => rig?.stop());

const now = (): number => Date.now() / 1_000;

describe('users', () => {
  test('are given only what the giver has; the last owner stays', async () => {
    const own = await rig.createMerchant();
    const first = await rig.join('first', ['owner'], own);
    for (const [method, body] of [
      ['PATCH', { roles: ['support'] }],
      ['DELETE', undefined],
    ] as const)
      expect((await first.ask(method, `/v1/users/${first.userId}`, { body })).code).toBe('last_owner');
    expect((await first.post('/v1/invitations', { email: 'x@shop.uz', roles: ['platform_administrator'] })).code).toBe(
      'invalid_value',
    );
    expect((await first.post('/v1/invitations', { email: first.email, roles: ['support'] })).code).toBe(
      'already_member',
    );
    const second = await rig.join('second', ['developer'], own);
    expect((await second.post('/v1/invitations', { email: 'x@shop.uz', roles: ['support'] })).code).toBe(
      'insufficient_scope',
    );
    const listed = (await first.get('/v1/users')).body?.data ?? [];
    expect(listed.map(({ id, roles }) => [id, roles])).toEqual([
      [first.userId, ['owner']],
      [second.userId, ['developer']],
    ]);
    expect((await owner.get(`/v1/users/${second.userId}`)).status).toBe(404);
    // Two owners remove each other at once: one of them stays.
    await first.ask('PATCH', `/v1/users/${second.userId}`, { body: { roles: ['owner'] } });
    await msUntil(
      () => second.get('/v1/users'),
      ({ status }) => status === 200,
    );
    await Promise.all([
      first.ask('DELETE', `/v1/users/${second.userId}`),
      second.ask('DELETE', `/v1/users/${first.userId}`),
    ]);
    expect(await rig.prisma.membership.count({ where: { merchantId: own, role: 'owner' } })).toBe(1);
  });

  test('of the platform read every merchant, administer users, and decide nothing', async () => {
    const admin = await rig.join('admin', ['platform_administrator'], null);
    expect((await admin.get('/v1/me')).body).toMatchObject({
      merchant: null,
      platform_roles: ['platform_administrator'],
    });
    expect((await admin.get('/v1/merchant')).code).toBe('merchant_needed');
    expect((await admin.get('/v1/merchant', { merchant: merchantId })).body).toMatchObject({ id: merchantId });
    const call = { body: { name: 'Mine' }, merchant: merchantId };
    expect((await admin.ask('PATCH', '/v1/merchant', call)).code).toBe('insufficient_scope');
    const invited = await admin.post(
      '/v1/invitations',
      { email: 'o@shop.uz', roles: ['owner'] },
      { merchant: merchantId },
    );
    expect(invited.status).toBe(201);
    expect((await admin.get('/v1/users')).body?.data).toEqual([expect.objectContaining({ id: admin.userId })]);
  });

  test('of the platform invite the owner of a new merchant, who finds what is next', async () => {
    const admin = await rig.join('opener', ['platform_administrator'], null);
    const made = await admin.post('/v1/platform/merchants', {
      code: `new-${Date.now()}`,
      name: 'New',
      tin: '301234567',
    });
    const [id, path] = [made.body?.id ?? '', `/v1/platform/merchants/${made.body?.id}/invitations`];
    const next = async (): Promise<unknown> => {
      const { body } = await admin.get('/v1/onboarding', { merchant: id });
      return (body as unknown as { next: string }).next;
    };
    expect(await next()).toBe('owner');
    await rig.makeStale(admin.userId);
    await msUntil(
      () => admin.post(path, { email: 'boss@shop.uz' }),
      ({ code }) => code === 'step_up_needed',
    );
    await rig.prisma.$executeRaw`UPDATE invitations SET revoked_at = now() WHERE merchant_id = ${id}`;
    await admin.stepUp();
    const invited = await admin.post(path, { email: 'boss@shop.uz' });
    expect(invited.body).toMatchObject({ email: 'boss@shop.uz', roles: ['owner'] });
    const foreign = await admin.post(path, { email: 'x@shop.uz', roles: ['platform_administrator'] });
    expect(foreign.code).toBe('invalid_value');
    expect((await admin.post('/v1/platform/merchants/mer_01/invitations', { email: 'x@shop.uz' })).status).toBe(404);
    expect((await owner.post(path, { email: 'x@shop.uz' })).code).toBe('insufficient_scope');
    expect((await admin.get(path)).body?.data).toEqual([expect.objectContaining({ id: invited.body?.id })]);
    const boss = rig.browser();
    const token = invited.body?.url.split('#')[1] ?? '';
    const secret = (await boss.post('/auth/invitation', { token })).body?.totp.secret ?? '';
    const body = { token, name: 'Boss', password: PASSWORD, code: totpAt(secret, now()) };
    const joined = await boss.post('/auth/invitation/accept', body);
    expect(joined.body).toMatchObject({ merchant: { id }, roles: ['owner'] });
    expect((await boss.get('/v1/onboarding')).body).toMatchObject({ next: 'branch' });
    expect((await admin.post(path, { email: 'boss@shop.uz' })).code).toBe('already_member');
    const second = (await admin.post(path, { email: 'second@shop.uz', roles: ['accountant'] })).body?.id;
    // Of another merchant it cannot be withdrawn.
    const elsewhere = `/v1/platform/merchants/${merchantId}/invitations/${second}`;
    expect((await admin.ask('DELETE', elsewhere)).status).toBe(404);
    expect((await admin.ask('DELETE', `${path}/${second}`)).status).toBe(204);
    expect((await admin.get(path)).body?.data).toEqual([]);
  });

  test('a recovery ends all sessions and all old factors', async () => {
    const person = await rig.join('lost', ['support'], merchantId);
    const caller = { merchantId: 'platform', actor: 'test', address: null, requestId: 'r' };
    const recovery = { email: person.email, roles: [], merchantId: null, userId: person.userId };
    const { url } = await rig.app.get(Invitations).create(caller, recovery);
    const token = url.split('#')[1] ?? '';
    const again = rig.browser();
    const shown = await again.post('/auth/invitation', { token });
    expect(shown.body).toMatchObject({ kind: 'recovery' });
    const secret = shown.body?.totp.secret ?? '';
    const body = { token, name: 'Lost', password: `${PASSWORD} 2`, code: totpAt(secret, now()) };
    const recovered = await again.post('/auth/invitation/accept', body);
    expect(recovered.body).toMatchObject({ user: { id: person.userId }, roles: ['support'] });
    await msUntil(
      () => person.get('/v1/me', { at: 1 }),
      ({ code }) => code === 'session_invalid',
    );
    expect((await person.logIn()).code).toBe('login_failed');
  });

  test('a recovery ends the other links to the account, and none leads to a disabled one', async () => {
    const person = await rig.join('twice', ['support'], merchantId);
    const caller = { merchantId: 'platform', actor: 'test', address: null, requestId: 'r' };
    const recovery = { email: person.email, roles: [], merchantId: null, userId: person.userId };
    const make = async (): Promise<string> =>
      (await rig.app.get(Invitations).create(caller, recovery)).url.split('#')[1] ?? '';
    const [first, second] = [await make(), await make()];
    const again = rig.browser();
    const secret = (await again.post('/auth/invitation', { token: first })).body?.totp.secret ?? '';
    const body = { token: first, name: 'T', password: `${PASSWORD} 2`, code: totpAt(secret, now()) };
    expect((await again.post('/auth/invitation/accept', body)).status).toBe(200);
    expect((await again.post('/auth/invitation', { token: second })).code).toBe('invitation_invalid');
    const third = await make();
    const late = rig.browser();
    const shown = (await late.post('/auth/invitation', { token: third })).body?.totp.secret ?? '';
    await rig.prisma.user.update({ where: { id: person.userId }, data: { disabledAt: new Date() } });
    const recovered = { ...body, token: third, code: totpAt(shown, now()) };
    expect(codesOf([await late.post('/auth/invitation/accept', recovered)])).toEqual([[404, 'invitation_invalid']]);
  });
});

describe('one who is removed', () => {
  test('leaves no invitation behind, and ends what it has asked for', async () => {
    const own = await rig.createMerchant();
    const [boss, other] = [await rig.join('boss', ['owner'], own), await rig.join('rival', ['owner'], own)];
    const made = await other.post('/v1/invitations', { email: `second.self.${own}@shop.uz`, roles: ['owner'] });
    const token = made.body?.url.split('#')[1] ?? '';
    expect((await rig.browser().post('/auth/invitation', { token })).status).toBe(200);
    expect((await boss.ask('DELETE', `/v1/users/${other.userId}`)).status).toBe(204);
    const self = rig.browser();
    expect((await self.post('/auth/invitation', { token })).code).toBe('invitation_invalid');
    expect((await self.post('/auth/oidc/start', { invitation: token })).code).toBe('invitation_invalid');
    // Let in before it was removed, and at work only now.
    const giver = {
      ...{ merchantId: own, actor: other.userId, address: null, requestId: 'r' },
      ...{ scopes: ['users:admin'], roles: ['owner'] },
    };
    await expect(rig.app.get(Users).remove(giver, boss.userId)).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect((await boss.get('/v1/users')).body?.data).toHaveLength(1);
  });

  test('an owner that was disabled counts as none on the way to the first receipt', async () => {
    const own = await rig.createMerchant();
    const person = await rig.join('gone', ['owner'], own);
    const admin = await rig.join('asker', ['platform_administrator'], null);
    const next = async (): Promise<unknown> =>
      ((await admin.get('/v1/onboarding', { merchant: own })).body as { next?: unknown } | null)?.next;
    expect(await next()).toBe('branch');
    await rig.prisma.user.update({ where: { id: person.userId }, data: { disabledAt: new Date() } });
    expect(await next()).toBe('owner');
  });
});

test('a user of a suspended merchant steps up, decides, logs out, and makes nothing', async () => {
  const own = await rig.createMerchant();
  const [first, second] = [await rig.join('one', ['owner'], own), await rig.join('two', ['owner'], own)];
  const attempt = await unknownReceipt(own, 5_000);
  await first.ask('PATCH', '/v1/merchant', { body: { four_eyes: { unknown_above: 1 } } });
  await rig.prisma
    .$executeRaw`UPDATE merchants SET suspended_at = now(), suspended_reason = 'unpaid' WHERE id = ${own}`;
  await msUntil(
    () => first.post('/v1/branches', { code: 'b', name: 'B' }),
    ({ code }) => code === 'merchant_suspended',
  );
  expect((await first.stepUp()).status).toBe(200);
  const body = { decision: 'not_registered', reason: 'the journal of the register lacks it' };
  const asked = await first.post(`/v1/operator/attempts/${attempt}/resolve`, body);
  expect(asked.code).toBe('approval_needed');
  expect((await second.post(`${asked.headers.get('location')}/approve`)).status).toBe(200);
  expect((await first.post(`/v1/operator/attempts/${attempt}/resolve`, body)).status).toBe(200);
  expect((await second.post('/v1/sessions/revoke-others')).status).toBe(200);
  expect((await first.post('/v1/session/logout')).status).toBe(200);
});

/** What a request of a client that this user makes has besides. */
async function clientOf(
  user: Browser,
  scopes: string[],
): Promise<{ headers: Record<string, string>; page: Record<string, string> }> {
  const made = await user.post('/v1/clients', { name: 'C', scopes, ip_policy: 'any' });
  const { id = '', client_secret: secret = '' } = made.body ?? {};
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const answer = await fetch(`${rig.bases[0]}/oauth/token`, { method: 'POST', body: form });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return { headers: { authorization: `Bearer ${token}` }, page: {} };
}

/** An unknown receipt of this sum, and the attempt that a person decides. */
async function unknownReceipt(of: string, totalTiyin: number): Promise<string> {
  const [receiptId, attemptId] = [newId('rcp'), newId('att')];
  const [branchId, deviceId] = [newId('brn'), newId('dev')];
  const { prisma } = rig;
  const terminalId = `UZ${deviceId.slice(-12)}`;
  const baseline = { terminalId, journalId: null, sequence: 100, reading: null };
  await prisma.$executeRaw`INSERT INTO branches (id, merchant_id, code, name) VALUES (${branchId}, ${of}, ${branchId}, 'B')`;
  await prisma.$executeRaw`
    INSERT INTO devices (id, merchant_id, branch_id, name, transport, state, state_since, registered_at, terminal_id, api_key_sealed)
    VALUES (${deviceId}, ${of}, ${branchId}, 'D', 'link', 'online', now(), now(), ${terminalId}, ''::bytea)`;
  await prisma.$executeRaw`INSERT INTO lanes (device_id) VALUES (${deviceId})`;
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id, document,
                          total_tiyin, vat_total_tiyin)
    VALUES (${receiptId}, ${of}, 'cli_1', 'receipts', ${Buffer.alloc(32)}, 'sale', 'unknown', nextval('lane_place_seq'), ${deviceId},
            ${branchId}, ${JSON.stringify(sampleDocument())}::jsonb, ${totalTiyin}, 0)`;
  await prisma.$executeRaw`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at)
    VALUES (${attemptId}, ${receiptId}, ${deviceId}, 1, 'unknown', ${JSON.stringify(baseline)}::jsonb, ${Buffer.from('{}')}, 'relay-1', now())`;
  return attemptId;
}

describe('four eyes', () => {
  test('an unknown receipt above the sum needs a second user; one below does not, and a client is refused', async () => {
    const own = await rig.createMerchant();
    const [first, second] = [await rig.join('one', ['owner'], own), await rig.join('two', ['operator'], own)];
    const set = { body: { four_eyes: { unknown_above: 1_000_000 } } };
    expect((await first.ask('PATCH', '/v1/merchant', set)).status).toBe(200);
    const [large, equal] = [await unknownReceipt(own, 1_000_001), await unknownReceipt(own, 1_000_000)];
    const path = (attempt: string): string => `/v1/operator/attempts/${attempt}/resolve`;
    const body = { decision: 'not_registered', reason: 'the journal of the register lacks it' };
    expect((await first.post(path(equal), body)).status).toBe(200);
    const asked = await first.post(path(large), body);
    expect(codesOf([asked])).toEqual([[409, 'approval_needed']]);
    const state = (): Promise<{ state: string } | null> =>
      rig.prisma.attempt.findFirst({ where: { id: large }, select: { state: true } });
    expect(await state()).toMatchObject({ state: 'unknown' });
    const approval = asked.headers.get('location') ?? '';
    const [shown] = (await second.get('/v1/approvals?state=pending')).body?.data ?? [];
    expect(shown).toMatchObject({ subject_id: large, requested_by: first.userId, request: body });
    expect((await first.post(`${approval}/approve`)).code).toBe('own_request');
    // A refused one opens nothing, and neither does another decision under the approval of this one.
    expect((await second.post(`${approval}/refuse`)).body).toMatchObject({ state: 'refused' });
    const again = await first.post(path(large), body);
    expect(again.code).toBe('approval_needed');
    expect((await second.post(`${again.headers.get('location')}/approve`)).body).toMatchObject({ state: 'approved' });
    const other = { ...body, reason: 'something else' };
    expect((await first.post(path(large), other)).code).toBe('approval_needed');
    expect((await first.post(path(large), body)).status).toBe(200);
    expect(await state()).not.toMatchObject({ state: 'unknown' });
    const client = await clientOf(first, ['operator:resolve', 'receipts:read']);
    const third = await unknownReceipt(own, 5_000_000);
    expect((await rig.browser().post(path(third), body, client)).code).toBe('session_needed');
  });

  test('a request that is refused anyway asks no second user, and no text is too odd to be shown', async () => {
    const own = await rig.createMerchant();
    const [first, second] = [await rig.join('one', ['owner'], own), await rig.join('two', ['owner'], own)];
    await first.ask('PATCH', '/v1/merchant', { body: { four_eyes: { provider_accounts: true } } });
    const settings = { cashbox_id: 'c', key: 'k' };
    const pointers = async (body: object): Promise<unknown> => {
      const answer = await first.post('/v1/provider-accounts', body);
      return [
        answer.status,
        ((answer.body as { errors?: { pointer: string }[] } | null)?.errors ?? []).map((e) => e.pointer),
      ];
    };
    expect(await pointers({ provider: 'payme', name: 'a\0b', settings })).toEqual([422, ['/name']]);
    expect(await pointers({ provider: 'payme', name: 'a\ud800b', settings })).toEqual([422, ['/name']]);
    expect(await pointers({ provider: 'payme', settings: 'x' })).toEqual([422, ['/settings']]);
    expect((await second.get('/v1/approvals')).body?.data).toEqual([]);
    for (const odd of [{ 'n\0': 'x' }, { result_url: 'https://a.uz/\ud800' }]) {
      const answer = await first.post('/v1/provider-accounts', {
        provider: 'payme',
        settings: { ...settings, ...odd },
      });
      expect(codesOf([answer])).toEqual([[409, 'approval_needed']]);
    }
    expect((await second.get('/v1/approvals')).body?.data).toHaveLength(2);
  });

  test('a change of a provider account passes once a second user has approved that very request', async () => {
    const own = await rig.createMerchant();
    const [first, second] = [await rig.join('one', ['owner'], own), await rig.join('two', ['owner'], own)];
    const weak = await rig.join('weak', ['support'], own);
    const account = { provider: 'payme', name: 'P', settings: { cashbox_id: 'c', key: 'a-secret-key' } };
    expect(
      (await first.ask('PATCH', '/v1/merchant', { body: { four_eyes: { provider_accounts: true } } })).body,
    ).toMatchObject({
      four_eyes: { unknown_above: null, provider_accounts: true },
    });
    const asked = await first.post('/v1/provider-accounts', account);
    expect(codesOf([asked])).toEqual([[409, 'approval_needed']]);
    const path = asked.headers.get('location') ?? '';
    expect((await first.post('/v1/provider-accounts', account)).headers.get('location')).toBe(path);
    const listed = JSON.stringify((await second.get('/v1/approvals?state=pending')).body);
    expect(listed).toContain('POST /v1/provider-accounts');
    expect(listed).not.toContain('a-secret-key');
    expect((await weak.get('/v1/approvals')).body?.data).toEqual([]);
    expect((await first.post(`${path}/approve`)).code).toBe('own_request');
    expect((await weak.post(`${path}/approve`)).code).toBe('scope_not_held');
    expect((await owner.post(`${path}/approve`)).status).toBe(404);
    expect((await second.post(`${path}/approve`)).body).toMatchObject({ state: 'approved', decided_by: second.userId });
    expect((await second.post(`${path}/approve`)).code).toBe('approval_closed');
    // Another request, and another user, pass by it as little as before.
    expect((await first.post('/v1/provider-accounts', { ...account, name: 'Q' })).code).toBe('approval_needed');
    expect((await second.post('/v1/provider-accounts', account)).code).toBe('approval_needed');
    const both = await Promise.all([1, 2].map(() => first.post('/v1/provider-accounts', account)));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await first.post('/v1/provider-accounts', account)).code).toBe('approval_needed');
    // It cannot be switched off by one alone, nor by a client.
    const off = { body: { four_eyes: { provider_accounts: false } } };
    expect((await first.ask('PATCH', '/v1/merchant', off)).code).toBe('approval_needed');
    expect((await first.ask('PATCH', '/v1/merchant', { body: { name: 'Shop' } })).status).toBe(200);
    const client = await clientOf(first, ['clients:admin', 'devices:admin']);
    expect((await rig.browser().post('/v1/provider-accounts', account, client)).code).toBe('session_needed');
    expect((await rig.browser().ask('PATCH', '/v1/merchant', { ...off, ...client })).code).toBe('session_needed');
  });

  test('what a user has approved that was removed, disabled or given less since passes no more, and asks again', async () => {
    const own = await rig.createMerchant();
    const [first, third] = [await rig.join('one', ['owner'], own), await rig.join('three', ['owner'], own)];
    await first.ask('PATCH', '/v1/merchant', { body: { four_eyes: { provider_accounts: true } } });
    const losses = {
      removed: (id: string) => first.ask('DELETE', `/v1/users/${id}`),
      lowered: (id: string) => first.ask('PATCH', `/v1/users/${id}`, { body: { roles: ['support'] } }),
      disabled: (id: string) => rig.prisma.user.update({ where: { id }, data: { disabledAt: new Date() } }),
    };
    for (const [name, lose] of Object.entries(losses)) {
      const account = { provider: 'payme', name, settings: { cashbox_id: 'c', key: 'k' } };
      const second = await rig.join('two', ['owner'], own);
      const asked = (await first.post('/v1/provider-accounts', account)).headers.get('location') ?? '';
      expect((await second.post(`${asked}/approve`)).body).toMatchObject({ state: 'approved' });
      await lose(second.userId);
      const again = await first.post('/v1/provider-accounts', account);
      expect([name, ...codesOf([again])]).toEqual([name, [409, 'approval_needed']]);
      const anew = again.headers.get('location') ?? '';
      expect(anew).not.toBe(asked);
      // Another one that still may decides about it, beside the one that counts no more.
      expect((await third.post(`${anew}/approve`)).body).toMatchObject({ state: 'approved' });
      const made = await first.post('/v1/provider-accounts', account);
      expect([name, made.status]).toEqual([name, 201]);
      await rig.prisma.$executeRaw`UPDATE provider_accounts SET disabled_at = now() WHERE id = ${made.body?.id ?? ''}`;
    }
  });
});

test('an invitation is kept a month after it was used, was withdrawn or has expired, and its address no longer', async () => {
  const caller = { merchantId, actor: owner.userId, address: null, requestId: newId('req') };
  const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000);
  const made = async (column: 'usedAt' | 'revokedAt' | 'expiresAt', daysAgo: number): Promise<string> => {
    const email = `${column.toLowerCase()}-${daysAgo}@shop.uz`;
    const { id } = await rig.app.get(Invitations).create(caller, { email, roles: ['support'], merchantId });
    // One that was used or withdrawn would have stayed open for years.
    const data = { expiresAt: inDays(2_000), [column]: inDays(-daysAgo) };
    await rig.prisma.invitation.update({ where: { id }, data });
    return id;
  };
  const [gone, kept]: [string[], string[]] = [[], [await made('expiresAt', -1)]];
  for (const column of ['usedAt', 'revokedAt', 'expiresAt'] as const) {
    gone.push(await made(column, 31));
    kept.push(await made(column, 29));
  }
  await rig.app.get(SessionRepository).sweep();
  const rows = await rig.prisma.invitation.findMany({ where: { id: { in: [...gone, ...kept] } } });
  expect(rows.map(({ id }) => id).sort()).toEqual(kept.sort());
});
