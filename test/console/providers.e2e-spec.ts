// Promise: who takes a payment, whether a provider answers, and what its register says are seen and changed in the console.
import { sql } from '../system/database.js';
import { describeInBrowser } from '../screen/browser.js';
import { ConsoleRig, HOSTILE, LANGUAGES, type Visitor } from './console-rig.js';
import { faultsOf, rulesIn } from './judge-screen.js';

const DAY = '2026-03-04';
const CLICK = { service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' };

let rig: ConsoleRig;
let visitor: Visitor;
let clickAccount: string;
let payment: string;

async function rules(): Promise<unknown> {
  return (await rig.client.get('/v1/payment-routing')).body;
}

describeInBrowser('payment providers in the console', () => {
  beforeAll(async () => {
    rig = await ConsoleRig.start();
    const made = await rig.client.post('/v1/provider-accounts', { provider: 'click', settings: CLICK });
    clickAccount = String(made.body.id);
    const payme = { provider: 'payme', settings: { cashbox_id: 'box', key: 'key' } };
    expect((await rig.client.post('/v1/provider-accounts', payme)).status).toBe(201);
    const sale = rig.client.saleOf(0, { payment: { method: 'online', provider: 'click' } });
    payment = String((await rig.client.post('/v1/payments', sale)).body.id);
    expect(payment).toMatch(/^pay_/);
  });
  afterAll(() => rig?.stop());
  beforeEach(async () => {
    visitor = await rig.visitor();
  });
  afterEach(async () => {
    expect([await visitor.hasRun(), ...visitor.trouble]).toEqual([false]);
    await visitor.end();
  });

  test('rules are written, moved and refused at their field; what was typed outlives a reload', async () => {
    const { page } = visitor;
    await visitor.open('/payments?view=routing');
    await page.getByText(/No rules were written/).waitFor();
    await page.getByRole('button', { name: 'Change the rules' }).click();
    const rule = (place: number) => page.locator('main form .tile').nth(place);
    await rule(0).getByLabel('To, so‘m').fill('1000,5x');
    await rule(0).getByText('This is no number.').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await rule(0).getByLabel('To, so‘m').fill('10');
    await rule(0).getByLabel('From, so‘m').fill('20');
    await page.reload();
    await page.getByRole('button', { name: 'Change the rules' }).click();
    expect(await rule(0).getByLabel('From, so‘m').inputValue()).toBe('20');
    await page.getByRole('button', { name: 'Save' }).click();
    // The gateway knows what no sum can meet.
    await rule(0)
      .getByText(/no sum meets the rule/)
      .waitFor();
    await rule(0).getByLabel('To, so‘m').fill('1 000.50');
    await rule(0).getByLabel('First digits of cards').fill('8600, 9860');
    await rule(1).getByLabel('Commission, %').fill('1,25');
    await page.getByRole('button', { name: /^Further up: 2/ }).click();
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByRole('button', { name: /^Remove: 3/ }).click();
    await page.getByLabel('The cheapest').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('8600, 9860', { exact: true }).waitFor();
    expect(await rules()).toMatchObject({
      prefer: 'cost',
      rules: [
        { provider: 'payme', cost_basis_points: 125 },
        { provider: 'click', amount_min: 2_000, amount_max: 100_050, card_ranges: ['8600', '9860'] },
      ],
    });
  });

  test('an account whose provider does not answer says so, since when and why', async () => {
    const { page } = visitor;
    await sql(
      rig.system.database,
      `INSERT INTO provider_health (account_id, merchant_id, is_down, since, failed_at, detail)
       VALUES ($1, $2, true, now(), now(), $3)`,
      [clickAccount, rig.system.merchant.merchantId, HOSTILE.slice(0, 150)],
    );
    await visitor.open('/payments?view=accounts');
    const tile = page.locator('.tile', { hasText: 'click' });
    await tile.getByText('Does not answer', { exact: true }).waitFor();
    await tile.getByText('Does not answer since').waitFor();
    await tile.getByText(HOSTILE.slice(0, 40)).waitFor();
    expect(await page.locator('.tile', { hasText: 'payme' }).getByText('Active').count()).toBe(1);
  });

  test('a register of a provider is compared: by day, by difference, with a way to the payment', async () => {
    const { page } = visitor;
    await visitor.open('/payments?view=settlements');
    await page.getByText('No register was compared yet.').waitFor();
    await page.getByLabel('Account').selectOption({ index: 0 });
    await page.getByLabel('First day').fill(DAY);
    await page.getByLabel('Last day').fill(DAY);
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const compare = page.getByRole('button', { name: 'Compare a register' });
    expect(await compare.isDisabled()).toBe(true);
    await page.getByLabel('Choose the file').setInputFiles(file('register.txt', 'x'));
    await compare.click();
    await page.getByText('Only .csv and .xlsx are read.').waitFor();
    const head = 'Click ID,Идент-р,Сумма,Комиссия,Дата,Статус платежа\r\n';
    await page.getByLabel('Choose the file').setInputFiles(file('register.csv', 'no,headings\r\n1,2\r\n'));
    await compare.click();
    await page.getByText('import_unreadable').waitFor();
    const status = 'Успешно подтвержден';
    const rows = `tx-1,${payment},1120.00,11.20,${DAY} 12:30:00,${status}\r\ntx-2,<b>,1120.00,,${DAY} 12:31:00,${status}\r\n`;
    await page.getByLabel('Choose the file').setInputFiles(file('register.csv', head + rows));
    await compare.click();
    await page.waitForURL(/settlements\/stl_/);
    await page.getByText('Not taken by our books').first().waitFor();
    const cells = await page.locator('.table tbody tr').first().locator('th, td').allInnerTexts();
    const [, theirs, ours, paid] = cells;
    expect([theirs, ours, paid?.replace(/\D/g, '')]).toEqual(['2', '0', '224000']);
    expect(cells.at(-1)).toBe('Not taken by our books: 2');
    await page.getByRole('link', { name: 'Payment', exact: true }).first().click();
    await page.waitForURL(new RegExp(payment));
    await visitor.open('/payments?view=settlements');
    await page
      .locator('.tile', { hasText: `click · ${DAY}` })
      .getByText('2 differences')
      .waitFor();
  });

  test('a difference between money and receipt names what happens next', async () => {
    const { page } = visitor;
    await sql(
      rig.system.database,
      "UPDATE payments SET state = 'manual', due_at = NULL, awaits_operator = true WHERE id = $1",
      [payment],
    );
    await visitor.open('/payments?view=differences');
    const tile = page.locator('.tile').first();
    await tile.getByText('Waits for a person').first().waitFor();
    await tile.getByText(/Next step: A person. Find out at the provider/).waitFor();
    await tile.getByRole('link').first().click();
    await page.waitForURL(new RegExp(payment));
  });

  test('a screen reader and a phone can use these screens', async () => {
    const { data } = (await rig.client.get('/v1/settlements')).body as { data: { id: string }[] };
    const wrong: string[] = [];
    for (const language of LANGUAGES) {
      const reader = await rig.visitor({ language });
      for (const path of ['/payments?view=routing', '/payments?view=settlements', `/settlements/${data[0]?.id}`])
        wrong.push(...(await faultsOf(reader.page, `${path} ${language}`, rulesIn(language), () => reader.open(path))));
      expect(reader.trouble).toEqual([]);
      await reader.end();
    }
    expect(wrong).toEqual([]);
  });
});
