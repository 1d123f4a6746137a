// Takes pictures of every screen, which a person judges (npm run console:pictures); no part of the test run.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setFaults } from '../system/ground-truth.js';
import { until } from '../system/until.js';
import { ConsoleRig, THEMES } from './console-rig.js';

const FOLDER = join(process.cwd(), '.artifacts', 'console');
const WIDTHS = [1440, 360];

let rig: ConsoleRig;
let paths: Record<string, string>;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  rig = await ConsoleRig.start();
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
    account: '/account',
  };
});
afterAll(() => rig?.stop());

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
  },
);
