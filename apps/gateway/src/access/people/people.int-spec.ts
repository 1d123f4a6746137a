// Promise: only who proves to be a user gets a session; it is used from the console alone, does what its role may, and ends within a second everywhere.
import 'reflect-metadata';
import { VerifyAuditTrail } from '../../audit/verify-audit-trail.js';
import { codesOf, msUntil, ORIGIN, PASSWORD, PeopleRig, type Browser, type RigAnswer } from './testing/people-rig.js';
import { totpAt } from './credentials/totp.js';

const SESSION = '__Host-fgw_session';

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

describe('an invitation', () => {
  test('makes a user with a role, once', async () => {
    const token = await rig.invite('new@shop.uz', ['support'], merchantId);
    const browser = rig.browser();
    const shown = await browser.post('/auth/invitation', { token });
    expect(shown.body).toMatchObject({
      kind: 'invitation',
      email: 'new@shop.uz',
      roles: ['support'],
      account_exists: false,
    });
    const secret = shown.body?.totp.secret ?? '';
    const body = { token, name: 'New', password: PASSWORD, code: totpAt(secret, now()) };
    const wrong = await browser.post('/auth/invitation/accept', { ...body, code: '000000' });
    expect(codesOf([wrong])).toEqual([[403, 'second_factor_refused']]);
    for (const password of ['short', 'aaaaaaaaaaaaaaaa', 'password1234'])
      expect((await browser.post('/auth/invitation/accept', { ...body, password })).code).toBe('password_weak');
    // Another browser that has the link too, as the one who made it, is shown another secret; the code of one opens nothing in another.
    const inviter = rig.browser();
    const seen = (await inviter.post('/auth/invitation', { token })).body?.totp.secret ?? '';
    expect([seen.length, seen === secret]).toEqual([secret.length, false]);
    expect((await browser.post('/auth/invitation', { token })).body?.totp.secret).toBe(secret);
    const elsewhere = await rig.invite('elsewhere@shop.uz', ['support'], await rig.createMerchant());
    const other = rig.browser();
    await other.post('/auth/invitation', { token: elsewhere });
    for (const stranger of [inviter, rig.browser(), other])
      expect((await stranger.post('/auth/invitation/accept', body)).code).toBe('second_factor_refused');
    const tabs = [1, 2].map(() => {
      const tab = rig.browser();
      for (const [name, value] of browser.cookies) tab.cookies.set(name, value);
      return tab;
    });
    const both = await Promise.all(tabs.map((tab) => tab.post('/auth/invitation/accept', body)));
    expect(both.map(({ status }) => status).sort()).toEqual([200, expect.any(Number)]);
    expect(both.find(({ status }) => status === 200)?.body).toMatchObject({
      ...{
        kind: 'user',
        user: { email: 'new@shop.uz', name: 'New' },
        merchant: { id: merchantId },
        roles: ['support'],
      },
      ...{ step_up_methods: ['totp'], factors: { password: true, totp: true, passkeys: 0 } },
    });
    expect(await rig.prisma.user.count({ where: { email: 'new@shop.uz' } })).toBe(1);
    expect((await browser.post('/auth/invitation', { token })).code).toBe('invitation_invalid');
    // The factor is the one of the browser that has accepted.
    await rig.prisma.$executeRaw`UPDATE users SET totp_step = 0 WHERE email = 'new@shop.uz'`;
    const login = { email: 'new@shop.uz', password: PASSWORD };
    const stranger = await rig.browser().post('/auth/login', { ...login, code: totpAt(seen, now()) });
    expect(stranger.code).toBe('login_failed');
    const right = await rig.browser().post('/auth/login', { ...login, code: totpAt(secret, now()) });
    expect(right.status).toBe(200);
  });

  test('opens no more when it was withdrawn or has expired; what is none answers alike', async () => {
    const made = await owner.post('/v1/invitations', { email: 'a@shop.uz', roles: ['operator'] });
    expect(made.status).toBe(201);
    const url = made.body?.url ?? '';
    expect(url).toMatch(/^https:\/\/console\.test\/console\/invitation#fgw_in_/);
    const id = made.body?.id ?? '';
    expect((await owner.get('/v1/invitations')).body?.data).toEqual([
      expect.objectContaining({ id, email: 'a@shop.uz' }),
    ]);
    expect((await owner.ask('DELETE', `/v1/invitations/${id}`)).status).toBe(204);
    const expired = await rig.invite('b@shop.uz', ['operator'], merchantId);
    await rig.prisma.$executeRaw`UPDATE invitations SET expires_at = now() WHERE email = 'b@shop.uz'`;
    for (const token of [url.split('#')[1], expired, 'fgw_in_x', 'x', '\u0000'])
      expect((await rig.browser().post('/auth/invitation', { token })).status).toBe(404);
  });

  test('of one who has an account adds a merchant, by that account alone', async () => {
    const other = await rig.createMerchant();
    const token = await rig.invite(owner.email, ['accountant'], other);
    const shown = await rig.browser().post('/auth/invitation', { token });
    expect(shown.body).toMatchObject({ account_exists: true });
    const secret = shown.body?.totp.secret ?? '';
    const body = { token, name: 'Thief', password: PASSWORD, code: totpAt(secret, now()) };
    expect((await rig.browser().post('/auth/invitation/accept', body)).code).toBe('login_first');
    const stranger = await rig.join('stranger', ['support'], merchantId);
    expect((await stranger.post('/v1/me/invitations', { token })).code).toBe('invitation_invalid');
    const two = await rig.join('two', ['owner'], merchantId);
    const second = await rig.invite(two.email, ['accountant'], other);
    const joined = await two.post('/v1/me/invitations', { token: second });
    expect(joined.body?.memberships).toHaveLength(2);
    // Two merchants: each request names the one that it is about.
    for (const path of ['/v1/merchant', '/v1/approvals'])
      expect(codesOf([await two.get(path)])).toEqual([[400, 'merchant_needed']]);
    expect((await two.get('/v1/merchant', { merchant: merchantId })).body).toMatchObject({ id: merchantId });
    expect((await two.get('/v1/users', { merchant: other })).code).toBe('insufficient_scope');
    const foreign = await rig.createMerchant();
    for (const named of [foreign, 'mer_01jd3k5v8mzq4x7y9w2abcdefg', 'x', 'platform'])
      expect(codesOf([await two.get('/v1/merchant', { merchant: named })])).toEqual([[403, 'merchant_refused']]);
  });
});

describe('a login', () => {
  test('is refused alike whatever is wrong, and takes as long for an account that there is not', async () => {
    const person = await rig.join('login', ['support'], merchantId);
    const ask = async (body: Record<string, string>): Promise<RigAnswer> => rig.browser().post('/auth/login', body);
    const right = { email: person.email, password: PASSWORD, code: await person.code() };
    const answers = [
      await ask({ ...right, password: 'not the password' }),
      await ask({ ...right, code: right.code === '000000' ? '000001' : '000000' }),
      await ask({ ...right, email: 'missing.one@shop.uz' }),
      await ask({ ...right, email: 'MISSING.one@shop.uz' }),
    ];
    const shown = answers.map(({ status, body, headers }) => {
      const { request_id: _id, ...rest } = body ?? {};
      return { status, rest, cookies: headers.getSetCookie(), names: [...headers.keys()].sort() };
    });
    for (const one of shown) expect(one).toEqual(shown[0]);
    expect(shown[0]).toMatchObject({ status: 401, rest: { code: 'login_failed' }, cookies: [] });
    const took: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
    for (let round = 0; round < 3; round += 1)
      for (const who of ['known', 'unknown'] as const) {
        // What it costs, not how long it takes: the machine may be busy, and the hash is nearly all of both.
        const begun = process.cpuUsage();
        await ask({
          ...right,
          email: who === 'known' ? person.email : `n${round}@shop.uz`,
          password: 'wrong one here',
        });
        const { user, system } = process.cpuUsage(begun);
        took[who].push(user + system);
      }
    const [known = 0, unknown = 0] = [Math.min(...took.known), Math.min(...took.unknown)];
    expect(Math.max(known, unknown) / Math.min(known, unknown)).toBeLessThan(3);
    // A code counts once. Of one who has done nothing wrong: the address has used up what the others may do wrong.
    const other = await rig.join('replayed', ['support'], merchantId);
    const once = { email: other.email, password: PASSWORD, code: await other.code() };
    expect(codesOf([await ask(once), await ask(once)])).toEqual([
      [200, null],
      [401, 'login_failed'],
    ]);
  });

  test('may be wrong ten times; then also the right one waits, and others at the address do not', async () => {
    const [person, neighbour] = [
      await rig.join('often', ['support'], merchantId),
      await rig.join('near', ['support'], merchantId),
    ];
    const wrong = { email: person.email, password: 'not the password', code: '000000' };
    const answers: RigAnswer[] = [];
    for (let index = 0; index < 14; index += 1) answers.push(await rig.browser().post('/auth/login', wrong));
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([401, 429]));
    expect(answers.at(-1)?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(codesOf([await person.logIn()])).toEqual([[429, 'too_many_requests']]);
    expect((await neighbour.logIn()).status).toBe(200);
  });

  test('gives a cookie that no script reads and no other host sets, and a new one each time', async () => {
    const person = await rig.join('cookie', ['support'], merchantId);
    const before = person.cookies.get(SESSION) ?? '';
    const answer = await person.logIn();
    const [line = ''] = answer.headers.getSetCookie();
    expect(line).toMatch(/^__Host-fgw_session=fgw_us_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const after = person.cookies.get(SESSION) ?? '';
    expect(after).not.toBe(before);
    // Fixation: what was in the browser before the login is no session after it, and one that a stranger chose never is.
    for (const value of [before, 'fgw_us_x', `${before.slice(0, -1)}0`]) {
      const old = rig.browser();
      old.cookies.set(SESSION, value);
      expect((await old.get('/v1/me')).code).toBe('session_invalid');
    }
    // Tossing: a second cookie of the name, from a page of a host above this one.
    for (const cookie of [`${SESSION}=${after}; ${SESSION}=x`, `${SESSION}=x; ${SESSION}=${after}`]) {
      const tossed = await rig.browser().get('/v1/me', { headers: { cookie } });
      expect(codesOf([tossed])).toEqual([[401, 'session_invalid']]);
    }
    const plain = await rig.browser().get('/v1/me', { headers: { cookie: `fgw_session=${after}` } });
    expect(plain.code).toBe('unauthenticated');
    // An Authorization header makes it a client's request: the cookie opens nothing beside it.
    expect((await person.get('/v1/me', { headers: { authorization: 'Bearer fgw_at_x' } })).code).toBe('invalid_token');
  });
});

describe('a request of another page', () => {
  const PAGES: [string, Record<string, string>, string][] = [
    [
      'another site',
      { origin: 'https://evil.uz', 'fgw-console': '1', 'sec-fetch-site': 'cross-site' },
      'origin_refused',
    ],
    [
      'a sibling host',
      { origin: 'https://x.console.test', 'fgw-console': '1', 'sec-fetch-site': 'same-site' },
      'origin_refused',
    ],
    ['another port', { origin: `${ORIGIN}:8443`, 'fgw-console': '1' }, 'origin_refused'],
    ['http', { origin: 'http://console.test', 'fgw-console': '1' }, 'origin_refused'],
    ['a sandboxed frame', { origin: 'null', 'fgw-console': '1' }, 'origin_refused'],
    ['no origin', { 'fgw-console': '1' }, 'origin_refused'],
    ['a form', { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }, 'csrf_header_missing'],
    ['the wrong header', { origin: ORIGIN, 'fgw-console': '0' }, 'csrf_header_missing'],
  ];

  test.each(PAGES)('%s changes nothing and logs no one in', async (_what, page, code) => {
    // Refusals of the tests before may still be on their way to the trail.
    const done = { where: { NOT: { action: { contains: '.refuse_' } } } };
    const before = await rig.prisma.auditRecord.count(done);
    const calls: [string, string, unknown][] = [
      ['POST', '/v1/clients', { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' }],
      ['PATCH', '/v1/merchant', { name: 'Mine' }],
      ['DELETE', `/v1/users/${owner.userId}`, undefined],
      ['POST', '/v1/session/logout', {}],
      ['POST', '/auth/login', { email: owner.email, password: PASSWORD, code: '000000' }],
      ['POST', '/auth/invitation', { token: 'x' }],
      ['POST', '/auth/oidc/start', {}],
    ];
    for (const [method, path, body] of calls)
      expect([path, (await owner.ask(method, path, { body, page })).code]).toEqual([path, code]);
    expect(await rig.prisma.auditRecord.count(done)).toBe(before);
  });

  test('is not even read for another site', async () => {
    expect((await owner.get('/v1/me', { page: { 'sec-fetch-site': 'cross-site' } })).code).toBe('origin_refused');
    expect((await owner.get('/v1/me', { page: {} })).status).toBe(200);
    expect((await owner.get('/v1/me', { page: { 'sec-fetch-site': 'none' } })).status).toBe(200);
  });
});

describe('a second factor', () => {
  test('is asked for again where much is at stake; the one of another user is none', async () => {
    const person = await rig.join('stepup', ['owner'], merchantId);
    const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
    expect((await person.post('/v1/clients', body)).status).toBe(201);
    await rig.makeStale(person.userId);
    await msUntil(
      () => person.post('/v1/clients', body),
      ({ code }) => code === 'step_up_needed',
    );
    const calls: [string, string][] = [
      ['POST', '/v1/operator/attempts/att_01jd3k5v8mzq4x7y9w2abcdefg/resolve'],
      ['POST', '/v1/operator/devices/dev_01jd3k5v8mzq4x7y9w2abcdefg/adopt'],
      ['POST', '/v1/clients/cli_01jd3k5v8mzq4x7y9w2abcdefg/secret'],
      ['PATCH', '/v1/provider-accounts/pac_01jd3k5v8mzq4x7y9w2abcdefg'],
      ['POST', '/v1/webhooks/callbacks/rotate-secret'],
      ['POST', '/v1/invitations'],
      ['PATCH', `/v1/users/${person.userId}`],
      ['POST', '/v1/me/totp/begin'],
      ['POST', '/v1/me/passkeys/options'],
      ['POST', '/v1/approvals/apr_01jd3k5v8mzq4x7y9w2abcdefg/approve'],
    ];
    for (const [method, path] of calls)
      expect([path, (await person.ask(method, path, { body: {} })).code]).toEqual([path, 'step_up_needed']);
    const other = await rig.join('other', ['owner'], merchantId);
    expect((await person.post('/v1/session/step-up', { code: await other.code() })).code).toBe('second_factor_refused');
    const code = await person.code();
    const stepped = await person.post('/v1/session/step-up', { code });
    expect(stepped.body?.session.step_up_until).toMatch(/Z$/);
    expect((await person.post('/v1/session/step-up', { code })).code).toBe('second_factor_refused');
    expect((await person.post('/v1/clients', body)).status).toBe(201);
    await rig.makeStale(person.userId);
    const tries = [];
    for (let index = 0; index < 14; index += 1)
      tries.push(await person.post('/v1/session/step-up', { code: '000000' }));
    expect(tries.at(-1)?.status).toBe(429);
    expect((await person.stepUp()).status).toBe(429);
  });
});

describe('within a second, on every gateway', () => {
  const middleOf = (list: number[]): number => [...list].sort((a, b) => a - b)[1] ?? Infinity;

  test('a session that was revoked is none, and a role that was taken away gives nothing', async () => {
    const revoked: number[] = [];
    const narrowed: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const person = await rig.join('revoked', ['developer'], merchantId);
      const elsewhere = rig.browser();
      Object.assign(elsewhere, { email: person.email, secret: person.secret });
      await elsewhere.logIn();
      for (const at of [0, 1]) expect((await elsewhere.get('/v1/clients', { at })).status).toBe(200);
      const roles = { roles: ['support'] };
      expect((await owner.ask('PATCH', `/v1/users/${person.userId}`, { body: roles })).body).toMatchObject(roles);
      narrowed.push(
        await msUntil(
          () => elsewhere.get('/v1/clients', { at: 1 }),
          ({ code }) => code === 'insufficient_scope',
        ),
      );
      const { data } = (await person.get('/v1/sessions')).body ?? { data: [] };
      expect(data).toHaveLength(2);
      const other = String(data.find(({ current }) => current === false)?.['id']);
      expect((await owner.ask('DELETE', `/v1/sessions/${other}`)).status).toBe(404);
      expect((await person.ask('DELETE', `/v1/sessions/${other}`)).status).toBe(204);
      revoked.push(
        await msUntil(
          () => elsewhere.get('/v1/me', { at: 1 }),
          ({ code }) => code === 'session_invalid',
        ),
      );
      expect((await person.get('/v1/me')).status).toBe(200);
    }
    expect([middleOf(revoked) < 1_000, middleOf(narrowed) < 1_000]).toEqual([true, true]);
  });

  test('one who is removed, disabled or out of time is out', async () => {
    const person = await rig.join('removed', ['support'], merchantId);
    expect((await owner.ask('DELETE', `/v1/users/${person.userId}`)).status).toBe(204);
    await msUntil(
      () => person.get('/v1/merchant', { at: 1 }),
      ({ code }) => code === 'insufficient_scope',
    );
    await rig.prisma.user.update({ where: { id: person.userId }, data: { disabledAt: new Date() } });
    await msUntil(
      () => person.get('/v1/me', { at: 1 }),
      ({ code }) => code === 'session_invalid',
    );
    const idle = await rig.join('idle', ['support'], merchantId);
    await rig.prisma
      .$executeRaw`UPDATE user_sessions SET last_seen_at = now() - interval '31 minutes' WHERE user_id = ${idle.userId}`;
    const quiet = { headers: { 'fgw-background': '1' } };
    await msUntil(
      () => idle.get('/v1/me', quiet),
      ({ code }) => code === 'session_invalid',
    );
    const old = await rig.join('old', ['support'], merchantId);
    await rig.prisma.$executeRaw`UPDATE user_sessions SET expires_at = now() WHERE user_id = ${old.userId}`;
    await msUntil(
      () => old.get('/v1/me', { at: 1 }),
      ({ code }) => code === 'session_invalid',
    );
  });

  test('logging out ends the session and the cookie', async () => {
    const person = await rig.join('leaving', ['support'], merchantId);
    const value = person.cookies.get(SESSION) ?? '';
    const answer = await person.post('/v1/session/logout');
    expect([answer.status, answer.body, person.cookies.has(SESSION)]).toEqual([200, { redirect_url: null }, false]);
    person.cookies.set(SESSION, value);
    await msUntil(
      () => person.get('/v1/me', { at: 1 }),
      ({ code }) => code === 'session_invalid',
    );
  });
});

test('the trail names user, session and address, and is intact', async () => {
  const person = await rig.join('trail', ['owner'], merchantId);
  await person.post('/v1/clients', { name: 'Trail', scopes: ['receipts:read'], ip_policy: 'any' });
  const me = (await person.get('/v1/me')).body;
  const [record] = (await owner.get('/v1/audit?action=client.create&limit=1')).body?.data ?? [];
  expect(record).toMatchObject({ actor: person.userId, session_id: me?.session.id, address: '127.0.0.1' });
  const verify = rig.app.get(VerifyAuditTrail);
  expect(await verify.verifyAuditTrail(merchantId)).toMatchObject({ kind: 'intact' });
  expect(await verify.verifyAuditTrail('platform')).toMatchObject({ kind: 'intact' });
  const login = await rig.prisma.auditRecord.findFirstOrThrow({
    where: { action: 'user.login', actor: person.userId },
  });
  expect(login).toMatchObject({ merchantId: 'platform', address: '127.0.0.1' });
});

test('no answer of a session and no log of it holds a secret', async () => {
  const person = await rig.join('secretive', ['owner'], merchantId);
  const shown = JSON.stringify([
    (await person.get('/v1/me')).body,
    (await person.get('/v1/sessions')).body,
    (await person.get('/v1/users')).body,
    (await person.get('/v1/invitations')).body,
    (await person.get('/v1/audit?limit=100')).body,
  ]);
  for (const secret of [person.cookies.get(SESSION) ?? '-', person.secret, PASSWORD, 'fgw_us_', 'fgw_in_', '$argon2'])
    expect(shown).not.toContain(secret);
});
