// Promise: a login at a real identity provider counts once, in the browser that began it, for whom the provider says it is, with the roles of its claims.
import 'reflect-metadata';
import { freePorts } from '../../../../../../libs/runtime/src/testing/free-ports.js';
import { parseRoleRules } from '../../../http/role-rules.js';
import { testGatewaySettings } from '../../../testing/gateway-settings.js';
import { ORIGIN, PeopleRig, type Browser, type RigAnswer } from '../testing/people-rig.js';
import { CLIENT_ID, CLIENT_SECRET, TestIdentityProvider } from '../testing/identity-provider.js';

const CALLBACK = `${ORIGIN}/auth/oidc/callback`;

let provider: TestIdentityProvider;
let rig: PeopleRig;
let merchantId: string;
let code: string;

beforeAll(async () => {
  const port = await freePorts(2);
  provider = await TestIdentityProvider.start(port, CALLBACK, {
    logoutUri: `${ORIGIN}/console/login`,
    backChannel: `http://127.0.0.1:${port + 1}/auth/oidc/backchannel-logout`,
  });
  code = `shop-${port}`;
  const settings = {
    ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: CLIENT_ID, OIDC_CLIENT_SECRET: CLIENT_SECRET },
    OIDC_ROLES: parseRoleRules(
      `groups=owners->${code}/owner,realm_access.roles=it->platform_reader,groups=none->no-such/owner`,
    ),
  };
  rig = await PeopleRig.start(1, settings, port + 1);
  merchantId = await rig.createMerchant();
  await rig.prisma.merchant.update({ where: { id: merchantId }, data: { code } });
});
afterAll(async () => {
  await rig?.stop();
  await provider?.stop();
});

const account = (sub: string, claims: Record<string, unknown> = {}): void => {
  provider.account = { sub, claims: { email: `${sub}@shop.uz`, email_verified: true, name: sub, ...claims } };
  provider.refuses = false;
};

/** Goes through the provider's pages as a browser does. @returns where it is sent at the end: our callback */
async function throughProvider(from: string, cookies = new Map<string, string>()): Promise<string> {
  let at = from;
  for (let hop = 0; hop < 12; hop += 1) {
    if (at.startsWith(CALLBACK)) return at;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${at} answered ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    at = new URL(location, at).href;
  }
  throw new Error('the provider sent us round and round');
}

async function begin(browser: Browser, body: Record<string, unknown> = {}): Promise<URL> {
  const answer = await browser.post('/auth/oidc/start', body);
  return new URL(answer.body?.redirect_url ?? 'about:blank');
}

/** As the browser comes: from another site, and without cookies that are Strict. */
function callBack(browser: Browser, url: string): Promise<RigAnswer> {
  const { pathname, search } = new URL(url);
  const cookie = [...browser.cookies].filter(([name]) => name.endsWith('fgw_login')).map((pair) => pair.join('='));
  const page = { 'sec-fetch-site': 'cross-site', cookie: cookie.join('; ') };
  return browser.get(`${pathname}${search}`, { page, headers: { cookie: cookie.join('; ') } });
}

const whereTo = ({ status, headers }: RigAnswer): unknown => [status, headers.get('location')];
const failed = (error: string): unknown => [303, `${ORIGIN}/console/login?error=${error}`];

test('code and PKCE: a session with the roles of the claims, and back to where it began', async () => {
  account('aziza', { groups: ['owners', 'others'], realm_access: { roles: ['it'] } });
  const browser = rig.browser();
  const url = await begin(browser, { return_to: '/console/receipts?status=unknown' });
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    ...{ client_id: CLIENT_ID, response_type: 'code', redirect_uri: CALLBACK, code_challenge_method: 'S256' },
    ...{ state: expect.any(String), nonce: expect.any(String), code_challenge: expect.any(String) },
  });
  const back = await throughProvider(url.href);
  const answer = await callBack(browser, back);
  expect(whereTo(answer)).toEqual([303, `${ORIGIN}/console/receipts?status=unknown`]);
  const [cleared = '', session = ''] = answer.headers.getSetCookie();
  expect(cleared).toMatch(/^__Host-fgw_login=;.*Max-Age=0/);
  expect(session).toMatch(/^__Host-fgw_session=fgw_us_\w+;.*SameSite=Strict/);
  const me = await browser.get('/v1/me', { merchant: merchantId });
  expect(me.body).toMatchObject({
    ...{
      user: { email: 'aziza@shop.uz', name: 'aziza' },
      roles: ['owner', 'platform_reader'],
      step_up_methods: ['oidc'],
    },
    ...{ platform_roles: ['platform_reader'], factors: { password: false, totp: false, passkeys: 0 } },
  });
  // The same answer again, by one who has read it somewhere: the code and the state count once.
  const thief = rig.browser();
  expect(whereTo(await callBack(thief, back))).toEqual(failed('login_failed'));
  // Claims that are gone take their roles with them at the next login.
  account('aziza', { groups: ['others'], realm_access: { roles: ['it'] } });
  await callBack(browser, await throughProvider((await begin(browser)).href));
  expect((await browser.get('/v1/me')).body).toMatchObject({ memberships: [], platform_roles: ['platform_reader'] });
});

test('refused: another state, another nonce, another browser, a used or expired code, a person who declines', async () => {
  account('karim', { groups: ['owners'] });
  const changed = async (change: (url: URL) => void): Promise<unknown> => {
    const browser = rig.browser();
    const back = new URL(await throughProvider((await begin(browser)).href));
    change(back);
    return whereTo(await callBack(browser, back.href));
  };
  expect(await changed((url) => url.searchParams.set('state', 'another'))).toEqual(failed('login_failed'));
  expect(await changed((url) => url.searchParams.delete('state'))).toEqual(failed('login_failed'));
  expect(await changed((url) => url.searchParams.set('code', 'unknown'))).toEqual(failed('login_failed'));
  expect(await changed((url) => url.searchParams.set('iss', 'https://evil.uz'))).toEqual(failed('login_failed'));
  expect(await changed((url) => url.searchParams.append('code', 'two'))).toEqual(failed('login_failed'));
  expect(await changed(() => undefined)).toEqual([303, `${ORIGIN}/console`]);
  // Nonce and verifier are those of the browser's own cookie: one that began another login gets nothing for this code.
  const [one, two] = [rig.browser(), rig.browser()];
  const [first, second] = [await begin(one), await begin(two)];
  const back = await throughProvider(first.href);
  const swapped = new URL(back);
  swapped.searchParams.set('state', second.searchParams.get('state') ?? '');
  expect(whereTo(await callBack(two, swapped.href))).toEqual(failed('login_failed'));
  const replayed = rig.browser();
  const begun = await begin(replayed);
  begun.searchParams.set('nonce', 'another');
  expect(whereTo(await callBack(replayed, await throughProvider(begun.href)))).toEqual(failed('login_failed'));
  const cookieless = rig.browser();
  expect(whereTo(await callBack(cookieless, back))).toEqual(failed('login_failed'));
  const late = rig.browser();
  provider.codeSeconds = 1;
  const expiring = await throughProvider((await begin(late)).href);
  provider.codeSeconds = 60;
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(whereTo(await callBack(late, expiring))).toEqual(failed('login_failed'));
  const declined = rig.browser();
  const url = await begin(declined);
  provider.refuses = true;
  expect(whereTo(await callBack(declined, await throughProvider(url.href)))).toEqual(failed('login_failed'));
  expect(await rig.prisma.userSession.count({ where: { user: { email: 'karim@shop.uz' } } })).toBe(1);
});

test('no one gets in without a role, nor as a user of our own with the same address', async () => {
  account('stranger');
  const stranger = rig.browser();
  expect(whereTo(await callBack(stranger, await throughProvider((await begin(stranger)).href)))).toEqual(
    failed('no_membership'),
  );
  expect(await rig.prisma.user.count({ where: { email: 'stranger@shop.uz' } })).toBe(0);
  const own = await rig.join('own', ['owner'], merchantId);
  account('impostor', { email: own.email, groups: ['owners'] });
  const impostor = rig.browser();
  expect(whereTo(await callBack(impostor, await throughProvider((await begin(impostor)).href)))).toEqual(
    failed('login_refused'),
  );
  account('unverified', { email_verified: false, groups: ['owners'] });
  const unverified = rig.browser();
  expect(whereTo(await callBack(unverified, await throughProvider((await begin(unverified)).href)))).toEqual(
    failed('login_refused'),
  );
});

test('an invitation is opened by a login at the provider, once', async () => {
  account('invited', { email: 'other@elsewhere.uz' });
  const invitation = await rig.invite('invited@shop.uz', ['accountant'], merchantId);
  const browser = rig.browser();
  const back = await throughProvider((await begin(browser, { invitation })).href);
  expect(whereTo(await callBack(browser, back))).toEqual([303, `${ORIGIN}/console`]);
  expect((await browser.get('/v1/me')).body).toMatchObject({
    user: { email: 'invited@shop.uz' },
    roles: ['accountant'],
  });
  expect((await rig.browser().post('/auth/oidc/start', { invitation })).code).toBe('invitation_invalid');
});

test('a second factor is a fresh login of the same person; then logging out at the provider too', async () => {
  account('fresh', { groups: ['owners'] });
  const browser = rig.browser();
  await callBack(browser, await throughProvider((await begin(browser)).href));
  const { user, session } = (await browser.get('/v1/me')).body ?? { user: { id: '' }, session: { id: '' } };
  await rig.makeStale(user.id);
  const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
  const deadline = Date.now() + 30_000;
  while ((await browser.post('/v1/clients', body)).code !== 'step_up_needed')
    if (Date.now() > deadline) throw new Error('never asked');
  const before = browser.cookies.get('__Host-fgw_session') ?? '';
  const start = await begin(browser, { step_up: true, return_to: '/console/clients' });
  expect(Object.fromEntries(start.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
  // Another person's login is no factor of this one.
  account('another', { groups: ['owners'] });
  expect(whereTo(await callBack(browser, await throughProvider(start.href)))).toEqual(failed('login_refused'));
  expect((await browser.post('/v1/clients', body)).code).toBe('step_up_needed');
  account('fresh', { groups: ['owners'] });
  const again = await begin(browser, { step_up: true, return_to: '/console/clients' });
  expect(whereTo(await callBack(browser, await throughProvider(again.href)))).toEqual([
    303,
    `${ORIGIN}/console/clients`,
  ]);
  expect((await browser.post('/v1/clients', body)).status).toBe(201);
  expect((await browser.get('/v1/me')).body?.session.id).toBe(session.id);
  // What was copied of the session before has nothing of the second factor.
  const thief = rig.browser();
  thief.cookies.set('__Host-fgw_session', before);
  expect(browser.cookies.get('__Host-fgw_session')).not.toBe(before);
  expect((await thief.post('/v1/clients', body)).code).toBe('step_up_needed');
  expect((await rig.browser().post('/auth/oidc/start', { step_up: true })).code).toBe('session_invalid');
  const out = new URL((await browser.post('/v1/session/logout')).body?.redirect_url ?? 'about:blank');
  expect(out.href.startsWith(provider.issuer)).toBe(true);
  expect(out.searchParams.get('post_logout_redirect_uri')).toBe(`${ORIGIN}/console/login`);
  expect((await fetch(out, { redirect: 'manual' })).status).toBe(200);
  expect((await browser.get('/v1/me')).code).toBe('unauthenticated');
});

describe('a login at the provider', () => {
  const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
  const through = async (browser: Browser, more: Record<string, unknown>, cookies?: Map<string, string>) =>
    throughProvider((await begin(browser, more)).href, cookies);

  test('is no second factor: the provider may answer for one who logged in there hours ago', async () => {
    account('silent', { groups: ['owners'] });
    const cookies = new Map<string, string>();
    const browser = rig.browser();
    await callBack(browser, await through(browser, {}, cookies));
    expect((await browser.get('/v1/me')).body?.session.step_up_until).toBe(null);
    expect((await browser.post('/v1/clients', body)).code).toBe('step_up_needed');
    await callBack(browser, await through(browser, { step_up: true }, cookies));
    expect((await browser.post('/v1/clients', body)).status).toBe(201);
  });

  test('of two step-ups at once one renews the session; its ID token is the one to log out with', async () => {
    account('twice', { groups: ['owners'] });
    const browser = rig.browser();
    await callBack(browser, await through(browser, {}));
    const other = rig.browser();
    for (const [name, value] of browser.cookies) other.cookies.set(name, value);
    const tokenOf = async (): Promise<Uint8Array | null> =>
      (await rig.prisma.userSession.findFirstOrThrow({ where: { user: { email: 'twice@shop.uz' } } })).idTokenSealed;
    const atLogin = await tokenOf();
    const [first, second] = [await through(browser, { step_up: true }), await through(other, { step_up: true })];
    expect(whereTo(await callBack(browser, first))).toEqual([303, `${ORIGIN}/console`]);
    expect(await tokenOf()).not.toEqual(atLogin);
    const answer = await callBack(other, second);
    expect(whereTo(answer)).toEqual([303, `${ORIGIN}/console`]);
    expect(answer.headers.getSetCookie().filter((line) => line.includes('fgw_session'))).toEqual([]);
    // The cookie of the first one is the session's, and has the factor.
    expect((await browser.post('/v1/clients', body)).status).toBe(201);
  });
});

test('strangers make us check and ask only as often as their address may be wrong', async () => {
  const limit = { requests: 3, seconds: 36_000 };
  const settings = {
    ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: CLIENT_ID, OIDC_CLIENT_SECRET: CLIENT_SECRET },
    ...{
      CONSOLE_URL: `${ORIGIN}/console`,
      FAILED_TOKEN_LIMIT: limit,
      OIDC_ROLES: parseRoleRules(`groups=owners->${code}/owner`),
    },
  };
  await rig.add(testGatewaySettings({ url: rig.database.url }, settings));
  const at = rig.bases.length - 1;
  const seconds = Math.floor(Date.now() / 1_000);
  const good = (jti: string): Promise<string> =>
    provider.sign({
      ...{ iss: provider.issuer, aud: CLIENT_ID, iat: seconds, exp: seconds + 240, jti, sub: 'no-one' },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
  const notify = async (token: string): Promise<number> => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${rig.bases[at]}/auth/oidc/backchannel-logout`, { method: 'POST', body })).status;
  };
  for (let index = 0; index < 6; index += 1) expect(await notify(await good(`good ${index}`))).toBe(200);
  const forged = await Promise.all(Array.from({ length: 20 }, () => notify('x.y.z')));
  expect(forged.filter((status) => status === 400)).toHaveLength(3);
  // Not even checked: a good one would pass.
  expect(await notify(await good('late'))).toBe(429);
  // Pictures of another page that lead here begin nothing, and take nothing from those who log in from the same address.
  const nowhere = `/auth/oidc/callback?code=x&state=y&iss=${provider.issuer}`;
  for (let index = 0; index < 6; index += 1)
    expect(whereTo(await rig.browser().get(nowhere, { at, page: {} }))).toEqual(failed('login_failed'));
  const before = await rig.prisma.usedChallenge.count({ where: { expiresAt: { gt: new Date() } } });
  for (let index = 0; index < 6; index += 1) {
    const stranger = rig.browser();
    const url = new URL((await stranger.post('/auth/oidc/start', {}, { at })).body?.redirect_url ?? 'about:blank');
    const cookie = [...stranger.cookies].map((pair) => pair.join('=')).join('; ');
    const path = `/auth/oidc/callback?code=x&state=${url.searchParams.get('state')}&iss=${provider.issuer}`;
    expect(whereTo(await stranger.get(path, { at, page: { cookie } }))).toEqual(failed('login_failed'));
  }
  expect((await rig.prisma.usedChallenge.count({ where: { expiresAt: { gt: new Date() } } })) - before).toBe(3);
});

describe('logging out at the provider', () => {
  const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const seconds = (): number => Math.floor(Date.now() / 1_000);
  let numbers = 0;
  const claims = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    ...{ iss: provider.issuer, aud: CLIENT_ID, iat: seconds(), exp: seconds() + 120, jti: `jti-${(numbers += 1)}` },
    ...{ events: EVENTS, sub: 'aziza', ...more },
  });

  async function notify(form: Record<string, string>): Promise<[number, string | undefined]> {
    const body = new URLSearchParams(form);
    const response = await fetch(`${rig.bases[0]}/auth/oidc/backchannel-logout`, { method: 'POST', body });
    expect(response.headers.get('cache-control')).toBe('no-store');
    return [response.status, ((await response.json()) as { error?: string }).error];
  }

  async function loggedIn(sub: string, cookies?: Map<string, string>): Promise<Browser> {
    account(sub, { groups: ['owners'] });
    const browser = rig.browser();
    await callBack(browser, await throughProvider((await begin(browser)).href, cookies));
    expect((await browser.get('/v1/me')).status).toBe(200);
    return browser;
  }

  async function isOut(browser: Browser): Promise<void> {
    for (const deadline = Date.now() + 30_000; (await browser.get('/v1/me')).code !== 'session_invalid';)
      if (Date.now() > deadline) throw new Error('the session never ended');
  }

  test('ends the session here that began with it, and no other', async () => {
    const cookies = new Map<string, string>();
    const [browser, elsewhere] = [await loggedIn('leaving', cookies), await loggedIn('leaving')];
    const out = (await browser.post('/v1/session/logout')).body?.redirect_url ?? '';
    const again = await loggedIn('leaving', cookies);
    // The person confirms it at the provider, which then calls the gateway.
    const cookie = (): string => [...cookies].map((pair) => pair.join('=')).join('; ');
    const page = await fetch(out, { redirect: 'manual', headers: { cookie: cookie() } });
    for (const line of page.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const html = await page.text();
    const action = / action="([^"]+)"/.exec(html)?.[1] ?? '';
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const headers = { cookie: cookie() };
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    expect((await fetch(action, { method: 'POST', body, headers, redirect: 'manual' })).status).toBe(303);
    await isOut(again);
    expect((await elsewhere.get('/v1/me')).status).toBe(200);
    const records = await rig.prisma.auditRecord.findMany({ where: { action: 'user.logout_at_provider' } });
    expect(records).toMatchObject([{ merchantId: 'platform', actor: 'identity-provider', address: '127.0.0.1' }]);
  });

  test('is refused without what makes a token one; each counts once', async () => {
    const person = await loggedIn('stays');
    const of = (more: Record<string, unknown>): Record<string, unknown> => claims({ sub: 'stays', ...more });
    const forged: Record<string, unknown>[] = [
      of({ nonce: 'n' }),
      of({ events: undefined }),
      of({ events: {} }),
      of({ events: { 'http://schemas.openid.net/event/backchannel-logout': 'yes' } }),
      of({ aud: 'another client' }),
      of({ iss: 'https://evil.uz' }),
      of({ exp: seconds() - 600 }),
      of({ exp: undefined }),
      of({ iat: seconds() - 3_600, exp: seconds() + 3_600 }),
      of({ iat: undefined }),
      of({ jti: undefined }),
      of({ jti: 7 }),
      of({ sub: undefined }),
      of({ sub: 7 }),
      of({ sid: { a: 1 } }),
      of({ sub: 'x'.repeat(300) }),
      of({ sub: 'a\u0000b' }),
    ];
    for (const one of forged)
      expect([JSON.stringify(one).slice(0, 200), await notify({ logout_token: await provider.sign(one) })]).toEqual([
        expect.any(String),
        [400, 'invalid_request'],
      ]);
    const whole = await provider.sign(of({}));
    const [head = '', payload = ''] = whole.split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    for (const token of ['x', `${head}.${payload}.`, `${none}.${payload}.`, `${whole.slice(0, -8)}AAAAAAAA`])
      expect(await notify({ logout_token: token })).toEqual([400, 'invalid_request']);
    expect(await notify({})).toEqual([400, 'invalid_request']);
    expect((await person.get('/v1/me')).status).toBe(200);
    // Of another person, and of a session that there is not: fine, and nothing ends.
    for (const more of [{ sub: 'no-one' }, { sid: 'no-session' }, { sub: undefined, sid: 'no-session' }])
      expect(await notify({ logout_token: await provider.sign(of(more)) })).toEqual([200, undefined]);
    expect((await person.get('/v1/me')).status).toBe(200);
    // All that the person began there, when the provider names no session.
    expect(await notify({ logout_token: whole })).toEqual([200, undefined]);
    await isOut(person);
    const later = await loggedIn('stays');
    expect(await notify({ logout_token: whole })).toEqual([400, 'invalid_request']);
    expect((await later.get('/v1/me')).status).toBe(200);
  });
});

test('keys that the provider has just changed are known at once', async () => {
  account('rotated', { groups: ['owners'] });
  const before = rig.browser();
  expect(whereTo(await callBack(before, await throughProvider((await begin(before)).href)))).toEqual([
    303,
    `${ORIGIN}/console`,
  ]);
  await provider.rotateKeys();
  const after = rig.browser();
  expect(whereTo(await callBack(after, await throughProvider((await begin(after)).href)))).toEqual([
    303,
    `${ORIGIN}/console`,
  ]);
});

test.each(['//evil.uz', 'https://evil.uz/', '/\\evil.uz', 'javascript:alert(1)', '/\t/evil.uz'])(
  'a login does not lead to %p',
  async (returnTo) => {
    const answer = await rig.browser().post('/auth/oidc/start', { return_to: returnTo });
    expect([answer.status, answer.code]).toEqual([422, 'invalid_format']);
  },
);
