// Promise: a buyer reads the receipt on a phone and at a desk, in the buyer's language, and prints it on the paper of a till.
import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import { ReceiptUrls } from '../../apps/gateway/src/receipts/receipt-url.js';
import { documentOf, SIGN, storeReceipt } from '../../apps/gateway/src/receipts/documents/testing/documents.js';
import { readQr } from '../../apps/gateway/src/receipts/documents/testing/read-qr.js';
import { describeInBrowser, screenshotPath } from './browser.js';
import { startBrowser } from './start-browser.js';

const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
const WHITE = 'rgb(255, 255, 255)';
const BUSINESS = {
  ...{
    name: '“Savdo Markazi” MChJ',
    tin: '305555555',
    phone: '+998 71 200 00 00',
    legalAddress: '',
    actualAddress: '',
  },
  ...{ branchId: 'b', branchAddress: 'Toshkent sh., Chilonzor tumani, Bunyodkor shoh ko‘chasi, 1-uy' },
};

describeInBrowser('the receipt in a browser', () => {
  let browser: Browser;
  let gateway: OperatorFixture;
  let context: BrowserContext;
  let sale: string;
  let refund: string;
  let waiting: string;

  beforeAll(async () => {
    browser = await startBrowser();
    gateway = await OperatorFixture.start({ ADDRESS_LIMIT: null });
    const { prisma, merchantId } = gateway;
    const { deviceId } = await gateway.createDevice();
    await prisma.device.update({ where: { id: deviceId }, data: { business: BUSINESS } });
    const own = { merchantId, deviceId };
    sale = await storeReceipt(prisma, own);
    const part = documentOf([{ name: 'Non «Toshkent»', priceTiyin: 400_000 }], 'refund');
    refund = await storeReceipt(prisma, {
      ...{ ...own, type: 'refund', refundOf: sale, document: part, receiptSeq: 4712, ofdStatus: 'pending' },
    });
    waiting = await storeReceipt(prisma, { ...own, status: 'accepted' });
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  afterEach(() => context.close());

  async function open(id: string, size: keyof typeof SIZES, locale: string): Promise<{ page: Page; asked: string[] }> {
    context = await browser.newContext({ viewport: SIZES[size], locale, deviceScaleFactor: 2 });
    const page = await context.newPage();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => asked.push(`console: ${message.text()}`));
    const { pathname } = new URL(gateway.app.get(ReceiptUrls, { strict: false }).urlOf(id));
    await page.goto(gateway.base + pathname);
    return { page, asked: asked.filter((url) => !url.startsWith('data:') && url !== gateway.base + pathname) };
  }

  test.each(
    (['phone', 'desktop'] as const).flatMap((size) => (['ru', 'uz', 'en'] as const).map((one) => [size, one] as const)),
  )('on a %s in %s: nothing sticks out, nothing else is asked for, the QR code can be read', async (size, locale) => {
    const { page, asked } = await open(sale, size, locale);
    expect(await page.getAttribute('html', 'lang')).toBe(locale);
    expect(await overflowPx(page)).toBe(0);
    expect(asked).toEqual([]);
    // The style is there: the policy lets its own text in, and nothing else.
    expect(await page.evaluate('getComputedStyle(document.querySelector(".paper")).backgroundColor')).toBe(WHITE);
    await page.screenshot({ path: screenshotPath(`receipt-${size}-${locale}`), fullPage: true });
    expect(readQr(await page.locator('.qr').screenshot())).toContain(`s=${SIGN}`);
  });

  test.each([
    ['refund', () => refund],
    ['waiting', () => waiting],
  ])('a %s', async (name, idOf) => {
    const { page } = await open(idOf(), 'phone', 'ru');
    await page.screenshot({ path: screenshotPath(`receipt-${name}`), fullPage: true });
    expect(await page.locator('.status').count()).toBe(1);
  });

  test.each([58, 80])('on paper of %i mm it needs no more than its width', async (widthMm) => {
    const { page } = await open(sale, 'phone', 'uz');
    const pdf = await page.pdf({ width: `${widthMm}mm`, height: '400mm' });
    await writeFile(screenshotPath(`receipt-printed-${widthMm}`).replace('.png', '.pdf'), pdf);
    const picture = await fetch(`${page.url()}?format=png&lang=uz&columns=${widthMm === 58 ? 32 : 48}`);
    await writeFile(screenshotPath(`receipt-picture-${widthMm}`), Buffer.from(await picture.arrayBuffer()));
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: Math.floor(((widthMm - 8) / 25.4) * 96), height: 900 });
    expect(await overflowPx(page)).toBe(0);
    expect(await page.locator('.take:visible').count()).toBe(0);
    await page.screenshot({ path: screenshotPath(`receipt-print-${widthMm}`), fullPage: true });
  });

  test('an address that opens nothing', async () => {
    context = await browser.newContext({ viewport: SIZES.phone, locale: 'uz' });
    const page = await context.newPage();
    const answer = await page.goto(`${gateway.base}/r/nothing`);
    expect(answer?.status()).toBe(404);
    await page.screenshot({ path: screenshotPath('receipt-missing') });
    expect(await page.locator('h1').innerText()).toBe('Bunday chek yo‘q');
  });
});

function overflowPx(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
