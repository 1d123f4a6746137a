// Promise: the page of the API's description works without a network, and under a policy that lets nothing foreign in.
import 'reflect-metadata';
import { describeInBrowser, startBrowser } from '../screen/browser.js';
import { ADVICE, PROBLEMS } from '#problems';
import { ApiWorld } from './api-world.js';

let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.start();
});

afterAll(() => world?.stop());

test('the description that is served names this gateway, and is the file otherwise', async () => {
  const { status, headers, text } = await world.send('GET', '/openapi.json');
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  const document = JSON.parse(text) as { openapi: string; servers: { url: string }[]; paths: object };
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'http://gateway.test' }] });
  expect(Object.keys(document.paths)).toContain('/v1/receipts');
});

test('only the files of the page are served', async () => {
  for (const file of ['package.json', 'constructor', '..%2fpackage.json', '%2e%2e', 'swagger-ui.js'])
    expect([file, (await world.send('GET', `/docs/${file}`)).status]).toEqual([file, 404]);
});

test('type of a problem leads to what its caller does; so does /docs', async () => {
  const refused = JSON.parse((await world.send('GET', '/v1/nowhere')).text) as { type: string };
  expect(refused.type).toBe('/docs/problems/not_found');
  const { status, headers, text } = await world.send('GET', refused.type);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('content-security-policy')).not.toContain('unsafe');
  expect(text).toContain(ADVICE.not_found.then);
  const all = (await world.send('GET', '/docs/problems')).text;
  const missing = Object.keys(PROBLEMS).filter((code) => !all.includes(`href="/docs/problems/${code}"`));
  expect(missing).toEqual([]);
  for (const code of Object.keys(PROBLEMS)) {
    const one = await world.send('GET', `/docs/problems/${code}`);
    expect([code, one.status, one.text.includes('What to do')]).toEqual([code, 200, true]);
  }
  for (const code of ['constructor', '%3Cscript%3E', '..%2fx'])
    expect([code, (await world.send('GET', `/docs/problems/${code}`)).code]).toEqual([code, 'not_found']);
  expect((await world.send('GET', '/docs')).text).toContain('href="/docs/problems"');
});

describeInBrowser('in a browser', () => {
  test('shows the operations, asks no other host, breaks no policy', async () => {
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      const foreign: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(world.gateway.base) && !request.url().startsWith('data:'))
          foreign.push(request.url());
      });
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${world.gateway.base}/docs`);
      await page.waitForSelector('.opblock-tag', { timeout: 60_000 });
      expect(await page.locator('.opblock-tag').count()).toBeGreaterThan(5);
      // Receipts first, and their examples in four languages.
      expect(await page.locator('.opblock-tag').first().getAttribute('data-tag')).toBe('receipts');
      await page.locator('.opblock-tag').first().click();
      await page.locator('#operations-receipts-receipts_create .opblock-summary-control').first().click();
      const example = page.locator('#operations-receipts-receipts_create .example-code');
      await example.waitFor({ timeout: 60_000 });
      expect(await example.textContent()).toContain('curl -X POST "$GATEWAY_URL/v1/receipts"');
      for (const [language, text] of [
        ['Node.js', "fgw.request('POST', '/v1/receipts'"],
        ['Python', 'urllib.request.Request('],
        ['PHP', 'curl_setopt_array('],
      ]) {
        await page.getByRole('button', { name: language, exact: true }).click();
        expect(await example.textContent()).toContain(text);
      }
      expect(foreign).toEqual([]);
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
