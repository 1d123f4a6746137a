// Promise: `npm run docs` makes a site of all pages without a dead link; it is searched and read without a network.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { buildSite, SITE_TOOLS } from '../../scripts/lib/docs-site.mjs';
import { startBrowser } from '../screen/browser.js';

/** Its packages are installed when the site is built for the first time; only CI demands that. */
const isPossible =
  process.env['CI'] === 'true' || (existsSync(join(SITE_TOOLS, 'node_modules')) && existsSync('/usr/bin/chromium'));
const heldTest = isPossible ? test : test.skip;
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

let folder: string;
let server: Server;
let base: string;

beforeAll(async () => {
  if (!isPossible) return;
  folder = mkdtempSync(join(tmpdir(), 'fiscal-site-'));
  await buildSite(folder);
  const port = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', base);
    const file = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    const found = [file, `${file}.html`].find((one) => existsSync(one) && extname(one) !== '');
    if (found === undefined) return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(found)] ?? 'application/octet-stream');
    response.end(readFileSync(found));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}, 300_000);
afterAll(() => {
  if (!isPossible) return;
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

heldTest('pages are read and searched, and nothing foreign is asked for', async () => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.goto(`${base}/docs/quickstart.html`);
    await page.waitForSelector('h1');
    const text = await page.locator('main').textContent();
    expect(text).toContain('fgw login --from .data/demo.json');
    // Marks for the tests are not for readers.
    expect(text).not.toContain('terminal: main');
    expect(await page.locator('.VPSidebar').textContent()).toContain('You run a register');
    await page.locator('.DocSearch-Button').click();
    await page.locator('.VPLocalSearchBox input').fill('webhooks');
    await page.locator('.VPLocalSearchBox .result').first().waitFor({ timeout: 60_000 });
    expect(await page.locator('.VPLocalSearchBox .results').textContent()).toContain('Events and webhooks');
    await page.goto(`${base}/`);
    expect(await page.locator('body').textContent()).toContain('Quickstart');
    expect(foreign).toEqual([]);
  } finally {
    await browser.close();
  }
});
