// Takes pictures of every screen, which a person judges (npm run console:pictures); no part of the test run.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setFaults } from '../system/ground-truth.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ConsolePerson, inviteByCommand } from './console-person.js';
import { ConsoleRig, LANGUAGES, THEMES, type Visitor } from './console-rig.js';

const FOLDER = join(process.cwd(), '.artifacts', 'console');
const WIDTHS = [1440, 360];

let rig: ConsoleRig;
let paths: Record<string, string>;
let prisma: ReturnType<ConsoleRig['database']>;
let owner: ConsolePerson;
let openLink: string;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  rig = await ConsoleRig.start({ PROVIDER_ALLOWED_CIDRS: '127.0.0.0/8', PROVIDER_HOSTS: '127.0.0.1:*' });
  prisma = rig.database();
  const { client, system } = rig;
  const ids: string[] = [];
  for (let index = 0; index < 40; index += 1) {
    const items = system.merchant.goods
      .slice(0, 1 + (index % 4))
      .map((name, at) => ({ name, price: 350_000 + at * 125_000 + index * 1_000, qty: 1 + (at % 3) }));
    const method = index % 3 === 0 ? 'card' : 'cash';
    const more = { items, payment: { method }, external_id: `shop-${4_000 + index}`, metadata: { till: '1' } };
    const answer = await client.post('/v1/receipts', client.saleOf(index % 2, more));
    ids.push(String(answer.body.id));
  }
  const sale = ids.at(-1) ?? '';
  await client.post(`/v1/receipts/${sale}/refunds`, { lines: [{ line: 1, qty: 1 }] });
  await client.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hooks', description: 'ERP' });
  await setFaults(system, [{ fault: 'drop_answer', rate: 1 }]);
  const lost = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
  await until(
    'a receipt waits for a person',
    async () => (await client.get(`/v1/receipts/${lost.body.id}`)).body.status,
    (status) => status === 'unknown',
  );
  await setFaults(system, []);
  const settings = { service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' };
  await client.post('/v1/provider-accounts', { provider: 'click', settings });
  const paid = await client.post(
    '/v1/payments',
    client.saleOf(0, { payment: { method: 'online', provider: 'click' } }),
  );
  const mail = { host: 'smtp.example.uz', from_address: 'shop@example.uz', from_name: 'Shop' };
  const account = await client.post('/v1/message-accounts', { provider: 'smtp', settings: mail });
  if (account.status !== 201) throw new Error(JSON.stringify(account.body));
  await client.post('/v1/suppressions', { channel: 'email', address: 'buyer@example.uz' });
  await client.post('/v1/groups', { code: 'city', name: 'Toshkent' });
  owner = await ConsolePerson.come(rig, prisma, 'aziza@shop.uz');
  await owner.accept(await inviteByCommand(rig, 'aziza@shop.uz', 'owner'), 'Aziza');
  openLink = await inviteByCommand(rig, 'karim@shop.uz', 'operator');
  const hook = (await client.get('/v1/webhooks')).body as unknown as { data: { id: string }[] };
  paths = {
    overview: '/overview',
    receipts: '/receipts',
    filters: '/receipts?status=registered&total_min=100000',
    receipt: `/receipts/${sale}`,
    unknown: '/unknown',
    registers: '/registers',
    register: `/registers/${system.merchant.tills[0]?.deviceId}`,
    payments: '/payments',
    payment: `/payments/${String(paid.body.id)}`,
    differences: '/payments?view=differences',
    routing: '/payments?view=routing',
    settlements: '/payments?view=settlements',
    settlement: `/settlements/${await compareRegister(String(paid.body.id))}`,
    affected: '/goods?view=affected',
    suppressions: '/messages?view=suppressions',
    'message-accounts': '/messages?view=accounts',
    brand: '/messages?view=brand',
    denied: '/nothing-there',
    webhooks: '/webhooks',
    webhook: `/webhooks/${hook.data[0]?.id}`,
    goods: '/goods',
    product: '/goods/sku-0',
    reports: '/reports',
    failover: '/registers?view=groups',
    messages: '/messages',
    templates: '/messages?view=templates',
    classifier: '/goods?view=register',
    accounts: '/payments?view=accounts',
    onboarding: '/onboarding',
    platform: '/platform',
    merchant: `/platform/${system.merchant.merchantId}`,
    access: '/access',
    clients: '/access?view=clients',
    audit: '/access?view=audit',
  };
});
afterAll(async () => {
  await prisma?.$disconnect();
  await rig?.stop();
});

/** A register of Click that names a payment of which we know otherwise, and one that we do not know. */
async function compareRegister(payment: string): Promise<string> {
  const { client, url } = rig;
  const { data } = (await client.get('/v1/provider-accounts')).body as unknown as { data: { id: string }[] };
  const status = 'Успешно подтвержден';
  const rows = [
    `1,${payment},1120.00,11.20,2026-03-04 12:30:00,${status}`,
    `2,other,560.00,5.60,2026-03-04 12:31:00,${status}`,
  ];
  const answer = await fetch(`${url}/v1/settlements?account_id=${data[0]?.id}&from=2026-03-04&to=2026-03-04`, {
    method: 'POST',
    headers: { authorization: await client.authorization(), 'content-type': 'text/csv' },
    body: ['Click ID,Идент-р,Сумма,Комиссия,Дата,Статус платежа', ...rows, ''].join('\n'),
  });
  return ((await answer.json()) as { id: string }).id;
}

/** The person's own screens, and those before anyone is logged in. */
async function peoplesScreens(guest: Visitor, name: (screen: string) => string, theme: string): Promise<void> {
  const language = LANGUAGES[name('').includes('360') ? 1 : 0];
  const kept = JSON.stringify({ 'console-language': language, 'console-theme': theme });
  const shoot = async ({ page }: Pick<Visitor, 'page'>, screen: string, path: string, ready: string): Promise<void> => {
    await page.goto(path);
    await page.evaluate(`Object.assign(localStorage, ${kept})`);
    await page.reload();
    await page.locator(ready).first().waitFor();
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(FOLDER, name(screen)), fullPage: true });
  };
  await shoot(guest, 'login', `${rig.consoleUrl}/login`, 'form');
  await shoot(guest, 'invitation', openLink, 'form');
  const size = guest.page.viewportSize();
  if (size) await owner.page.setViewportSize(size);
  await shoot(owner, 'account', `${rig.consoleUrl}/account`, '.card');
  await shoot(owner, 'approvals', `${rig.consoleUrl}/access?view=approvals`, '.card');
  await shoot(owner, 'users', `${rig.consoleUrl}/access?view=users`, '.tile');
}

test.each(THEMES.flatMap((theme) => WIDTHS.map((width) => [theme, width] as const)))(
  '%s, %s px',
  async (theme, width) => {
    const visitor = await rig.visitor({
      language: width === 360 ? 'uz' : 'ru',
      theme,
      width,
      height: width === 360 ? 780 : 900,
    });
    for (const [name, path] of Object.entries(paths)) {
      await visitor.open(path);
      await visitor.page.waitForTimeout(500);
      await visitor.page.screenshot({ path: join(FOLDER, `${name}-${theme}-${width}.png`), fullPage: true });
    }
    await visitor.open(paths['receipt'] ?? '');
    await visitor.page.locator('.page-actions .button-primary').click();
    await visitor.page.locator('[role=dialog] input[type=radio]').nth(1).check();
    await visitor.page.screenshot({ path: join(FOLDER, `refund-${theme}-${width}.png`) });
    await visitor.open('/receipts');
    await visitor.page.keyboard.press('/');
    await visitor.page.waitForTimeout(300);
    await visitor.page.screenshot({ path: join(FOLDER, `palette-${theme}-${width}.png`) });
    await visitor.end();
    const guest = await rig.person();
    await guest.page.setViewportSize({ width, height: width === 360 ? 780 : 900 });
    await peoplesScreens(guest, (screen) => `${screen}-${theme}-${width}.png`, theme);
    await guest.end();
  },
);
