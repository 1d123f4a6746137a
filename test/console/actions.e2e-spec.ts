// Promise: what is set up, decided and kept in order in the console works there, and what a role does not include is not offered.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPairSync } from 'node:crypto';
import type { Locator } from 'playwright-core';
import pg from 'pg';
import { MERCHANT_ROLES, SCOPES_OF_ROLE } from '../../apps/gateway/src/http/roles.js';
import { holdsScope, SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { describeInBrowser } from '../screen/browser.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ConsoleRig, HOSTILE, LANGUAGES, type Visitor } from './console-rig.js';
import { adoptRegister, decideAboutMoney, goBackInRegister, loseNextPage, rotateSecret } from './decisions.js';
import { faultsOf, rulesIn } from './judge-screen.js';
import { ACTIONS, READ_ONLY, screensOf } from './offered.js';

let rig: ConsoleRig;
let provider: Server;
let receipt: string;
let clickAccount: string;
/** What the payment provider answers to everything. */
let answerWith = { status: 200, body: '{"error":{"code":-31003,"message":"no such receipt"}}' };

const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function visit(path: string): Promise<{ visitor: Visitor; dialog: Locator }> {
  const visitor = await rig.visitor();
  await visitor.open(path);
  return { visitor, dialog: visitor.page.getByRole('dialog') };
}

/** What the token endpoint answers to a client's secret. */
async function tokenOf(id: string, secret: string): Promise<{ scope?: string; error?: string }> {
  const answer = await fetch(`${rig.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return (await answer.json()) as { scope?: string; error?: string };
}

/** By another person, elsewhere. */
async function change(path: string, body: unknown): Promise<void> {
  const headers = { authorization: await rig.client.authorization(), 'content-type': 'application/json' };
  const answer = await fetch(`${rig.url}${path}`, { method: 'PATCH', headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

async function leave(visitor: Visitor): Promise<void> {
  expect([await visitor.hasRun(), ...visitor.trouble]).toEqual([false]);
  await visitor.end();
}

describeInBrowser('what is set up in the console', () => {
  beforeAll(async () => {
    provider = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(answerWith.status).end(answerWith.body));
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    rig = await ConsoleRig.start({
      ...{ PROVIDER_ALLOWED_CIDRS: '127.0.0.0/8', PROVIDER_HOSTS: '127.0.0.1:*' },
      MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8',
    });
    const sold = await rig.client.post('/v1/receipts', rig.client.saleOf(0));
    receipt = String(sold.body.id);
  });
  afterAll(async () => {
    await rig?.stop();
    provider?.closeAllConnections();
    await new Promise((resolve) => provider?.close(resolve));
  });

  test('an account at a payment provider is added, tested, changed and disabled', async () => {
    const { visitor, dialog } = await visit('/payments?view=accounts');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Add an account' }).click();
    await dialog.getByLabel('Provider', { exact: true }).selectOption('payme');
    await dialog.getByLabel('Name', { exact: true }).fill(HOSTILE.slice(0, 100));
    const settings = dialog.getByLabel(/^Settings/);
    await settings.fill('nonsense');
    await dialog.getByText('This is no “name = value”: nonsense').waitFor();
    await settings.fill(`cashbox_id = box\nkey = right-key\napi_url = ${addressOf(provider)}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });

    const tile = page.locator('.tile');
    const test = async (result: string): Promise<void> => {
      await tile.getByRole('button', { name: 'Test the connection' }).click();
      // Tests of one merchant have to be seconds apart: one that comes too early is refused.
      await until(
        'it may be tested',
        async () => {
          const answered = page.waitForResponse((response) => response.url().endsWith('/test'));
          await dialog.getByRole('button', { name: 'Test the connection' }).click();
          return (await answered).status();
        },
        (status) => status === 200,
      );
      await dialog.getByText(result).waitFor();
    };
    await test('The provider answers.');
    await dialog.getByText('no such receipt').first().waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    answerWith = { status: 401, body: 'who are you' };
    await test('The provider refuses this account.');
    await dialog.getByRole('button', { name: 'Close' }).click();

    await tile.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('The shop at Payme');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tile.getByText('payme · The shop at Payme').waitFor();
    await tile.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await tile.getByText('Disabled').first().waitFor();
    await leave(visitor);
  });

  test('messages: an account, a suppressed address, a template with its preview, header and footer', async () => {
    const { visitor, dialog } = await visit('/messages?view=accounts');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Add an account' }).click();
    await dialog.getByLabel('Provider', { exact: true }).selectOption('eskiz');
    await dialog
      .getByLabel(/^Settings/)
      .fill(`email = shop@example.uz\npassword = a=b=c\nfrom = 4546\napi_url = ${addressOf(provider)}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const tile = page.locator('.tile');
    await tile.getByRole('button', { name: 'Disable' }).click();
    await tile.getByRole('button', { name: 'Remove' }).click();
    await tile.waitFor({ state: 'detached' });

    await visitor.open('/messages?view=suppressions');
    await page.getByLabel('Address').fill('buyer@example.uz');
    await page.getByRole('button', { name: 'Suppress an address' }).click();
    // Addresses of buyers are shown in part.
    const entry = page.locator('.line-item', { hasText: 'by hand' });
    await entry.getByRole('button', { name: 'Release' }).click();
    await entry.waitFor({ state: 'detached' });

    await visitor.open('/messages?view=templates');
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'SMS · en' }) });
    await card.getByLabel('Text').fill('Thank you! {total} {link}');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Your own', { exact: true }).waitFor();
    await card.getByText('Preview').first().click();
    await card.getByLabel('Receipt for the preview').fill(receipt);
    await card.getByRole('button', { name: 'Preview' }).click();
    await card.getByText(/^Thank you! .*1.120/).waitFor();
    await card.getByRole('button', { name: 'Back to ours' }).click();
    await card.getByText('Ours', { exact: true }).waitFor();

    await visitor.open('/messages?view=brand');
    await page.getByLabel(/^Above the seller/).fill(HOSTILE.slice(0, 30));
    await page.getByLabel(/^Below everything/).fill('Come again');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await leave(visitor);
  });

  test('a group of branches is made', async () => {
    const { visitor } = await visit('/registers?view=groups');
    const { page } = visitor;
    await page.getByLabel('Your code').fill('south');
    await page.getByLabel('Name').fill(`South ${HOSTILE}`.slice(0, 100));
    await page.getByRole('button', { name: 'Make a group' }).click();
    await page.getByRole('heading', { name: /Group: South/ }).waitFor();
    await leave(visitor);
  });

  test('a client: made, changed, its allow list and its keys, a new secret; disabled, it gets no token', async () => {
    const { visitor, dialog } = await visit('/access?view=clients');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Add a client' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('typed before');
    await dialog.getByLabel('receipts:write').uncheck();
    await page.reload();
    await page.getByRole('button', { name: 'Add a client' }).click();
    expect(await dialog.getByLabel('receipts:write').isChecked()).toBe(false);
    await dialog.getByLabel('Name', { exact: true }).fill(HOSTILE.slice(0, 100));
    await dialog.getByRole('button', { name: 'Add a client' }).click();
    await dialog.getByText('Secret of the client. Shown once.').waitFor();
    const [id = '', secret = ''] = await dialog.locator('.copyable .code').allInnerTexts();
    await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();
    expect((await tokenOf(id, secret)).scope).toBe('receipts:read refunds:write catalog:read');

    const tile = page.locator('.tile', { hasText: id });
    await tile.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('erp-2');
    await dialog.getByLabel('payments:read').check();
    await dialog.getByLabel('Which requests must be signed').selectOption('off');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await tile.getByText('erp-2').waitFor();
    await tile.getByText(/payments:read/).waitFor();
    // Rights that another person takes away while a form is open are not given back by it, nor by what was typed into it.
    await tile.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('erp-3');
    await change(`/v1/clients/${id}`, { scopes: ['receipts:read'], signing_policy: 'writes' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await tile.getByText('erp-3').waitFor();
    const kept = { name: 'erp-3', scopes: ['receipts:read'], signing_policy: 'writes', ip_policy: 'any' };
    expect((await rig.client.get(`/v1/clients/${id}`)).body).toMatchObject(kept);
    await tile.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('catalog:read').check();
    await page.keyboard.press('Escape');
    await change(`/v1/clients/${id}`, { signing_policy: 'off' });
    await page.reload();
    await tile.getByRole('button', { name: 'Change' }).click();
    expect(await dialog.getByLabel('catalog:read').isChecked()).toBe(false);
    await page.keyboard.press('Escape');

    await tile.getByRole('button', { name: 'Allow list' }).click();
    await dialog.getByLabel('Only from these addresses').check();
    await dialog.getByLabel('Addresses', { exact: true }).fill('not a network');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').first().waitFor();
    await dialog.getByLabel('Addresses', { exact: true }).fill('203.0.113.0/24\n198.51.100.7');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tile.getByText('203.0.113.0/24').waitFor();

    const { publicKey } = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await tile.getByRole('button', { name: 'Keys' }).click();
    await dialog.getByLabel('Name of the key').fill('erp key');
    await dialog.getByLabel('Public key (PEM)').fill(publicKey);
    await dialog.getByRole('button', { name: 'Add a key' }).click();
    await dialog
      .getByText(/signs requests/)
      .nth(0)
      .waitFor();
    await dialog.getByRole('button', { name: 'End the key' }).click();
    await dialog.getByText('Disabled').waitFor();
    await page.keyboard.press('Escape');

    await tile.getByRole('button', { name: 'Allow list' }).click();
    await dialog.getByLabel('Only from these addresses').uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await tile.getByRole('button', { name: 'New secret' }).click();
    await dialog.getByLabel('Hours of overlap').fill('0');
    await dialog.getByRole('button', { name: 'New secret' }).click();
    const next = await dialog.locator('.copyable .code').innerText();
    await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();
    expect([(await tokenOf(id, secret)).error, (await tokenOf(id, next)).error]).toEqual(['invalid_client', undefined]);
    await tile.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await tokenOf(id, next)).error).toBe('invalid_client');
    await leave(visitor);
  });

  test('a screen reader and a phone can use what needs a record: payment, product history, every part of access', async () => {
    const account = {
      provider: 'click',
      settings: { service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' },
    };
    const made = await rig.client.post('/v1/provider-accounts', account);
    expect(made.status).toBe(201);
    clickAccount = String(made.body.id);
    const sale = rig.client.saleOf(0, { payment: { method: 'online', provider: 'click' } });
    const paid = await rig.client.post('/v1/payments', sale);
    const payment = String((paid.body as { id?: string }).id);
    expect(payment).toMatch(/^pay_/);
    const { visitor: changer, dialog } = await visit('/goods/sku-0');
    await changer.page.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Name, Russian').fill(HOSTILE.slice(0, 60));
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await changer.page.getByText('product.change').first().waitFor();
    await leave(changer);
    const wrong: string[] = [];
    const paths = [`/payments/${payment}`, '/payments', '/goods/sku-0', '/access?view=audit', '/reports?by=cashier'];
    for (const language of LANGUAGES) {
      const visitor = await rig.visitor({ language });
      for (const path of paths)
        wrong.push(
          ...(await faultsOf(visitor.page, `${path} ${language}`, rulesIn(language), () => visitor.open(path))),
        );
      await leave(visitor);
    }
    expect(wrong).toEqual([]);
  });

  test('money: a payment is cancelled, read again, decided; a charge beyond it is ended; a document is entered', () =>
    decideAboutMoney(rig, clickAccount));

  test('a register whose module was exchanged is adopted, and sells', () => adoptRegister(rig));

  test('the classification register goes back to the version before', () => goBackInRegister(rig));

  test('a new secret of an endpoint signs beside the old one', () => rotateSecret(rig));

  test('the platform: programs, queue, database and tables', async () => {
    const { visitor } = await visit('/platform');
    const { page } = visitor;
    const card = (name: string): Locator =>
      page.locator('.card', { has: page.getByRole('heading', { name, exact: true }) });
    const programs = card('Gateways and relays');
    await programs.getByText('1 process').first().waitFor();
    // Gateway and relay, each connected from this machine.
    expect(await programs.locator('.line-item').count()).toBe(2);
    await programs.getByText(/in hand/).waitFor();
    await card('Queue').getByText('up', { exact: true }).waitFor();
    await card('Database').getByRole('meter').waitFor();
    await card('Largest tables').getByText('receipts', { exact: true }).waitFor();
    await leave(visitor);
  });

  test('a page of a list that does not come takes nothing away, and is asked for again', () => loseNextPage(rig));

  test.each(MERCHANT_ROLES)('%s: every action that its scopes include is offered, and no other', async (role) => {
    const held = SCOPES_OF_ROLE[role];
    const visitor = await rig.visitor({ scopes: held });
    const device = rig.system.merchant.tills[0]?.deviceId ?? '';
    const wrong: string[] = [];
    for (const { path, name, scope } of ACTIONS) {
      await visitor.open(path.replace('{receipt}', receipt).replace('{device}', device));
      await visitor.page.locator('.page-head, .state strong').first().waitFor();
      const button = visitor.page.locator('.content').getByRole('button', { name, exact: true }).first();
      if (holdsScope(held, scope)) await button.waitFor();
      else if ((await button.count()) > 0) wrong.push(`${path} ${name}`);
    }
    expect(wrong).toEqual([]);
    expect(visitor.trouble).toEqual([]);
    await visitor.end();
  });

  test('one that only reads is offered nothing on any screen that changes something', async () => {
    const visitor = await rig.visitor({ scopes: SCOPES.filter((scope) => scope.endsWith(':read')) });
    const device = rig.system.merchant.tills[0]?.deviceId ?? '';
    const found = new Set<string>();
    for (const path of screensOf({ receipt, device, merchant: rig.system.merchant.merchantId })) {
      await visitor.open(path);
      for (const text of await visitor.page.locator('.content').getByRole('button').allInnerTexts())
        found.add(text.replace(/\s+/g, ' ').trim());
    }
    expect([...found].filter((text) => !READ_ONLY.some((allowed) => allowed.test(text)))).toEqual([]);
    await visitor.end();
  });

  test('the audit trail is verified, and an altered record is named', async () => {
    const { visitor } = await visit('/access?view=audit');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Verify the trail' }).click();
    await page.getByText(/^Intact: \d/).waitFor();
    // As one who has the database's superuser.
    const intruder = new pg.Client({ connectionString: rig.system.database.adminUrl });
    await intruder.connect();
    try {
      await intruder.query('SET session_replication_role = replica');
      await intruder.query('UPDATE audit_records SET actor = $1 WHERE merchant_id = $2 AND sequence = 2', [
        'cli_innocent',
        rig.system.merchant.merchantId,
      ]);
    } finally {
      await intruder.end();
    }
    await page.getByRole('button', { name: 'Verify the trail' }).click();
    await page.getByText('Not as it was written, from record 2 on').waitFor();
    await page.getByText('a record was altered').waitFor();
    await leave(visitor);
  });
});
