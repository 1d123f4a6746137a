// Promise: people come into the console by a link, a password, a passkey or their company, and what they do waits for nothing but their factor and a second person.
import type { Locator, Page } from 'playwright-core';
import type { PrismaService } from '#database';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  TestIdentityProvider,
} from '../../apps/gateway/src/access/people/testing/identity-provider.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { describeInBrowser } from '../screen/browser.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { letCommandLineIn } from './command-line.js';
import { ConsolePerson, inviteByCommand, PASSWORD } from './console-person.js';
import { ConsoleRig } from './console-rig.js';
import { changeFactors } from './own-factors.js';
import { playDay } from './day-of-shop.js';
import { readByAll } from './screens-of-people.js';
import { addClientWithFreshFactor } from './decisions.js';

let rig: ConsoleRig;
let prisma: PrismaService;
let provider: TestIdentityProvider;
let owner: ConsolePerson;

describeInBrowser('people before the console', () => {
  beforeAll(async () => {
    const port = await freePorts(1);
    rig = await ConsoleRig.start({
      ...{ OIDC_ISSUER: `http://127.0.0.1:${port}`, OIDC_CLIENT_ID: CLIENT_ID, OIDC_CLIENT_SECRET: CLIENT_SECRET },
      ...{ OIDC_NAME: 'Acme', OIDC_ROLES: 'groups=readers->platform_reader' },
    });
    prisma = rig.database();
    const origin = rig.consoleUrl.replace('/console', '');
    provider = await TestIdentityProvider.start(port, `${origin}/auth/oidc/callback`, {
      logoutUri: `${origin}/console/login`,
      backChannel: `${origin}/auth/oidc/backchannel-logout`,
    });
    owner = await ConsolePerson.come(rig, prisma, 'aziza@shop.uz');
    await owner.accept(await inviteByCommand(rig, 'aziza@shop.uz', 'owner'), 'Aziza');
  });
  afterAll(async () => {
    await provider?.stop();
    await prisma?.$disconnect();
    await rig?.stop();
  });

  test('a link opens once; a password and a code lead back to the address that was wanted; logging out ends it', async () => {
    const link = await inviteByCommand(rig, 'once@shop.uz', 'support');
    const person = await ConsolePerson.come(rig, prisma, 'once@shop.uz');
    await person.accept(link, 'Karim');
    const late = await rig.person();
    await late.page.goto(link);
    await late.page.getByText('This invitation is unknown, used or expired.').waitFor();
    await late.end();

    await person.logOut('Karim');
    await person.page.goto(`${rig.consoleUrl}/receipts?status=registered`);
    await person.page.getByRole('heading', { name: 'Log in' }).waitFor();
    await person.logIn();
    await person.page.waitForURL(`${rig.consoleUrl}/receipts?status=registered`);
    // A role without a right: its sentence, and no call.
    await person.page.goto(`${rig.consoleUrl}/access?view=clients`);
    await person.page.getByText('Your role does not include this.').waitFor();
    expect(person.visitor.trouble).toEqual([]);
    await person.visitor.end();
  });

  test('a name as in a passport leaves each part of the head its place, on a desk and on a phone', async () => {
    const name = 'Abdurahmonova Gulchehra Shavkatjonovna qizi';
    const person = await ConsolePerson.come(rig, prisma, 'long@shop.uz');
    const { page } = person;
    await person.accept(await inviteByCommand(rig, 'long@shop.uz', 'owner'), name);
    for (const width of [1440, 700, 390, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const head = await page.locator('header.top').boundingBox();
      const boxes: Awaited<ReturnType<Locator['boundingBox']>>[] = [];
      for (const part of await page.locator('header.top > *:visible').all()) boxes.push(await part.boundingBox());
      const misplaced = boxes.filter(
        (box, at) =>
          box === null ||
          head === null ||
          box.y < head.y ||
          box.y + box.height > head.y + head.height ||
          box.x + box.width > width ||
          box.x < (boxes[at - 1]?.x ?? 0) + (boxes[at - 1]?.width ?? 0),
      );
      expect([width, misplaced]).toEqual([width, []]);
      const cut = await page
        .locator('header.top > .search')
        .evaluate((search) => search.scrollWidth - search.clientWidth);
      expect([width, cut]).toEqual([width, 0]);
    }
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('menuitem', { name: 'My account' }).waitFor();
    await person.visitor.end();
  });

  test('a passkey alone is enough, for the invitation, the login and the second factor', async () => {
    const person = await ConsolePerson.come(rig, prisma, 'key@shop.uz');
    const { page } = person;
    await page.goto(await inviteByCommand(rig, 'key@shop.uz', 'owner'));
    await person.givePasskey();
    await page.getByLabel('Your name').fill('Nodira');
    await page.getByRole('button', { name: 'Accept with a passkey instead of a password' }).click();
    await page.locator('.shell').waitFor();
    await person.logOut('Nodira');
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.locator('.shell').waitFor();
    await person.letFactorGrowOld();
    await page.goto(`${rig.consoleUrl}/access`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill('third@shop.uz');
    await page.getByRole('dialog').getByLabel('Support: reads').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('The link of the invitation. Shown once').waitFor();
    expect(person.visitor.trouble).toEqual([]);
    await person.visitor.end();
  });

  test('the company’s login: in, a fresh factor there, out there as well; one without a role is refused', async () => {
    const sign = (sub: string, groups: string[]): void => {
      provider.account = { sub, claims: { email: `${sub}@acme.uz`, email_verified: true, name: sub, groups } };
    };
    // The provider's own pages ask for a font; ours ask for nothing.
    const visitor = await rig.person([provider.issuer, 'https://fonts.googleapis.com']);
    const { page } = visitor;
    sign('stranger', []);
    await visitor.page.goto(`${rig.consoleUrl}/account`);
    await page.getByRole('button', { name: 'Log in with Acme' }).click();
    await page.getByText('This account belongs to no merchant here.').waitFor();
    await visitor.context.clearCookies();
    sign('rustam', ['readers']);
    await page.goto(`${rig.consoleUrl}/account`);
    await page.getByRole('button', { name: 'Log in with Acme' }).click();
    await page.waitForURL(`${rig.consoleUrl}/account`);
    await page.getByText('rustam@acme.uz').waitFor();
    await page.getByRole('button', { name: 'rustam', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.waitForURL(new RegExp(`^${provider.issuer}/`));
    await page.goto(`${rig.consoleUrl}/account`);
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    expect(visitor.trouble).toEqual([]);
    await visitor.end();
  });

  test('a session that has ended is renewed over the screen: the call goes on, and nothing typed is lost', async () => {
    const { page } = owner;
    await owner.visitor.open('/webhooks');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an endpoint' });
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/kept');
    await dialog.getByLabel('Description').fill('typed before the end');
    await prisma.$executeRaw`
      UPDATE user_sessions SET revoked_at = now() WHERE user_id = (SELECT id FROM users WHERE email = ${owner.email})`;
    await until(
      'the session has ended',
      () => page.evaluate(async () => (await fetch('/v1/me')).status),
      (status) => status === 401,
    );
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByText('The session has ended.').waitFor();
    await owner.logIn();
    await dialog.getByText(/whsec_/).waitFor();
    await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();
    await page.getByText('typed before the end').waitFor();
  });

  test('a session that has ended is renewed in one tab for both', async () => {
    const second = await owner.visitor.newTab();
    await owner.visitor.open('/receipts');
    await second.open('/registers');
    await prisma.$executeRaw`
      UPDATE user_sessions SET revoked_at = now() WHERE user_id = (SELECT id FROM users WHERE email = ${owner.email})`;
    await until(
      'the session has ended',
      () => second.page.evaluate(async () => (await fetch('/v1/me')).status),
      (status) => status === 401,
    );
    for (const { page } of [owner, second]) {
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText('The session has ended.').waitFor();
    }
    await owner.logIn();
    // As a browser does when the person comes back to the tab.
    await second.page.evaluate(`dispatchEvent(new Event('focus'))`);
    await second.page.getByText('The session has ended.').waitFor({ state: 'detached' });
    expect(second.trouble).toEqual([]);
    await second.page.close();
  });

  test('what waited for a login is not done at another merchant, where the one of the tab was lost meanwhile', async () => {
    const email = 'two-shops@shop.uz';
    const person = await ConsolePerson.come(rig, prisma, email);
    await person.accept(await inviteByCommand(rig, email, 'owner'), 'Of two shops');
    const { merchantId: second } = await rig.system.addMerchant();
    await prisma.$executeRaw`
      INSERT INTO memberships (id, user_id, merchant_id, role) SELECT 'mem_second', id, ${second}, 'owner' FROM users WHERE email = ${email}`;
    const beside = await person.visitor.newTab();
    const { page } = person;
    await person.visitor.open('/webhooks');
    await beside.open('/receipts');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an endpoint' });
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/of-the-first');
    await prisma.$executeRaw`
      UPDATE user_sessions SET revoked_at = now() WHERE user_id = (SELECT id FROM users WHERE email = ${email})`;
    await until(
      'the session has ended',
      () => page.evaluate(async () => (await fetch('/v1/me')).status),
      (status) => status === 401,
    );
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByText('The session has ended.').waitFor();
    await prisma.$executeRaw`
      DELETE FROM memberships WHERE merchant_id = ${rig.system.merchant.merchantId} AND user_id = (SELECT id FROM users WHERE email = ${email})`;
    await beside.page.evaluate(
      `fetch('/auth/login', { method: 'POST', headers: { 'content-type': 'application/json', 'fgw-console': '1' }, body: ${JSON.stringify(
        JSON.stringify({ email, password: PASSWORD, code: await person.code() }),
      )} }).then((answer) => { if (!answer.ok) throw new Error(String(answer.status)); })`,
    );
    await page.evaluate(`dispatchEvent(new Event('focus'))`);
    await page.waitForURL(({ pathname }) => !pathname.endsWith('/webhooks'));
    expect(await prisma.webhookEndpoint.count({ where: { merchantId: second } })).toBe(0);
    await person.visitor.end();
  });

  test('two tabs stay at two merchants: none goes on at the one that was chosen in the other', async () => {
    const email = 'two-tabs@platform.uz';
    const admin = await ConsolePerson.come(rig, prisma, email);
    await admin.accept(await inviteByCommand(rig, email, 'platform_administrator'), 'Admin');
    const { merchantId: first } = rig.system.merchant;
    const { merchantId: second } = await rig.system.addMerchant();
    const choose = async (page: Page, id: string): Promise<void> => {
      await page.goto(`${rig.consoleUrl}/platform/${id}`);
      await page.getByRole('button', { name: 'Show it in the console' }).click();
      await page
        .locator('select.merchant')
        .and(page.locator(`:has(option[value="${id}"]:checked)`))
        .waitFor();
    };
    /** Of what the tab asks for when it is read anew, as after a login over the screen. */
    const merchantAskedFor = async (page: Page): Promise<string | null> => {
      const asked = page.waitForRequest((request) => new URL(request.url()).pathname === '/v1/overview');
      await page.reload();
      return (await asked).headerValue('fgw-merchant');
    };
    await choose(admin.page, first);
    const other = await admin.visitor.context.newPage();
    await choose(other, second);
    expect(await merchantAskedFor(admin.page)).toBe(first);
    expect(await merchantAskedFor(other)).toBe(second);
    // A new tab begins where one was chosen last.
    const third = await admin.visitor.context.newPage();
    await third.goto(rig.consoleUrl);
    expect(await merchantAskedFor(third)).toBe(second);
    await admin.visitor.end();
  });

  test('a tab shows nothing of one person to another, who has come in beside it', async () => {
    const first = await ConsolePerson.come(rig, prisma, 'first@shop.uz');
    await first.accept(await inviteByCommand(rig, first.email, 'owner'), 'First');
    const { page } = first;
    await first.visitor.open('/webhooks');
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Description').fill('typed by the first');
    const second = await first.beside('beside@shop.uz');
    await second.accept(await inviteByCommand(rig, second.email, 'owner'), 'Second');
    // At once, without a touch of the tab.
    await page.getByRole('button', { name: 'Second', exact: true }).waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('typed by the first');
    await first.visitor.end();
  });

  test('from the platform’s invitation to the first test receipt, without anything but the console', async () => {
    const admin = await ConsolePerson.come(rig, prisma, 'admin@platform.uz');
    await admin.accept(await inviteByCommand(rig, 'admin@platform.uz', 'platform_administrator'), 'Admin');
    await admin.visitor.open('');
    await admin.page.waitForURL(/\/platform$/);
    await admin.page.getByRole('button', { name: 'Add a merchant' }).click();
    const adding = admin.page.getByRole('dialog');
    await adding.getByLabel('Code').fill('new-shop');
    await adding.getByLabel('Name').fill('Yangi do‘kon');
    await adding.getByLabel('TIN').fill('300000001');
    await adding.getByLabel('Sandbox').check();
    await adding.getByRole('button', { name: 'Add a merchant' }).click();
    await admin.page.waitForURL(/\/platform\/mer_test_/);
    await admin.page.getByRole('button', { name: 'Invite the owner' }).click();
    await admin.page.getByRole('dialog').getByLabel('E-mail').fill('owner@new.uz');
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Invite the owner' }).click();
    const link = await admin.page.getByRole('dialog').locator('.copyable .code').innerText();

    const first = await ConsolePerson.come(rig, prisma, 'owner@new.uz');
    await first.accept(link, 'Dilnoza');
    const { page } = first;
    await first.visitor.open('/goods');
    await page.getByRole('button', { name: 'Import a file' }).click();
    await page.getByLabel('Choose a file').setInputFiles({
      name: 'goods.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`sku,name_ru,spic,package_code,vat_percent,price\n${GOODS.join(',')}\n`),
    });
    await page.getByText('The import is done.').waitFor();
    await first.visitor.open('/onboarding');
    const step = (name: string): Locator =>
      page.locator('.card', { has: page.getByRole('heading', { name, exact: true }) });
    const branch = step('A branch');
    await branch.getByLabel('Your code').fill('main');
    await branch.getByLabel('Name').fill('Chilonzor');
    await branch.getByLabel('Address').fill('Toshkent');
    await branch.getByRole('button', { name: 'Make it' }).click();
    const cashier = step('A cashier');
    await cashier.getByLabel('Your code').fill('nodira');
    await cashier.getByLabel('Name').fill('Nodira');
    await cashier.getByRole('button', { name: 'Make it' }).click();
    const register = step('A register');
    await register.getByLabel('Name').fill('Emulated');
    await register.getByRole('button', { name: 'Add', exact: true }).click();
    const client = step('A client for your program');
    await client.getByLabel('Name').fill('ERP');
    await client.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('Secret of the client. Shown once.').waitFor();
    await step('The first receipt').getByRole('button', { name: 'Sell a test receipt' }).click();
    await page.getByText('Everything is set up.').waitFor();
    await step('The first receipt').getByRole('link', { name: 'Show it' }).click();
    await page.getByRole('heading', { name: /Sale .*1.000\.00 Registered/ }).waitFor();

    // The platform suspends it: what is not reading is refused there, with the reason.
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await admin.page.getByRole('button', { name: 'Suspend' }).click();
    await admin.page.getByRole('dialog').getByLabel('Reason').fill('unpaid since June');
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await admin.page.getByText('unpaid since June').waitFor();
    expect([...admin.visitor.trouble, ...first.visitor.trouble]).toEqual([]);
    await admin.visitor.end();
    await first.visitor.end();
  });

  test('a person lets a command line act for it: what the terminal shows is on the screen, and both ends can end it', () =>
    letCommandLineIn(rig, prisma));

  test('a client is added behind a second factor that is asked for meanwhile', () => addClientWithFreshFactor(owner));

  test('a new password and a new authenticator app count at once, and the ones until now no more', () =>
    changeFactors(rig, prisma));

  test('login, invitation and approvals can be read by all, in three languages', () => readByAll(rig, owner));

  test('a day of a shop: a lost answer, what a second person approves, a refund, a Z-report, a webhook recovered', () =>
    playDay({ rig, prisma, owner }));
});

/** Of the classification sample: a flatbread at 1 000 so'm. */
const GOODS = ['non', 'Лепёшка', '01905001002000002', '1500003', '12', '100000'];
