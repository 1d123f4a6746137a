// Breaks if a person cannot take a register into service and run it from its screen, on a phone or at a desk.
import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describeInBrowser, screenshotPath } from './browser.js';
import { startBrowser } from './start-browser.js';
import { BASKET, startScreenRig, type ScreenRig } from './screen-rig.js';

const PIN = '290417';
const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 900 } } as const;
const PATIENCE_MS = 90_000;

interface Words {
  readonly activate: string;
  readonly openShift: string;
  readonly closeShift: string;
  readonly localServer: string;
  readonly renew: string;
  readonly copy: string;
  readonly show: string;
  readonly allSent: string;
}

const WORDS: Readonly<Record<string, Words>> = {
  ru: {
    ...{ activate: 'Активировать', openShift: 'Открыть смену', closeShift: 'Закрыть смену', copy: 'Копировать' },
    ...{ localServer: 'Локальный сервер', renew: 'Обновить токен', show: 'Показать', allSent: 'Всё отправлено.' },
  },
  uz: {
    ...{ activate: 'Faollashtirish', openShift: 'Smenani ochish', closeShift: 'Smenani yopish', copy: 'Nusxalash' },
    ...{ localServer: 'Lokal server', renew: 'Tokenni yangilash', show: 'Ko‘rsatish', allSent: 'Hammasi yuborilgan.' },
  },
  en: {
    ...{ activate: 'Activate', openShift: 'Open the shift', closeShift: 'Close the shift', copy: 'Copy' },
    ...{ localServer: 'Local server', renew: 'Renew the token', show: 'Show', allSent: 'Everything is sent.' },
  },
};

describeInBrowser('the screen in a browser', () => {
  let browser: Browser;
  let rig: ScreenRig;
  let context: BrowserContext;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    await context.close();
    await rig.stop();
  });

  async function open(size: keyof typeof SIZES, language: string): Promise<Page> {
    context = await browser.newContext({ viewport: SIZES[size], locale: language, acceptDownloads: true });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: rig.url });
    context.setDefaultTimeout(PATIENCE_MS);
    return context.newPage();
  }

  test.each(
    (['phone', 'desktop'] as const).flatMap((size) => Object.keys(WORDS).map((language) => [size, language] as const)),
  )(
    'on a %s in %s: activate, open the shift, sell, see the receipt, close, renew the token',
    async (size, language) => {
      rig = await startScreenRig();
      const words = WORDS[language]!;
      const page = await open(size, language);
      const complaints = complaintsOf(page);
      const shoot = async (step: string): Promise<void> => {
        expect([step, await overflowPx(page)]).toEqual([step, 0]);
        await page.screenshot({ path: screenshotPath(`${size}-${language}-${step}`), fullPage: true });
      };

      await page.goto(rig.url);
      expect(await page.textContent('main')).toContain('E-001');
      await shoot('1-activate');
      await page.fill('[name=pin]', PIN);
      await page.fill('[name=again]', PIN);
      await page.getByRole('button', { name: words.activate }).click();
      await page.getByRole('button', { name: words.openShift }).waitFor();
      await shoot('2-no-shift');

      await page.getByRole('button', { name: words.openShift }).click();
      await page.locator('#shift .tag.good').waitFor();
      const key = await tokenOn(page, words);
      await shoot('3-local-server');
      await page.goto(rig.url);
      // Sold by a program while the page is open: it appears by itself.
      const sold = await rig.call(key, '/receipts', BASKET);
      expect(sold.body).toMatchObject({ success: true, ofdSent: true });
      await page.getByText(String(sold.body.receipt.fiscalSign)).waitFor();
      expect(await page.locator('details[data-seq="1"] svg.qr path').getAttribute('d')).toMatch(/^M/);
      expect(await page.textContent('#shift')).toContain(language === 'en' ? '18\u00a0250.00' : '18\u00a0250,00');
      expect(await page.textContent('.unsent')).toContain(words.allSent);
      await shoot('4-receipt');

      await page.locator('.asked summary', { hasText: words.closeShift }).click();
      await shoot('5-close-asked');
      await page.locator('.asked button').click();
      await page.getByRole('button', { name: words.openShift }).waitFor();
      expect((await rig.call(key, '/z-report/stats')).body).toMatchObject({ totalClosed: 1, totalUnacked: 0 });
      await shoot('6-shift-closed');

      await page.getByRole('link', { name: words.localServer }).click();
      await page.locator('.asked summary', { hasText: words.renew }).click();
      await page.check('[name=confirm]');
      await page.locator('.asked button').click();
      await page.locator('.notice.good').waitFor();
      const renewed = await tokenOn(page, words);
      await shoot('7-token-renewed');
      expect(renewed).not.toBe(key);
      expect((await rig.call(key, '/fm/info')).status).toBe(401);
      expect((await rig.call(renewed, '/fm/info')).body.currentReceiptSeq).toBe(1);
      await page.goto(`${rig.url}/screen/profile`);
      await shoot('8-profile');
      expect(complaints).toEqual([]);
    },
  );

  test('the printed receipt, the export, the paper and the login after logging out', async () => {
    rig = await startScreenRig({ EMULATOR: '1' });
    const words = WORDS['ru']!;
    const page = await open('phone', 'ru');
    const complaints = complaintsOf(page);
    await page.goto(rig.url);
    await page.screenshot({ path: screenshotPath('phone-ru-emulator'), fullPage: true });
    await page.fill('[name=pin]', PIN);
    await page.fill('[name=again]', PIN);
    await page.getByRole('button', { name: words.activate }).click();
    await page.getByRole('button', { name: words.openShift }).click();
    await page.locator('#shift .tag.good').waitFor();
    const key = await tokenOn(page, words);
    await rig.call(key, '/emulator/faults', { rules: [{ fault: 'ofd_down', next: 2 }] });
    for (let count = 0; count < 3; count += 1) await rig.call(key, '/receipts', BASKET);
    await page.goto(rig.url);
    expect(await page.textContent('.banner')).toContain('ЭМУЛЯТОР');
    await page.screenshot({ path: screenshotPath('phone-ru-unsent'), fullPage: true });

    const [printed] = await Promise.all([
      context.waitForEvent('page'),
      page.locator('details[data-seq="3"] a').first().click(),
    ]);
    await printed.waitForLoadState();
    expect(await printed.locator('.receipt .qr').count()).toBe(1);
    // Its one style is let through.
    expect(await printed.evaluate(`getComputedStyle(document.querySelector('.receipt')).fontSize`)).toBe('12px');
    await printed.screenshot({ path: screenshotPath('phone-ru-printed-receipt'), fullPage: true });
    await printed.close();

    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('nav').isVisible()).toBe(false);
    expect(await page.locator('form').first().isVisible()).toBe(false);
    await page.screenshot({ path: screenshotPath('paper-ru'), fullPage: true });
    await page.emulateMedia({ media: 'screen' });

    await page.goto(`${rig.url}/screen/profile`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('a[download]').click()]);
    expect((await readFile(await download.path(), 'utf8')).trimEnd().split('\n')).toHaveLength(3);

    await page.locator('form[action="/screen/logout"] button').click();
    await page.locator('form[action="/screen/login"]').waitFor();
    await page.screenshot({ path: screenshotPath('phone-ru-login'), fullPage: true });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await page.fill('[name=pin]', '000001');
      await Promise.all([page.waitForNavigation(), page.locator('form button').click()]);
    }
    expect(await page.locator('[data-reload-after]').count()).toBe(1);
    await page.screenshot({ path: screenshotPath('phone-ru-locked'), fullPage: true });
    expect(complaints.filter((line) => !/40[13]|429/.test(line))).toEqual([]);
  });

  test('without scripts everything but copying and refreshing works', async () => {
    rig = await startScreenRig();
    context = await browser.newContext({ viewport: SIZES.phone, locale: 'en', javaScriptEnabled: false });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(rig.url);
    await page.fill('[name=pin]', PIN);
    await page.fill('[name=again]', PIN);
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByRole('button', { name: 'Open the shift' }).click();
    await page.locator('#shift .tag.good').waitFor();
    await page.goto(`${rig.url}/screen/local-server`);
    expect(await page.locator('[data-copy]').isVisible()).toBe(false);
    await page.locator('#shown summary').click();
    expect(await page.locator('#token').isVisible()).toBe(true);
  });
});

/** What the browser objects to: scripts that fail, what the content security policy stops. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return complaints;
}

/** How much wider the page is than the window. */
function overflowPx(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** The access token as shown on its page; copying gives the same. */
async function tokenOn(page: Page, words: Words): Promise<string> {
  await page.getByRole('link', { name: words.localServer }).first().click();
  await page.locator('summary', { hasText: words.show }).click();
  const token = (await page.locator('#token').innerText()).trim();
  await page.getByRole('button', { name: words.copy }).click();
  await page.waitForFunction(`document.querySelector('[data-copy]').textContent !== ${JSON.stringify(words.copy)}`);
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token);
  return token;
}
