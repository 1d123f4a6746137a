// Promise: with a passkey in a real browser a person is let in without a password, steps up, and loses it again; a foreign or repeated one opens nothing.
import 'reflect-metadata';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { PeopleRig } from '../../apps/gateway/src/access/people/testing/people-rig.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { testGatewaySettings } from '../../apps/gateway/src/testing/gateway-settings.js';
import { describeInBrowser } from '../screen/browser.js';
import { startBrowser } from '../screen/start-browser.js';

const PATIENCE_MS = 90_000;
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

interface PageAnswer {
  status: number;
  body: Record<string, unknown> & { code?: string; options?: unknown; passkey_options?: unknown };
}

describeInBrowser('passkeys', () => {
  let rig: PeopleRig;
  let origin: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let devtools: CDPSession;

  beforeAll(async () => {
    const port = await freePorts(1);
    rig = await PeopleRig.start(0);
    origin = `http://localhost:${port}`;
    await rig.add(testGatewaySettings({ url: rig.database.url }, { PUBLIC_URL: `http://127.0.0.1:${port}` }), port);
    browser = await startBrowser();
    ({ context, page, devtools } = await openPage());
  });
  afterAll(async () => {
    await context?.close();
    await browser?.close();
    await rig?.stop();
  });

  async function openPage(): Promise<{ context: BrowserContext; page: Page; devtools: CDPSession }> {
    const opened = await browser.newContext();
    opened.setDefaultTimeout(PATIENCE_MS);
    // Any page of the console's origin; its own pages are tested elsewhere.
    const html = '<!doctype html><title>console</title>';
    await opened.route('**/console/', (route) => route.fulfill({ contentType: 'text/html', body: html }));
    const first = await opened.newPage();
    await first.goto(`${origin}/console/`);
    const session = await opened.newCDPSession(first);
    await session.send('WebAuthn.enable');
    await session.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
    return { context: opened, page: first, devtools: session };
  }

  function ask(method: string, path: string, body?: unknown, on = page): Promise<PageAnswer> {
    const init = { method, headers: { 'content-type': 'application/json', 'fgw-console': '1' } };
    const text = JSON.stringify({ ...init, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return on.evaluate(`fetch(${JSON.stringify(path)}, ${text}).then(async (response) => {
      const read = await response.text();
      return { status: response.status, body: read === '' ? {} : JSON.parse(read) };
    })`);
  }

  /** What the browser's authenticator makes of the options. */
  function make(options: unknown, on = page): Promise<Record<string, unknown>> {
    return on.evaluate(`navigator.credentials
      .create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(options)}) })
      .then((credential) => credential.toJSON())`);
  }

  function use(options: unknown, on = page): Promise<Record<string, unknown>> {
    return on.evaluate(`navigator.credentials
      .get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}) })
      .then((credential) => credential.toJSON())`);
  }

  async function logIn(): Promise<PageAnswer> {
    const { body } = await ask('POST', '/auth/passkey/options', {});
    return ask('POST', '/auth/passkey', { credential: await use(body.options) });
  }

  test('made with an invitation, used to log in and to step up, added and removed', async () => {
    const merchantId = await rig.createMerchant();
    const token = await rig.invite('passkey@shop.uz', ['owner'], merchantId);
    const shown = await ask('POST', '/auth/invitation', { token });
    const credential = await make(shown.body.passkey_options);
    const accepted = await ask('POST', '/auth/invitation/accept', { token, name: 'Nodira', credential });
    expect(accepted).toMatchObject({
      status: 200,
      body: { roles: ['owner'], step_up_methods: ['passkey'], factors: { password: false } },
    });
    const cookies = await context.cookies();
    expect(cookies).toEqual([
      expect.objectContaining({ name: 'fgw_session', httpOnly: true, sameSite: 'Strict', secure: false, path: '/' }),
    ]);
    expect((await ask('POST', '/v1/session/logout', {})).status).toBe(200);
    expect((await ask('GET', '/v1/me')).body.code).toBe('unauthenticated');
    const { user } = accepted.body as unknown as { user: { id: string } };

    expect(await logIn()).toMatchObject({
      status: 200,
      body: { session: { login: 'passkey' }, user: { name: 'Nodira' } },
    });
    await rig.makeStale(user.id);
    const clientBody = { name: 'C', scopes: ['receipts:read'], ip_policy: 'any' };
    const deadline = Date.now() + 90_000;
    while ((await ask('POST', '/v1/clients', clientBody)).body.code !== 'step_up_needed')
      if (Date.now() > deadline) throw new Error('no second factor was asked for');
    const { body } = await ask('POST', '/v1/session/step-up/options', {});
    const proof = await use(body.options);
    expect((await ask('POST', '/v1/session/step-up/passkey', { credential: proof })).status).toBe(200);
    // What was shown once is worth nothing the second time, nor as a login.
    expect((await ask('POST', '/v1/session/step-up/passkey', { credential: proof })).body.code).toBe(
      'second_factor_refused',
    );
    expect((await ask('POST', '/auth/passkey', { credential: proof })).body.code).toBe('login_failed');
    expect((await ask('POST', '/v1/clients', clientBody)).status).toBe(201);

    const [listed] = (await ask('GET', '/v1/me/passkeys')).body['data'] as { id: string }[];
    expect((await ask('DELETE', `/v1/me/passkeys/${listed?.id ?? ''}`)).body.code).toBe('last_factor');
    const second = await openPage();
    try {
      await second.context.addCookies(await context.cookies());
      const { body: offer } = await ask('POST', '/v1/me/passkeys/options', {}, second.page);
      const made = await make(offer.options, second.page);
      const added = await ask('POST', '/v1/me/passkeys', { name: 'Phone', credential: made }, second.page);
      expect(added).toMatchObject({ status: 201, body: { name: 'Phone' } });
      expect((await ask('POST', '/v1/me/passkeys', { name: 'Again', credential: made }, second.page)).body.code).toBe(
        'second_factor_refused',
      );
    } finally {
      await second.context.close();
    }
    expect((await ask('DELETE', `/v1/me/passkeys/${listed?.id ?? ''}`)).status).toBe(204);
    expect((await logIn()).body.code).toBe('login_failed');
  });

  test('one of another user, and one without a person’s consent, is refused', async () => {
    const merchantId = await rig.createMerchant();
    const person = await openPage();
    try {
      const token = await rig.invite('second@shop.uz', ['support'], merchantId);
      const shown = await ask('POST', '/auth/invitation', { token }, person.page);
      const credential = await make(shown.body.passkey_options, person.page);
      expect(
        (await ask('POST', '/auth/invitation/accept', { token, name: 'Second', credential }, person.page)).status,
      ).toBe(200);
      const { body } = await ask('POST', '/v1/session/step-up/options', {}, person.page);
      const options = body.options as { challenge: string };
      const proof = await use(options, person.page);
      const own = await rig.prisma.passkey.findFirstOrThrow({ where: { user: { email: 'second@shop.uz' } } });
      // The same passkey, were it another user's.
      const other = await rig.prisma.user.create({ data: { id: 'usr_other', email: 'x@shop.uz', name: 'X' } });
      await rig.prisma.passkey.update({ where: { id: own.id }, data: { userId: other.id } });
      expect((await ask('POST', '/v1/session/step-up/passkey', { credential: proof }, person.page)).body.code).toBe(
        'second_factor_refused',
      );
      await rig.prisma.passkey.update({ where: { id: own.id }, data: { userId: own.userId } });
      // An authenticator that has not verified the person.
      await person.devtools.send('WebAuthn.disable');
      await person.devtools.send('WebAuthn.enable');
      const fresh = await ask('POST', '/auth/passkey/options', {}, person.page);
      const forged = {
        ...proof,
        response: { ...(proof['response'] as object), clientDataJSON: clientDataOf(fresh.body.options) },
      };
      expect((await ask('POST', '/auth/passkey', { credential: forged }, person.page)).body.code).toBe('login_failed');
    } finally {
      await person.context.close();
    }
    expect(devtools).toBeDefined();
  });

  /** What a page of ours would have been asked to sign, without a signature for it. */
  function clientDataOf(options: unknown): string {
    const { challenge } = options as { challenge: string };
    return Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin })).toString('base64url');
  }
});
