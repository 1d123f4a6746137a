// Promise: what people arrange, take out and read in the console's lists is what they asked for, in words that are theirs.
import { readFileSync } from 'node:fs';
import { tashkentDay } from '../../apps/console/src/format/time.js';
import { describeInBrowser } from '../screen/browser.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { sql } from '../system/database.js';
import { ConsoleRig, type Visitor } from './console-rig.js';

let rig: ConsoleRig;
let visitor: Visitor;
let receipt: string;

async function statusOf(id: string): Promise<string> {
  return String((await rig.client.get(`/v1/receipts/${id}`)).body.status);
}

describeInBrowser('lists and details of the console', () => {
  beforeAll(async () => {
    rig = await ConsoleRig.start();
    receipt = String((await rig.client.post('/v1/receipts', rig.client.saleOf(0))).body.id);
    await until(
      'the sale is registered',
      () => statusOf(receipt),
      (status) => status === 'registered',
    );
  });
  afterAll(() => rig?.stop());
  beforeEach(async () => {
    visitor = await rig.visitor();
  });
  afterEach(async () => {
    expect([await visitor.hasRun(), ...visitor.trouble]).toEqual([false]);
    await visitor.end();
  });

  test('columns are chosen, and stay chosen after a reload', async () => {
    const { page } = visitor;
    await visitor.open('/receipts');
    const head = (name: string) => page.getByRole('columnheader', { name, exact: true });
    await head('Type').waitFor();
    expect(await head('VAT, so‘m').count()).toBe(0);
    await page.getByRole('button', { name: 'Columns' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'VAT, so‘m', exact: true }).click();
    await dialog.getByRole('checkbox', { name: 'Type', exact: true }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await head('VAT, so‘m').waitFor();
    await page.reload();
    await visitor.settled();
    await head('VAT, so‘m').waitFor();
    expect(await head('Type').count()).toBe(0);
  });

  test('a day of Tashkent is one press, wherever the browser stands, and keeps what else was asked for', async () => {
    const { page } = visitor;
    await visitor.open('/receipts?status=registered');
    const search = page.getByRole('search');
    if ((await search.count()) === 0) await page.getByRole('button', { name: /^Filters/ }).click();
    const asked = (name: string): string => new URL(page.url()).searchParams.get(name) ?? '';
    for (const [name, daysAgo] of [
      ['Yesterday', 1],
      ['Today', 0],
    ] as const) {
      await search.getByRole('button', { name }).click();
      const begin = `${tashkentDay(new Date(Date.now() - daysAgo * 86_400_000))}T00:00:00+05:00`;
      const from = new Date(begin).toISOString();
      await page.waitForURL((url) => url.searchParams.get('created_from') === from);
      expect(Date.parse(asked('created_to')) - Date.parse(from)).toBe(86_400_000);
      expect(asked('status')).toBe('registered');
    }
    for (const width of [1440, 1024, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const tooWide = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([width, tooWide]).toEqual([width, 0]);
    }
    await until(
      'the sale of today is shown',
      () => page.locator('.row-link').count(),
      (count) => count > 0,
    );
  });

  test('an export says how large it became, and the file holds what the list shows', async () => {
    const { page } = visitor;
    await visitor.open('/receipts?status=registered');
    await page.getByRole('button', { name: /^Export/ }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: /csv/i }).click();
    const file = await (await saved).path();
    expect(readFileSync(file, 'utf8')).toContain(receipt);
    await page.getByText(/The file is complete: \S+ KiB/).waitFor();
  });

  test('of more than a hundred cashiers each can be chosen and is called by its name', async () => {
    for (let number = 1; number <= 101; number += 1) {
      const name = `Kassir ${number}`;
      expect((await rig.client.post('/v1/cashiers', { code: `many-${number}`, name })).status).toBe(201);
    }
    const { page } = visitor;
    await visitor.open('/receipts');
    await page.getByRole('button', { name: 'Filters' }).click();
    const cashier = page.getByRole('search').getByLabel('Cashier');
    await cashier.getByRole('option', { name: 'Kassir 101', exact: true }).waitFor({ state: 'attached' });
    const offered = (await cashier.getByRole('option').allInnerTexts()).filter((name) => name.startsWith('Kassir '));
    expect(offered).toEqual(Array.from({ length: 101 }, (_, index) => `Kassir ${index + 1}`));
    await cashier.selectOption({ label: 'Kassir 101' });
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL(/cashier_id=csh_/);
  });

  test('what a customer has in hand finds the receipt: the text of the QR code, the paper, the link of the seller', async () => {
    const { body } = await rig.client.get(`/v1/receipts/${receipt}`);
    const fiscal = body.fiscal as { verification_url: string; terminal_id: string; receipt_seq: number };
    const { page } = visitor;
    await visitor.open('/overview');
    const search = async (typed: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill(typed);
      await page.keyboard.press('Enter');
    };
    for (const typed of [fiscal.verification_url, `${fiscal.terminal_id} ${fiscal.receipt_seq}`]) {
      await search(typed);
      await page.waitForURL(/terminal_id=.*receipt_seq=/);
      await page.locator('.row-link').click();
      await page.waitForURL(new RegExp(`/receipts/${receipt}$`));
      await visitor.open('/overview');
    }
    await search(String(body.receipt_url));
    await page.waitForURL(new RegExp(`/receipts/${receipt}$`));
    // A shop may number its own sales so.
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill('UZ230700000042-4711');
    expect(await page.getByRole('option').allInnerTexts()).toEqual([
      'Find receipt 4711 of terminal UZ230700000042',
      'Find receipts with your number UZ230700000042-4711',
    ]);
    await page.keyboard.press('Escape');

    await visitor.open('/receipts');
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByRole('search').getByLabel('Terminal (on the paper)').fill(fiscal.terminal_id.toLowerCase());
    await page.getByRole('button', { name: 'Apply' }).click();
    await page
      .getByRole('search')
      .getByText('a fiscal document is found by terminal_id and receipt_seq together')
      .waitFor();
    await page.getByRole('search').getByLabel('Number of the receipt at the terminal').fill(String(fiscal.receipt_seq));
    await page.getByRole('button', { name: 'Apply' }).click();
    await until(
      'one receipt is found',
      () => page.locator('.row-link').count(),
      (count) => count === 1,
    );
  });

  test('the timeline shows the evidence of the attempt', async () => {
    const { page } = visitor;
    await visitor.open(`/receipts/${receipt}`);
    const answered = page.locator('.timeline-entry', { hasText: /Attempt \d: answered Registered/ });
    await answered.getByText('Evidence', { exact: true }).click();
    const { fiscal } = (await rig.client.get(`/v1/receipts/${receipt}`)).body as { fiscal: { fiscal_sign: string } };
    await answered.getByText(/"http_status": 200/).waitFor();
    await answered.getByText(`"fiscal_sign": "${fiscal.fiscal_sign}"`).waitFor();
  });

  test('a register is found by its name; one that needs attention stands on the overview and in a list of its own', async () => {
    const { page } = visitor;
    const { data } = (await rig.client.get('/v1/devices')).body as { data: { id: string }[] };
    const [first, second] = data;
    await sql(rig.system.database, `UPDATE devices SET name = 'Till at the entrance' WHERE id = $1`, [first?.id]);
    await visitor.open('/registers');
    await page.getByLabel('Name, terminal or shop').fill('ENTRANCE');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=ENTRANCE/);
    expect(await page.evaluate('document.activeElement.type')).toBe('search');
    const tiles = page.locator('.tile-link');
    const shown = (count: number) =>
      until(
        'the list is read',
        () => tiles.count(),
        (now) => now === count,
      );
    await shown(1);
    await tiles.click();
    await page.waitForURL(new RegExp(`/registers/${first?.id}$`));
    await page.goBack();
    await shown(1);
    expect(await page.getByLabel('Name, terminal or shop').inputValue()).toBe('ENTRANCE');

    await sql(
      rig.system.database,
      `UPDATE devices SET state = 'blocked', poll_due_at = now() + interval '1 hour' WHERE id = $1`,
      [second?.id],
    );
    await visitor.open('/overview');
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Registers that need attention' }) });
    await card.getByText('Blocked').waitFor();
    // Registers that are switched off sell nothing, and nothing is to be done for them.
    await sql(rig.system.database, `UPDATE devices SET state = 'disabled' WHERE id IN ($1, $2)`, [
      first?.id,
      second?.id,
    ]);
    await visitor.open('/overview');
    await card.getByText('None does.').waitFor();
    await sql(rig.system.database, `UPDATE devices SET state = 'online' WHERE id = $1`, [first?.id]);
    await sql(rig.system.database, `UPDATE devices SET state = 'blocked' WHERE id = $1`, [second?.id]);
    await visitor.open('/registers?state=attention');
    await shown(1);
    expect(await page.getByLabel('State').inputValue()).toBe('attention');
    await sql(rig.system.database, `UPDATE devices SET state = 'online' WHERE id = $1`, [second?.id]);
  });

  test('a shift that does not agree says by what, and leads to its receipts', async () => {
    const { page } = visitor;
    const id = String((await rig.client.get(`/v1/receipts/${receipt}`)).body.device_id);
    const { database } = rig.system;
    expect((await rig.client.post(`/v1/devices/${id}/shift/close`, {})).status).toBeLessThan(300);
    await until(
      'its Z-report is there',
      () => sql(database, 'SELECT 1 FROM z_reports z JOIN shifts s ON s.id = z.shift_id WHERE s.device_id = $1', [id]),
      (rows) => rows.length === 1,
    );
    await sql(
      database,
      `UPDATE z_reports SET totals = jsonb_set(totals, '{TotalSaleCash}', to_jsonb((totals ->> 'TotalSaleCash')::bigint + 450050))`,
    );
    await visitor.open('/reports?show=different');
    const row = page.locator('.line-item', { has: page.getByText('Different', { exact: true }) });
    await row.getByText('Difference', { exact: true }).first().click();
    const sums = row.getByRole('region', { name: 'Difference' });
    expect((await sums.getByRole('row', { name: /^Sales, cash/ }).innerText()).replaceAll('\u202f', ' ')).toMatch(
      /4 500\.50$/,
    );
    await row.getByRole('link', { name: 'Receipts of this shift' }).click();
    await page.waitForURL(/registered_from=.*registered_to=/);
    await visitor.settled();
    expect(await page.locator('.row-link').count()).toBeGreaterThan(0);
  });

  test('a register is shown in words, not in names of the API', async () => {
    const { page } = visitor;
    const { data } = (await rig.client.get('/v1/devices')).body as { data: { id: string }[] };
    await visitor.open(`/registers/${data[0]?.id}`);
    await page.getByText('Merchant at the register', { exact: true }).waitFor();
    await page.getByText(/knows a document that is sent again, shows its journal/).waitFor();
    await page.getByText('HTTP 200', { exact: true }).first().waitFor();
    const text = await page.locator('main').innerText();
    expect(text.match(/\b(?:legal_address|actual_address|branch_address|idempotency|sharing|pending)\b/)).toBeNull();
  });

  test('a sale that waits is cancelled, and is never registered', async () => {
    const { page } = visitor;
    const database = rig.database();
    try {
      await database.$executeRaw`UPDATE lanes SET due_at = now() + interval '1 hour', due_reason = 'the test'`;
      const id = String((await rig.client.post('/v1/receipts', rig.client.saleOf(0))).body.id);
      await visitor.open(`/receipts/${id}`);
      await page.getByRole('button', { name: 'Cancel the receipt' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the receipt' }).click();
      await page.getByRole('heading', { name: /Cancelled/ }).waitFor();
      await database.$executeRaw`UPDATE lanes SET due_at = NULL, due_reason = NULL`;
      // Behind it in the same lanes: whatever was still there has had its turn.
      const after = String((await rig.client.post('/v1/receipts', rig.client.saleOf(0))).body.id);
      await until(
        'the next sale is registered',
        () => statusOf(after),
        (status) => status === 'registered',
      );
      expect(await statusOf(id)).toBe('cancelled');
    } finally {
      await database.$disconnect();
    }
  });
});
