// Promise: a session's secret changes with what it may do, what was copied of it gains nothing, and a user's sessions are bounded and end together.
import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { msUntil, PASSWORD, PeopleRig, type Browser, type RigAnswer } from '../testing/people-rig.js';

const SESSION = '__Host-fgw_session';

let rig: PeopleRig;
let merchantId: string;

beforeAll(async () => {
  rig = await PeopleRig.start(2);
  merchantId = await rig.createMerchant();
});
afterAll(() => rig?.stop());

describe('a new secret', () => {
  test('comes with each second factor; the one before it has seconds left, and nothing of the factor', async () => {
    const person = await rig.join('renewed', ['owner'], merchantId);
    await rig.makeStale(person.userId);
    const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
    await msUntil(
      () => person.post('/v1/clients', body),
      ({ code }) => code === 'step_up_needed',
    );
    // A stranger who has put its copy of the session there, or read it, waits for the factor.
    const before = person.cookies.get(SESSION) ?? '';
    const thief = rig.browser();
    thief.cookies.set(SESSION, before);
    const id = (await person.get('/v1/me')).body?.session.id;
    for (const at of [0, 1]) expect((await thief.get('/v1/me', { at })).status).toBe(200);
    const stepped = await person.stepUp();
    const [line = ''] = stepped.headers.getSetCookie();
    expect(line).toMatch(/^__Host-fgw_session=fgw_us_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+; Secure$/);
    expect(Number(/Max-Age=(\d+)/.exec(line)?.[1])).toBeLessThanOrEqual(43_200);
    expect(person.cookies.get(SESSION)).not.toBe(before);
    expect([stepped.body?.session.id, (await person.post('/v1/clients', body)).status]).toEqual([id, 201]);
    for (const at of [0, 1]) expect((await thief.post('/v1/clients', body, { at })).code).toBe('step_up_needed');
    const took = await Promise.all(
      [0, 1].map((at) =>
        msUntil(
          () => thief.get('/v1/me', { at }),
          ({ code }) => code === 'session_invalid',
        ),
      ),
    );
    expect(Math.max(...took)).toBeLessThan(20_000);
    expect((await person.get('/v1/me', { at: 1 })).status).toBe(200);
    expect((await person.get('/v1/sessions')).body?.data).toHaveLength(1);
  });

  test('is worth nothing when the session was ended, and neither is the one before it', async () => {
    const person = await rig.join('ended', ['owner'], merchantId);
    const old = rig.browser();
    old.cookies.set(SESSION, person.cookies.get(SESSION) ?? '');
    await person.stepUp();
    for (const at of [0, 1]) expect((await old.get('/v1/me', { at })).status).toBe(200);
    await person.ask('DELETE', `/v1/sessions/${(await person.get('/v1/me')).body?.session.id}`);
    for (const browser of [person, old])
      for (const at of [0, 1])
        await msUntil(
          () => browser.get('/v1/me', { at }),
          ({ code }) => code === 'session_invalid',
        );
    expect((await person.post('/v1/session/step-up', { code: await person.code() })).code).toBe('session_invalid');
  });
});

test('the present password cannot be tried out within a session; a new one ends the other sessions', async () => {
  const person = await rig.join('changing', ['support'], merchantId);
  const elsewhere = rig.browser();
  Object.assign(elsewhere, { email: person.email, secret: person.secret });
  await elsewhere.logIn();
  const change = (current: string): Promise<RigAnswer> =>
    person.post('/v1/me/password', { current, new: `${PASSWORD} and more` });
  expect((await change('not the password')).code).toBe('second_factor_refused');
  const weak = await person.post('/v1/me/password', { current: PASSWORD, new: 'short' });
  expect(weak.body).toMatchObject({ code: 'password_weak', errors: [{ pointer: '/new', code: 'password_weak' }] });
  expect((await change(PASSWORD)).status).toBe(200);
  await msUntil(
    () => elsewhere.get('/v1/me', { at: 1 }),
    ({ code }) => code === 'session_invalid',
  );
  expect((await person.logIn()).code).toBe('login_failed');
  const tries: RigAnswer[] = [];
  for (let index = 0; index < 14; index += 1) tries.push(await change('not the password'));
  expect(tries.at(-1)?.status).toBe(429);
});

describe('guesses at the same moment', () => {
  // As many as the limit says (10 in 600 s), and what is forgiven while they are checked.
  const most = (begun: number): number => 10 + Math.ceil((performance.now() - begun) / 60_000);
  const checked = (answers: RigAnswer[], code: string): number => answers.filter((one) => one.code === code).length;
  const burst = (ask: (index: number) => Promise<RigAnswer>): Promise<RigAnswer[]> =>
    Promise.all(Array.from({ length: 60 }, (_, index) => ask(index)));

  test('are checked as often as one after the other, and right ones do not count', async () => {
    const person = await rig.join('burst', ['owner'], merchantId);
    for (let index = 0; index < 12; index += 1) expect((await person.stepUp()).status).toBe(200);
    const begun = performance.now();
    const codes = await burst(() => person.post('/v1/session/step-up', { code: '000000' }));
    expect(checked(codes, 'second_factor_refused')).toBeLessThanOrEqual(most(begun));
    expect(codes.map(({ code }) => code)).toContain('too_many_requests');
    const passwords = await burst(() => person.post('/v1/me/password', { current: 'not it', new: `${PASSWORD} 2` }));
    expect(checked(passwords, 'second_factor_refused')).toBeLessThanOrEqual(most(begun));
    const logins = await burst(() =>
      rig.browser().post('/auth/login', { email: person.email, password: PASSWORD, code: '000000' }),
    );
    expect(checked(logins, 'login_failed')).toBeLessThanOrEqual(most(begun));
  });

  test('fill no table of challenges', async () => {
    const before = await rig.prisma.usedChallenge.count();
    const begun = performance.now();
    const answers = await burst(async () => {
      const stranger = rig.browser();
      await stranger.post('/auth/passkey/options');
      return stranger.post('/auth/passkey', { credential: { id: 'x' } });
    });
    expect(checked(answers, 'login_failed')).toBeLessThanOrEqual(most(begun));
    expect((await rig.prisma.usedChallenge.count()) - before).toBeLessThanOrEqual(most(begun));
  });
});

test('a user has at most twenty sessions: one more ends the oldest', async () => {
  const person = await rig.join('many', ['support'], merchantId);
  const browsers = [person];
  for (let index = 0; index < 20; index += 1) {
    const next = rig.browser();
    Object.assign(next, { email: person.email, secret: person.secret, userId: person.userId });
    expect((await next.logIn()).status).toBe(200);
    browsers.push(next);
  }
  await msUntil(
    () => person.get('/v1/me', { at: 1 }),
    ({ code }) => code === 'session_invalid',
  );
  const last = browsers.at(-1);
  expect((await last?.get('/v1/sessions'))?.body?.data).toHaveLength(20);
  expect((await browsers[1]?.get('/v1/me'))?.status).toBe(200);
});

describe('a command line', () => {
  let person: Browser;
  let verifier: string;

  beforeAll(async () => {
    person = await rig.join('terminal', ['owner'], merchantId);
  });
  beforeEach(async () => {
    verifier = randomBytes(32).toString('base64url');
    // However long the tests before took.
    expect((await person.stepUp()).status).toBe(200);
  });

  const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');
  const challengeOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
  const allow = (body = { code_challenge: challengeOf(verifier) }): Promise<RigAnswer> =>
    person.post('/v1/session/terminal', body);
  const codeOf = async (): Promise<string> => ((await allow()).body as unknown as { code: string }).code;
  /** As a program sends it: no page, no cookie. */
  const exchange = (code: string, code_verifier = verifier, at = 0): Promise<RigAnswer> =>
    rig.browser().post('/auth/terminal/token', { code, code_verifier }, { page: {}, at });
  const asTerminal = (method: string, path: string, token: string, more: object = {}): Promise<RigAnswer> =>
    rig.browser().ask(method, path, { page: {}, headers: { authorization: `Bearer ${token}` }, ...more });
  const tokenOf = ({ body }: RigAnswer): string => (body as unknown as { access_token: string }).access_token;
  const terminal = async (): Promise<string> => tokenOf(await exchange(await codeOf()));

  test('gets a session of its own from one that has shown its factor: the roles, on every gateway, until either ends it', async () => {
    const answer = await exchange(await codeOf(), verifier, 1);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const token = tokenOf(answer);
    expect(token).toMatch(/^fgw_ut_\w{49}$/);
    for (const at of [0, 1]) {
      const me = await asTerminal('GET', '/v1/me', token, { at });
      expect(me.body).toMatchObject({
        kind: 'user',
        user: { id: person.userId },
        roles: ['owner'],
        merchant: { id: merchantId },
      });
    }
    const { data = [] } = (await person.get('/v1/sessions')).body ?? {};
    expect(data).toHaveLength(2);
    const own = data.find(({ current }) => current !== true);
    expect((await person.ask('DELETE', `/v1/sessions/${String(own?.['id'])}`)).status).toBe(204);
    for (const at of [0, 1])
      await msUntil(
        () => asTerminal('GET', '/v1/me', token, { at }),
        ({ code }) => code === 'session_invalid',
      );
    const other = await terminal();
    expect((await asTerminal('POST', '/v1/session/logout', other, { body: {} })).status).toBe(200);
    await msUntil(
      () => asTerminal('GET', '/v1/me', other),
      ({ code }) => code === 'session_invalid',
    );
    expect((await person.get('/v1/me')).status).toBe(200);
  });

  test('a code counts once, for a minute, for its verifier, and while the session that gave it lasts', async () => {
    const code = await codeOf();
    const foreign = await exchange(code, randomBytes(32).toString('base64url'));
    const both = await Promise.all([exchange(code), exchange(code, verifier, 1)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const again = await exchange(code);
    // The last character stands for bits that no byte has: other spellings are the same code.
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const respelt = [...letters]
      .map((last) => `${code.slice(0, -1)}${last}`)
      .filter((text) => bytesOf(text).equals(bytesOf(code)));
    expect(respelt.length).toBeGreaterThan(1);
    for (const text of respelt) expect((await exchange(text)).code).toBe('login_failed');
    const forged = await exchange(`${code.slice(0, -4)}AAAA`);
    const login = rig.browser();
    Object.assign(login, { email: person.email, secret: person.secret });
    expect((await login.logIn()).status).toBe(200);
    const late = (await login.post('/v1/session/terminal', { code_challenge: challengeOf(verifier) }))
      .body as unknown as { code: string };
    expect((await login.post('/v1/session/logout')).status).toBe(200);
    const ended = await exchange(late.code);
    for (const { status, code: problem } of [foreign, again, forged, ended])
      expect([status, problem]).toEqual([401, 'login_failed']);
    for (const body of [{}, { code: 7, code_verifier: 'x' }, { code: 'x'.repeat(1_025), code_verifier: '\u0000' }, []])
      expect([400, 422]).toContain((await rig.browser().post('/auth/terminal/token', body, { page: {} })).status);
  });

  test('a browser allows it only with a fresh factor, and a terminal gains none, begets none, and touches no factor', async () => {
    const token = await terminal();
    const body = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
    expect((await asTerminal('POST', '/v1/clients', token, { body })).status).toBe(201);
    const refused = [
      '/v1/session/terminal',
      '/v1/session/step-up',
      '/v1/session/step-up/options',
      '/v1/me/totp/begin',
      '/v1/me/passkeys/options',
    ];
    for (const path of refused)
      expect((await asTerminal('POST', path, token, { body: {} })).code).toBe('session_needed');
    const step = { headers: { authorization: `Bearer ${token}` }, body: { step_up: true } };
    expect((await rig.browser().ask('POST', '/auth/oidc/start', step)).status).toBeGreaterThanOrEqual(400);
    await rig.makeStale(person.userId);
    await msUntil(
      () => asTerminal('POST', '/v1/clients', token, { body }),
      ({ code }) => code === 'step_up_needed',
    );
    await msUntil(allow, ({ code }) => code === 'step_up_needed');
    expect((await asTerminal('GET', '/v1/clients', token)).status).toBe(200);
    await person.stepUp();
    // The factor was the browser's: what was copied of the terminal before gains nothing by it.
    expect((await asTerminal('POST', '/v1/clients', token, { body })).code).toBe('step_up_needed');
  });

  test('its token is no cookie and a cookie no token; a page elsewhere cannot allow it', async () => {
    const [token, cookie] = [await terminal(), person.cookies.get(SESSION) ?? ''];
    const browser = rig.browser();
    browser.cookies.set(SESSION, token);
    expect((await browser.get('/v1/me')).code).toBe('session_invalid');
    expect((await asTerminal('GET', '/v1/me', cookie)).code).toBe('invalid_token');
    const page = { origin: 'https://shop.test', 'fgw-console': '1' };
    expect((await person.post('/v1/session/terminal', { code_challenge: challengeOf(verifier) }, { page })).code).toBe(
      'origin_refused',
    );
    expect((await allow({ code_challenge: 'x' })).status).toBe(422);
  });

  test('the way there leads to the console alone, whatever the link says', async () => {
    const good = { code_challenge: challengeOf(verifier), state: 'abcdefghijklmnop', port: '41000' };
    const begin = (query: object): Promise<Response> =>
      fetch(`${rig.bases[0] ?? ''}/auth/terminal?${new URLSearchParams({ ...query }).toString()}`, {
        redirect: 'manual',
      });
    const led = await begin(good);
    expect([led.status, led.headers.get('location')]).toEqual([
      303,
      `https://console.test/console/terminal?challenge=${good.code_challenge}&state=${good.state}&port=41000`,
    ]);
    for (const bad of [
      { port: '80' },
      { port: '70000' },
      { port: '41000@shop.test' },
      { state: 'short' },
      { code_challenge: '//shop.test' },
      { redirect_uri: 'https://shop.test' },
    ])
      expect((await begin({ ...good, ...bad })).status).toBe(422);
  });
});
