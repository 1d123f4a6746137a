import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { Receiver, type Received } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { CLI, type ConsolePerson } from './console-person.js';
import { HOSTILE, type ConsoleRig, type Visitor } from './console-rig.js';

const REASON = 'seen in the cabinet of the provider';

interface Screen {
  visitor: Visitor;
  page: Page;
  dialog: Locator;
}

async function screen(rig: ConsoleRig, path: string): Promise<Screen> {
  const visitor = await rig.visitor();
  await visitor.open(path);
  return { visitor, page: visitor.page, dialog: visitor.page.getByRole('dialog') };
}

async function leave({ visitor }: Screen): Promise<void> {
  expect([await visitor.hasRun(), ...visitor.trouble]).toEqual([false]);
  await visitor.end();
}

/** Opens one of the operator's forms, and gives its reason. */
async function asOperator({ page, dialog }: Screen, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Operator' }).click();
  await page.getByRole('menuitem', { name }).click();
  await dialog.getByLabel('Reason (on the audit trail)').fill(REASON);
}

async function send({ dialog }: Screen, name: string): Promise<void> {
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Of goods whose name no other test changes. */
function saleOf(rig: ConsoleRig, till: number, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { client, system } = rig;
  return client.saleOf(till, { items: [{ name: system.merchant.goods[1], price: 112_000, qty: 1 }], ...more });
}

async function payByClick(rig: ConsoleRig): Promise<string> {
  const sale = saleOf(rig, 0, { payment: { method: 'online', provider: 'click' } });
  const { status, body } = await rig.client.post('/v1/payments', sale);
  expect([200, 201, 202]).toContain(status);
  expect(body.id).toMatch(/^pay_/);
  return String(body.id);
}

/** Cancelled, read again, decided; a charge beyond it ended; a document of the provider entered. Click's account is there. */
export async function decideAboutMoney(rig: ConsoleRig, accountId: string): Promise<void> {
  const shown = await screen(rig, `/payments/${await payByClick(rig)}`);
  const { visitor, page, dialog } = shown;
  await page.getByRole('button', { name: 'Cancel the payment' }).click();
  await send(shown, 'Cancel the payment');
  await page.getByRole('heading', { name: /Cancelled/ }).waitFor();

  // As a status of the provider leaves it that its people are at work on.
  const unclear = await payByClick(rig);
  const { database } = rig.system;
  await sql(database, "UPDATE payments SET state = 'manual', due_at = NULL WHERE id = $1", [unclear]);
  await sql(
    database,
    `INSERT INTO extra_charges (payment_id, account_id, provider_ref, amount_tiyin, state, reason)
     SELECT id, account_id, 'paydoc-77', amount_tiyin, 'manual', $2 FROM payments WHERE id = $1`,
    [unclear, HOSTILE],
  );
  await visitor.open(`/payments/${unclear}`);
  await asOperator(shown, 'Try the step again');
  await send(shown, 'Try the step again');
  await asOperator(shown, 'Decide');
  await dialog.getByLabel('What happened at the provider').selectOption('declined');
  // As a decision of another person leaves it after which the next part was not answered either: it is not what this one is about.
  await sql(database, 'UPDATE payments SET state_since = now() WHERE id = $1', [unclear]);
  await dialog.getByRole('button', { name: 'Decide' }).click();
  await dialog.getByText('The payment has changed since this form was opened.').waitFor();
  await visitor.open(`/payments/${unclear}`);
  await asOperator(shown, 'Decide');
  await send(shown, 'Decide');
  await page.getByRole('heading', { name: /Declined/ }).waitFor();
  const charged = page.locator('.card', { has: page.getByRole('heading', { name: 'Charged beyond it' }) });
  await charged.getByRole('button', { name: 'End this charge' }).click();
  await dialog.getByLabel('The provider has kept nothing').check();
  await dialog.getByLabel('Reason (on the audit trail)').fill(REASON);
  await send(shown, 'End this charge');
  await charged.getByText('Was not kept').waitFor();
  const trail = (await rig.client.get('/v1/audit?limit=100')).body as {
    data?: { action: string; subject_id: string }[];
  };
  const actions = (trail.data ?? [])
    .filter(({ subject_id: subject }) => subject === unclear)
    .map(({ action }) => action);
  expect(actions.sort()).toEqual(['payment.extra_charge', 'payment.resolve', 'payment.retry']);

  const settings = { fiscal_mode: 'provider', refund_documents: 'operator', tin: '300000001' };
  const account = await rig.client.call('PATCH', `/v1/provider-accounts/${accountId}`, {
    body: JSON.stringify({ settings }),
    headers: { 'content-type': 'application/json' },
  });
  expect(account.status).toBe(200);
  const registeredThere = await payByClick(rig);
  await visitor.open(`/payments/${registeredThere}`);
  await asOperator(shown, 'Enter the provider’s document');
  const link = dialog.getByLabel('Verification link of the tax office');
  await link.fill('https://ofd.soliq.uz/check?t=EP000000000001');
  await dialog.getByRole('button', { name: 'Enter the provider’s document' }).click();
  await dialog.locator('[aria-invalid=true]').waitFor();
  await link.fill('https://ofd.soliq.uz/check?t=EP000000000001&r=971&c=20260102080405&s=000000000971');
  await send(shown, 'Enter the provider’s document');
  const [row] = await sql<{ documents: { sale?: object } | null }>(
    database,
    'SELECT fiscal_documents AS documents FROM payments WHERE id = $1',
    [registeredThere],
  );
  expect(row?.documents?.sale).toBeDefined();
  await leave(shown);
}

/** Another module was found in it: its lane stands still until a person says that it belongs there. */
export async function adoptRegister(rig: ConsoleRig): Promise<void> {
  const device = rig.system.merchant.tills[1]?.deviceId ?? '';
  const set = `UPDATE devices SET state = 'replaced', state_reason = 'another module', state_since = now() WHERE id = $1`;
  await sql(rig.system.database, set, [device]);
  const shown = await screen(rig, `/registers/${device}`);
  const { page, dialog } = shown;
  await page.getByText('Replaced').first().waitFor();
  await page.locator('.page-actions').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('menuitem', { name: 'Adopt the new module' }).click();
  await dialog.getByLabel('Reason (on the audit trail)').fill('the service exchanged it');
  await send(shown, 'Adopt the new module');
  await page.getByText('Replaced').first().waitFor({ state: 'detached' });
  const sold = await rig.client.post('/v1/receipts', saleOf(rig, 1));
  expect([201, 202]).toContain(sold.status);
  await until(
    'it sells again',
    async () => (await rig.client.get(`/v1/receipts/${String(sold.body.id)}`)).body.status,
    (status) => status === 'registered',
  );
  await leave(shown);
}

/** A version is loaded at the machine, and people on the platform's screen go back to the one before, and let new ones come again. */
export async function goBackInRegister(rig: ConsoleRig): Promise<void> {
  const lines = (await entriesOf(rig)).map((entry, index) =>
    JSON.stringify(index === 0 ? { ...entry, units: Number(entry['units']) === 796 ? 166 : 796 } : entry),
  );
  const folder = mkdtempSync(join(tmpdir(), 'console-classifier-'));
  try {
    const source = join(folder, 'register.jsonl');
    writeFileSync(source, `${lines.join('\n')}\n`);
    const env = { ...process.env, ...rig.system.programEnv };
    const loaded = spawnSync(process.execPath, [CLI, 'classifier', 'load', 'lines', '--source', source], { env });
    expect([loaded.status, loaded.stderr.toString()]).toEqual([0, expect.any(String)]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const shown = await screen(rig, '/goods?view=register');
  const { page, dialog } = shown;
  await page.getByText('Version in force').getByText('2', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Go back to an earlier version' }).click();
  await dialog.getByLabel('Version', { exact: true }).selectOption({ label: 'The one before what is in force' });
  await dialog.getByLabel('Reason (on the audit trail)').fill('wrong units');
  await dialog.getByRole('button', { name: 'Go back to an earlier version' }).click();
  await dialog.getByText('It has begun.').waitFor();
  await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();
  await page.getByText('with the content of version 1').waitFor();
  await page.getByText('New versions are not fetched.').waitFor();
  await page.getByRole('button', { name: 'Fetch them again' }).click();
  await dialog.getByLabel('Reason (on the audit trail)').fill('the source is right again');
  await send(shown, 'Fetch them again');
  await page.getByText('New versions are not fetched.').waitFor({ state: 'detached' });
  await leave(shown);
}

async function entriesOf(rig: ConsoleRig): Promise<Record<string, unknown>[]> {
  const authorization = await rig.client.authorization();
  const answer = await fetch(`${rig.url}/v1/classifier/export`, { headers: { authorization } });
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Until the old secret ends, what is sent is signed with both. */
export async function rotateSecret(rig: ConsoleRig): Promise<void> {
  const receiver = await Receiver.start();
  try {
    const made = await rig.client.post('/v1/webhooks', { url: `${receiver.url}/rotated`, events: ['webhook.test'] });
    const { id, secret: before } = made.body as { id?: string; secret?: string };
    const shown = await screen(rig, `/webhooks/${String(id)}`);
    const { page, dialog } = shown;
    await page.locator('.page-actions').getByRole('button', { name: 'Address' }).click();
    await page.getByRole('menuitem', { name: 'New secret' }).click();
    await dialog.getByLabel('Hours of overlap').fill('30000');
    await dialog.getByRole('button', { name: 'New secret' }).click();
    await dialog.locator('[aria-invalid=true]').waitFor();
    await dialog.getByLabel('Hours of overlap').fill('2');
    await dialog.getByRole('button', { name: 'New secret' }).click();
    const after = await dialog.locator('.copyable .code').innerText();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    expect((await rig.client.post(`/v1/webhooks/${String(id)}/test`, {})).status).toBeLessThan(300);
    const [received] = await until(
      'the test event is there',
      async () => Promise.resolve(receiver.received),
      (all) => all.length > 0,
    );
    const signatures = String(received?.headers['webhook-signature']).split(' ');
    const signed = (secret: string): string => signatureOf(secret, received as Received);
    expect(signatures.sort()).toEqual([signed(after), signed(String(before))].sort());
    await leave(shown);
  } finally {
    await receiver.stop();
  }
}

/** As Standard Webhooks has it. */
function signatureOf(secret: string, { headers, body }: Received): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}

/** A page of a list that does not come: what is there stays, and it is asked for again by a person. */
export async function loseNextPage(rig: ConsoleRig): Promise<void> {
  const products = Array.from({ length: 120 }, (_, index) => ({
    ...{ sku: `page-${String(index)}`, name: { ru: `Товар ${String(index)}` }, spic: '01905001002000002' },
    ...{ package_code: '1500003', vat_percent: 12, price: 100_000 },
  }));
  const put = await rig.client.call('PUT', '/v1/catalog/products', {
    body: JSON.stringify({ products }),
    headers: { 'content-type': 'application/json' },
  });
  expect(put.status).toBe(200);
  const shown = await screen(rig, '/overview');
  const { visitor, page } = shown;
  const nextPages = (url: URL): boolean => url.pathname === '/v1/catalog/products' && url.searchParams.has('cursor');
  await page.route(nextPages, (route) => route.abort());
  await visitor.open('/goods');
  const list = page.getByRole('table');
  const toEnd = (): Promise<unknown> => page.evaluate(`document.querySelector('.grid-scroll').scrollTo(0, 1e6)`);
  await toEnd();
  const failed = page.locator('.grid [role=alert]');
  await failed.getByText('network').waitFor();
  expect(await list.getAttribute('aria-rowcount')).toBe('-1');
  expect(await page.locator('.grid-line').count()).toBeGreaterThan(5);
  await page.unroute(nextPages);
  await failed.getByRole('button', { name: 'Try again' }).click();
  await failed.waitFor({ state: 'detached' });
  await until(
    'the whole list is there',
    async () => {
      await toEnd();
      return Number(await list.getAttribute('aria-rowcount'));
    },
    (rows) => rows > 120,
  );
  await leave(shown);
}

/** A client is made only behind a second factor that was shown just now; what was typed goes on after it. */
export async function addClientWithFreshFactor(owner: ConsolePerson): Promise<void> {
  const { page } = owner;
  await owner.letFactorGrowOld();
  await owner.visitor.open('/access?view=clients');
  await page.getByRole('button', { name: 'Add a client' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a client' });
  await dialog.getByLabel('Name', { exact: true }).fill('a till in Samarqand');
  await dialog.getByRole('button', { name: 'Add a client' }).click();
  await owner.stepUp();
  await dialog.getByText('Secret of the client. Shown once.').waitFor();
  await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();
  await page.locator('.tile', { hasText: 'a till in Samarqand' }).waitFor();
}
