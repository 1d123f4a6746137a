// Promise: goods, deliveries, reports, exports and letters to buyers do in the console what their buttons say.
import { readFileSync } from 'node:fs';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import { describeInBrowser } from '../screen/browser.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ConsoleRig, HOSTILE, type Visitor } from './console-rig.js';

let rig: ConsoleRig;
let visitor: Visitor;

interface Registered {
  id: string;
  status: string;
}

async function sell(): Promise<string> {
  const { id } = (await rig.client.post('/v1/receipts', rig.client.saleOf(0))).body as Registered;
  await until(
    'the sale is registered',
    async () => ((await rig.client.get(`/v1/receipts/${id}`)).body as Registered).status,
    (status) => status === 'registered',
  );
  return id;
}

const file = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

describeInBrowser('daily work in the console', () => {
  beforeAll(async () => {
    rig = await ConsoleRig.start({ MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8' });
  });
  afterAll(() => rig?.stop());
  beforeEach(async () => {
    visitor = await rig.visitor();
  });
  afterEach(async () => {
    expect([await visitor.hasRun(), ...visitor.trouble]).toEqual([false]);
    await visitor.end();
  });

  test('a product gets a price; what is no sum, and what another has changed meanwhile, is refused', async () => {
    const { page } = visitor;
    const dialog = page.getByRole('dialog');
    await visitor.open('/goods/sku-1');
    await page.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Price, so‘m').fill('12.345');
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Price, so‘m').fill('1 234,50');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await rig.client.get('/v1/catalog/products/sku-1')).body).toMatchObject({ price: 123_450 });

    await page.getByRole('button', { name: 'Change' }).click();
    const changed = await rig.client.call('PATCH', '/v1/catalog/products/sku-1', {
      body: JSON.stringify({ price: 99_900 }),
      headers: { 'content-type': 'application/json' },
    });
    expect(changed.status).toBe(200);
    await dialog.getByLabel('Price, so‘m').fill('1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').first().waitFor();
    expect((await rig.client.get('/v1/catalog/products/sku-1')).body).toMatchObject({ price: 99_900 });
  });

  test('a file of goods: what was taken is counted, and the rows that were not come back as a file', async () => {
    const { page } = visitor;
    await visitor.open('/goods');
    await page.getByRole('button', { name: 'Import a file' }).click();
    const dialog = page.getByRole('dialog');
    const head = 'sku,spic,name_ru,package_code,vat_percent\n';
    const rows = `good-1,01905001002000002,Хлеб,1500003,12\n${'bad-1,1,Плохой,1500003,12'}\n`;
    await dialog.getByLabel('Choose a file').setInputFiles(file('goods.csv', head + rows));
    await dialog.getByText('The import is done.').waitFor();
    const saved = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Rows that were not taken' }).click();
    const text = readFileSync(await (await saved).path(), 'utf8');
    expect([text.includes('bad-1'), text.includes('good-1')]).toEqual([true, false]);
    expect((await rig.client.get('/v1/catalog/products/good-1')).status).toBe(200);
  });

  test('a product that the register has left behind says why, in words, and leads to its page', async () => {
    const { page } = visitor;
    await sql(
      rig.system.database,
      `INSERT INTO affected_products (merchant_id, version, sku, spic, reasons)
       VALUES ($1, 1, 'sku-1', '01905001002000002', '{package_removed,now_marked}')`,
      [rig.system.merchant.merchantId],
    );
    await visitor.open('/goods?view=affected');
    await page.getByText('the package is no longer in the register, marks are asked for now').waitFor();
    await page.getByRole('link', { name: 'sku-1' }).click();
    await page.waitForURL(/\/goods\/sku-1$/);
  });

  test('deliveries are found by state, event and status; what was sent is sent again', async () => {
    const { page } = visitor;
    const receiver = await Receiver.start();
    receiver.answer = (_received, response) => void response.writeHead(418).end(HOSTILE);
    try {
      const made = await rig.client.post('/v1/webhooks', { url: `${receiver.url}/hooks`, events: ['*'] });
      await visitor.open(`/webhooks/${String(made.body.id)}`);
      await page.locator('.page-actions').getByRole('button', { name: 'Address' }).click();
      await page.getByRole('menuitem', { name: 'Send a test event' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Send a test event' }).click();
      await page.getByText('The test event is on its way.').waitFor();
      await page.getByRole('dialog').locator('.row-actions').getByRole('button', { name: 'Close' }).click();
      await until(
        'it was tried',
        () => receiver.types(),
        (types) => types.includes('webhook.test'),
      );
      const line = page.locator('.plain-list > li', { hasText: 'webhook.test' });
      const search = page.getByRole('search');
      await search.getByLabel('HTTP status').fill('5xx');
      await search.getByRole('button', { name: 'Apply' }).click();
      await page.waitForURL(/http_status=5xx/);
      await page.locator('.state-empty').waitFor();
      await search.getByLabel('HTTP status').fill('4xx');
      await search.getByLabel('Event').fill('webhook.*');
      await search.getByRole('button', { name: 'Apply' }).click();
      await line.first().waitFor();
      await search.getByLabel('HTTP status').fill('no');
      await search.getByRole('button', { name: 'Apply' }).click();
      await search.locator('[aria-invalid=true]').waitFor();

      receiver.answer = (_received, response) => void response.writeHead(204).end();
      const id = await sell();
      const arrived = (): number =>
        receiver.received.filter(({ event }) => event.type === 'receipt.registered' && event.data['receipt_id'] === id)
          .length;
      await until('it was delivered', arrived, (times) => times === 1);
      await visitor.open(`/webhooks/${String(made.body.id)}`);
      const registered = page.locator('.plain-list > li', { hasText: 'receipt.registered' });
      await registered.getByRole('button', { name: 'Send this again' }).first().click();
      await until('it is there again', arrived, (times) => times > 1);
    } finally {
      await receiver.stop();
    }
  });

  test('turnover by each part is what was sold, and goes out as a file', async () => {
    const { page } = visitor;
    await sell();
    await visitor.open('/reports');
    const rows = page.getByRole('region', { name: 'Turnover' }).locator('tbody tr');
    for (const [by, name] of [
      ['branch', 'Branch'],
      ['cashier', 'Cashier'],
      ['vat', 'VAT rate'],
      ['day', 'Day'],
    ] as const) {
      await page.getByLabel('By', { exact: true }).selectOption(name);
      await page.waitForURL(new RegExp(`by=${by}`));
      await rows.first().waitFor();
    }
    const { data } = (await rig.client.get(`/v1/reports/turnover?by=day&from=2020-01-01&to=2020-01-02`)).body as {
      data: unknown[];
    };
    expect(data).toEqual([]);
    await page.getByLabel('From', { exact: true }).fill('2020-01-01');
    await page.getByLabel('To (included)').fill('2020-01-02');
    await page
      .locator('.card', { has: page.getByRole('heading', { name: 'Turnover' }) })
      .locator('.state-empty')
      .waitFor();
    await page.getByLabel('To (included)').fill('2019-01-02');
    await page.locator('[aria-invalid=true]').first().waitFor();
    await visitor.open('/reports?by=day');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'As CSV' }).click();
    const [head, first] = readFileSync(await (await saved).path(), 'utf8').split('\n');
    expect(head?.split(',').length).toBe(first?.split(',').length);
    expect(first).toMatch(/\d{4}-\d{2}-\d{2}/);
  });

  test('an export that is given up saves nothing, and the next one does', async () => {
    const { page } = visitor;
    await sell();
    await visitor.open('/receipts');
    let isHeld = true;
    // Not an answer of ours: the file is held on its way until it is given up.
    await page.route(/\/v1\/receipts\/export/, async (route) => {
      while (isHeld) await new Promise((resolve) => setTimeout(resolve, 50));
      await route.continue().catch(() => undefined);
    });
    const files: string[] = [];
    page.on('download', (download) => files.push(download.suggestedFilename()));
    const run = async (): Promise<void> => {
      await page.getByRole('button', { name: /^Export/ }).click();
      await page.getByRole('menuitem', { name: 'CSV' }).click();
    };
    await run();
    const progress = page.getByRole('status').filter({ hasText: /KiB/ });
    await progress.getByRole('button', { name: 'Cancel' }).click();
    await progress.waitFor({ state: 'detached' });
    isHeld = false;
    expect(files).toEqual([]);
    await run();
    await page.getByText(/The file is complete/).waitFor();
    expect(files).toEqual([expect.stringMatching(/^receipts-.*\.csv$/)]);
  });

  test('a receipt is sent to its buyer, and once more', async () => {
    const { page } = visitor;
    const dialog = page.getByRole('dialog');
    const mail = await MailServer.start();
    try {
      const settings = {
        host: '127.0.0.1',
        port: String(mail.port),
        security: 'none',
        from_address: 'a@shop.example',
        from_name: 'S',
      };
      const made = await rig.client.post('/v1/message-accounts', { provider: 'smtp', settings });
      expect(made.status).toBe(201);
      await visitor.open(`/receipts/${await sell()}`);
      for (let times = 1; times <= 2; times += 1) {
        await page.locator('.card').getByRole('button', { name: 'Send to the buyer' }).click();
        await dialog.getByLabel(/^Address|^To/).fill('buyer@example.uz');
        await dialog.getByRole('button', { name: 'Send to the buyer' }).click();
        await dialog.waitFor({ state: 'detached' });
        await until(
          `letter ${times}`,
          () => mail.letters.length,
          (letters) => letters === times,
        );
      }
      expect(mail.letters.map(({ to }) => to)).toEqual([['buyer@example.uz'], ['buyer@example.uz']]);
    } finally {
      await mail.stop();
    }
  });
});
