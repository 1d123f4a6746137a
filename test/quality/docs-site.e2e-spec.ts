// Promise: `npm run docs` makes a site of all pages without a dead link; the gateway serves it, and it is searched and read without a network.
import 'reflect-metadata';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSite, SITE_TOOLS } from '../../scripts/lib/docs-site.mjs';
import { GuideSite } from '../api/guide-site.js';
import { CHROMIUM, startBrowser } from '../screen/start-browser.js';

/** Its packages are installed when the site is built for the first time; only CI demands that. */
const isPossible =
  process.env['CI'] === 'true' || (existsSync(join(SITE_TOOLS, 'node_modules')) && existsSync(CHROMIUM));
const heldTest = isPossible ? test : test.skip;

let folder: string;
let site: GuideSite;

beforeAll(async () => {
  if (!isPossible) return;
  folder = mkdtempSync(join(tmpdir(), 'fiscal-site-'));
  await buildSite(folder);
  site = await GuideSite.start(folder);
});
afterAll(async () => {
  if (!isPossible) return;
  await site?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What each page says, and in which language. */
const READ = {
  quickstart: ['fgw login --from .data/demo.json', 'You run a register'],
  'ru/quickstart': ['fgw login --from .data/demo.json', 'Вы работаете на кассе'],
  'uz/cashier': ['Kassir sahifasi', 'Siz kassada ishlaysiz'],
  'integrate/versions': ['Deprecation', 'You run a register'],
};

heldTest('pages are read and searched under the gateway’s policy, and nothing foreign is asked for', async () => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(site.base) && !request.url().startsWith('data:')) faults.push(request.url());
    });
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`${site.base}/docs/guide`);
    // docs/index.md leads.
    expect(await page.locator('main').textContent()).toContain('Choose what you do');
    for (const [path, [text = '', sidebar = '']] of Object.entries(READ)) {
      await page.goto(`${site.base}/docs/guide/${path}`);
      await page.waitForSelector('h1');
      const main = await page.locator('main').textContent();
      expect(main).toContain(text);
      // Marks for the tests are not for readers.
      expect(main).not.toContain('terminal: main');
      expect(await page.locator('.VPSidebar').textContent()).toContain(sidebar);
    }
    // The page's scripts have run: without them nothing is searched.
    await page.goto(`${site.base}/docs/guide/quickstart`);
    await page.locator('.DocSearch-Button').click();
    await page.locator('.VPLocalSearchBox input').fill('webhooks');
    await page.locator('.VPLocalSearchBox .result').first().waitFor({ timeout: 60_000 });
    expect(await page.locator('.VPLocalSearchBox .results').textContent()).toContain('Events and webhooks');
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
  }
});

heldTest(
  'every page is served without a script of its own, and its links lead to pages with their sections',
  async () => {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    expect(names.length).toBeGreaterThan(100);
    const pages = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
    const dead: string[] = [];
    for (const [name, html] of pages) {
      if (/<script(?![^>]* src=)/.test(html)) dead.push(`${name}: a script within the page`);
      for (const [, path = '', anchor] of html.matchAll(/<a [^>]*href="\/docs\/guide\/([^"#]*)(?:#([^"]+))?"/g)) {
        const target = path === '' || path.endsWith('/') ? `${path}index.html` : path;
        const found = [target, `${target}.html`].find((one) => existsSync(join(folder, one)));
        const text = found === undefined ? '' : (pages.get(found) ?? '');
        const hasSection = anchor === undefined || text.includes(`id="${decodeURIComponent(anchor)}"`);
        if (found === undefined || !hasSection) dead.push(`${name}: ${path}#${anchor ?? ''}`);
      }
    }
    expect(dead).toEqual([]);
    expect((await site.get('/docs/guide/no-such-page')).status).toBe(404);
  },
);
