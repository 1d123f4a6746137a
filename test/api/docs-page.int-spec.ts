// Promise: the page of the API's description works without a network, and under a policy that lets nothing foreign in.
import 'reflect-metadata';
import { describeInBrowser } from '../screen/browser.js';
import { startBrowser } from '../screen/start-browser.js';
import { ADVICE, PROBLEMS } from '#problems';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { GuideSite } from './guide-site.js';
import { ApiWorld } from './api-world.js';
import { until } from '../../libs/runtime/src/testing/until.js';

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
  for (const file of ['package.json', 'constructor', '..%2fpackage.json', '%2e%2e', 'standalone.js'])
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

describe('the guide', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fiscal-guide-'));
    mkdirSync(join(folder, 'site', 'assets', 'chunks'), { recursive: true });
    mkdirSync(join(folder, 'site', 'ru'));
    writeFileSync(join(folder, 'secret.html'), 'secret');
    const files = { 'index.html': 'first', '404.html': 'no page', 'errors.html': 'codes', 'ru/index.html': 'первая' };
    const parts = { 'assets/app.1a2b.js': 'app()', 'assets/chunks/x.3c4d.js': 'x()', 'notes.txt': 'not served' };
    for (const [name, text] of Object.entries({ ...files, ...parts })) writeFileSync(join(folder, 'site', name), text);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('without a built site it is a 404 page that says how to build it', async () => {
    const site = await GuideSite.start(join(folder, 'nothing'));
    try {
      const { status, type, text } = await site.get('/docs/guide/quickstart');
      expect([status, type]).toEqual([404, 'text/html; charset=utf-8']);
      expect(text).toContain('npm run docs');
    } finally {
      await site.stop();
    }
  });

  test('pages, folders and parts are served, nothing else, and no address leads out', async () => {
    const site = await GuideSite.start(join(folder, 'site'));
    try {
      const found = {
        '': 'first',
        errors: 'codes',
        'errors.html': 'codes',
        'ru/': 'первая',
        'assets/app.1a2b.js': 'app()',
      };
      for (const [path, text] of Object.entries({ ...found, 'assets/chunks/x.3c4d.js': 'x()' })) {
        const answer = await site.get(`/docs/guide/${path}`);
        expect([path, answer.status, answer.text]).toEqual([path, 200, text]);
        expect(answer.policy).toContain("script-src 'self';");
      }
      expect((await site.get('/docs/guide')).location).toBe('/docs/guide/');
      expect((await site.get('/docs/guide/assets/app.1a2b.js')).cache).toContain('immutable');
      expect((await site.get('/docs/guide/errors')).cache).toBe('no-cache');
      for (const path of [
        'nothing',
        'notes.txt',
        '..%2fsecret.html',
        '..%2f..%2fpackage.json',
        'ru/..%2f..%2fsecret.html',
        'constructor',
        '%00',
      ])
        expect([path, await site.get(`/docs/guide/${path}`)]).toEqual([
          path,
          expect.objectContaining({ status: 404, text: 'no page' }),
        ]);
      const packed = await site.packed('/docs/guide/errors');
      expect(gunzipSync(packed).toString()).toBe('codes');
    } finally {
      await site.stop();
    }
  });
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
      // Receipts first, and their examples in four languages.
      const groups = page.locator('[data-sidebar-id*="/tag/"]');
      await groups.first().waitFor({ timeout: 60_000 });
      expect(await groups.first().getAttribute('data-sidebar-id')).toMatch(/\/tag\/receipts$/);
      await page.goto(`${world.gateway.base}/docs#tag/receipts/POST/v1/receipts`);
      const sale = page.locator('section[id$="/tag/receipts/POST/v1/receipts"]');
      await sale.getByText('curl -X POST "$GATEWAY_URL/v1/receipts"').waitFor({ timeout: 60_000 });
      let shown = 'Shell';
      for (const [language, text] of [
        ['Node.js', "fgw.request('POST', '/v1/receipts'"],
        ['Python', 'urllib.request.Request('],
        ['PHP', 'curl_setopt_array('],
      ] as const) {
        await sale.getByRole('button', { name: shown, exact: true }).click();
        await page.getByRole('option', { name: language, exact: true }).click();
        await sale.getByText(text).first().waitFor({ timeout: 60_000 });
        shown = language;
      }
      // "Try it": a pasted token, and the request goes to where the page comes from, though PUBLIC_URL has another name.
      const authType = page.getByRole('button', { name: /^Selected Auth Type/ }).first();
      const token = page.getByRole('option', { name: 'token', exact: true });
      // A click while the page is still being laid out opens nothing.
      const isOpen = async (): Promise<boolean> => {
        if (!(await token.isVisible())) await authType.click();
        return token.waitFor({ timeout: 3_000 }).then(
          () => true,
          () => false,
        );
      };
      await until('the types of authentication', isOpen, Boolean);
      await token.click();
      await page.keyboard.press('Escape');
      await page.getByTestId('auth-tabs').first().getByRole('button', { name: 'token' }).click();
      await page.getByPlaceholder('Token').first().fill(world.allScopes);
      await page
        .locator('section[id$="/tag/receipts/GET/v1/receipts"]')
        .getByRole('button', { name: /^Test Request/ })
        .click();
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/v1/receipts');
      await page.getByRole('button', { name: /^Send/ }).first().click();
      const answer = await answered;
      expect([answer.status(), new URL(answer.url()).origin]).toEqual([200, world.gateway.base]);
      await page.getByText('200 OK').first().waitFor({ timeout: 60_000 });
      expect(foreign).toEqual([]);
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
