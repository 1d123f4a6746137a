// Promise: a holder of a receipt's address, and its merchant, get it as page, PDF, picture or text; no other caller gets anything.
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { decode } from 'fast-png';
import { extractText, getDocumentProxy } from 'unpdf';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { ReceiptUrls } from '../receipt-url.js';
import { ReceiptPress } from './receipt-press.js';
import { BASKET, documentOf, SIGN, storeReceipt, type StoredReceipt } from './testing/documents.js';
import { readQr } from './testing/read-qr.js';

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';
const LINK = `https://ofd.soliq.uz/check?t=UZ191211506521&r=4711&c=20260102080405&s=${SIGN}`;

let gateway: OperatorFixture;
let token: string;
let sequence = 10_000;

beforeAll(async () => {
  gateway = await OperatorFixture.start({ ADDRESS_LIMIT: null });
  token = await gateway.createToken(gateway.merchantId, ['receipts:read']);
});

afterAll(() => gateway?.stop());

function store(more: Partial<StoredReceipt> = {}): Promise<string> {
  sequence += 1;
  return storeReceipt(gateway.prisma, { merchantId: gateway.merchantId, receiptSeq: sequence, ...more });
}

function pathOf(id: string): string {
  return new URL(gateway.app.get(ReceiptUrls, { strict: false }).urlOf(id)).pathname;
}

interface Got {
  status: number;
  headers: Headers;
  bytes: Buffer;
  text: string;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Got> {
  const response = await fetch(gateway.base + path, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString('utf8') };
}

const mine = (id: string, query: string, bearer = token): Promise<Got> =>
  get(`/v1/receipts/${id}/document${query}`, { authorization: `Bearer ${bearer}` });

test('receipt_url opens the receipt for its holder, and for no search engine, cache or frame', async () => {
  const id = await store({ terminalId: 'UZ000000000777', receiptSeq: 7 });
  const { status, headers, text } = await get(pathOf(id), { accept: BROWSER, 'accept-language': 'ru' });
  expect([status, headers.get('content-type'), headers.get('content-language')]).toEqual([
    ...[200, 'text/html; charset=utf-8', 'ru'],
  ]);
  expect(text).toContain('<html lang="ru">');
  expect(text).toContain('Хлеб ржаной ўзбекча Қўқон');
  expect(text).toContain('UZ000000000777');
  expect(headers.get('x-robots-tag')).toContain('noindex');
  expect(headers.get('cache-control')).toBe('private, no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*frame-ancestors 'none'$/);
  expect(headers.get('refresh')).toBeNull();
  expect(text).not.toContain('998901112233');
});

test('lang, format and what others add to a link', async () => {
  const path = pathOf(await store());
  expect((await get(`${path}?lang=en&utm_source=sms`, { 'accept-language': 'ru' })).text).toContain('<html lang="en">');
  expect((await get(path)).text).toContain('<html lang="uz">');
  expect((await get(`${path}?format=text&lang=uz`)).headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const refused = await get(`${path}?lang=de`);
  expect([refused.status, refused.headers.get('content-type')]).toEqual([
    422,
    'application/problem+json; charset=utf-8',
  ]);
  const odd = await get(path, { accept: 'application/json' });
  expect([odd.status, JSON.parse(odd.text).code]).toEqual([406, 'not_acceptable']);
});

test('an address that opens nothing: a page for a browser, a problem for a program', async () => {
  const path = pathOf(await store());
  const paths = [pathOf(newId('rcp')), `${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`, '/r/x', '/r/%00'];
  for (const wrong of paths) {
    const page = await get(`${wrong}?lang=en`, { accept: BROWSER });
    expect([wrong, page.status, page.headers.get('content-type')]).toEqual([wrong, 404, 'text/html; charset=utf-8']);
    expect(page.text).toContain('There is no such receipt');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const problem = await get(wrong);
    expect([wrong, problem.status, JSON.parse(problem.text).code]).toEqual([wrong, 404, 'not_found']);
  }
});

test.each([
  ['awaiting_payment', 'Waiting for payment', '10'],
  ['accepted', 'Being registered', '5'],
  ['sending', 'Being registered', '5'],
  ['unknown', 'Being checked', '60'],
  ['rejected', 'Not registered', null],
  ['cancelled', 'Cancelled', null],
])('%s is shown as it is', async (status, title, refresh) => {
  const { text, headers } = await get(`${pathOf(await store({ status }))}?lang=en`);
  expect(text).toContain(`<b>${title}</b>`);
  expect(text).toContain('NOT A FISCAL RECEIPT');
  expect(text).not.toContain('<svg');
  expect(headers.get('refresh')).toBe(refresh);
});

test('a test module’s receipt is a test on the page, in the text and in the PDF', async () => {
  const id = await store({ terminalId: 'ZZ000000000777', receiptSeq: 7 });
  const { bytes } = await mine(id, '?format=pdf&lang=en');
  const pdf = await extractText(await getDocumentProxy(new Uint8Array(bytes)), { mergePages: true });
  const [page, text] = [await get(`${pathOf(id)}?lang=en`), await mine(id, '?format=text&lang=en')];
  for (const shownAs of [pdf.text, page.text, text.text]) {
    expect(shownAs).toContain('NOT FISCAL');
    expect(shownAs).toContain('Test receipt');
    expect(shownAs).not.toContain('Fiscal receipt');
  }
});

test('the merchant gets the same by format or Accept; another one gets a 404', async () => {
  const id = await store();
  const types: Record<string, string> = {
    ...{
      html: 'text/html; charset=utf-8',
      pdf: 'application/pdf',
      png: 'image/png',
      text: 'text/plain; charset=utf-8',
    },
  };
  for (const [format, type] of Object.entries(types)) {
    const byFormat = await mine(id, `?format=${format}`);
    expect([byFormat.status, byFormat.headers.get('content-type')]).toEqual([200, type]);
    expect(byFormat.headers.get('content-disposition')).toBe(
      `inline; filename="receipt-${sequence}.${format === 'text' ? 'txt' : format}"`,
    );
    const accept = type.split(';', 1)[0] ?? '';
    const byAccept = await get(`/v1/receipts/${id}/document`, { authorization: `Bearer ${token}`, accept });
    expect(byAccept.headers.get('content-type')).toBe(type);
  }
  const stranger = await gateway.createToken(await gateway.createMerchant(), ['receipts:read']);
  expect((await mine(id, '', stranger)).status).toBe(404);
  expect((await mine(newId('rcp'), '')).status).toBe(404);
  expect((await mine(id, '?format=docx')).status).toBe(422);
});

test('who sells: as the register said it, else as the merchant is set up', async () => {
  const { deviceId } = await gateway.createDevice();
  const business = {
    ...{ name: 'Kassa MChJ', tin: '305555555', phone: '+998712000000', legalAddress: 'L', actualAddress: 'A' },
    ...{ branchId: 'b', branchAddress: 'Samarqand, Registon 1' },
  };
  await gateway.prisma.device.update({ where: { id: deviceId }, data: { business } });
  const text = (await mine(await store({ deviceId }), '?format=text&lang=en')).text;
  for (const word of ['Kassa MChJ', 'TIN: 305555555', 'Samarqand, Registon 1', '+998712000000'])
    expect(text).toContain(word);
  expect((await mine(await store(), '?format=text&lang=en')).text).toContain('TIN: 300000000');
});

describe('the number of the shift', () => {
  const shiftIn = async (id: string): Promise<string | undefined> =>
    /^Shift No\. +(\d+)$/m.exec((await mine(id, '?format=text&lang=en')).text)?.[1];
  /** Of the instant 03:04:05 at which every receipt here was registered. */
  const at = (time: string): Date => new Date(`2026-01-02T${time}Z`);

  let deviceId = '';
  beforeAll(async () => {
    deviceId = (await gateway.createDevice()).deviceId;
  });

  async function storeShift(terminalId: string, openedAt: Date, closedAt: Date | null, isSeen = true): Promise<void> {
    const { merchantId, prisma } = gateway;
    const id = newId('sht');
    await prisma.shift.create({ data: { id, merchantId, deviceId, terminalId, number: 9, openedAt, closedAt } });
    if (isSeen && closedAt) await prisma.zReport.create({ data: { shiftId: id, totals: {}, ofdStatus: 'sent' } });
  }

  test('is the register’s own word', async () => {
    const id = await store({ terminalId: 'UZ000000000900' });
    await gateway.prisma.receipt.update({ where: { id }, data: { shiftNumber: 41 } });
    await storeShift('UZ000000000900', at('03:00:00'), at('03:30:00'));
    expect(await shiftIn(id)).toBe('41');
  });

  test.each<[string, string, string | null, boolean, string | undefined]>([
    ['closed after it', '03:00:00', '03:30:00', true, '9'],
    ['closed unseen', '03:00:00', '03:30:00', false, undefined],
    ['opened in its very second', '03:04:05', '03:30:00', true, undefined],
    ['closed before it', '02:00:00', '03:00:00', true, undefined],
    ['last seen open before it', '03:00:00', null, true, undefined],
  ])('else that of a shift that was seen: %s', async (...[name, opened, closed, isSeen, expected]) => {
    const terminalId = `UZ${String(name.length).padStart(12, '0')}`;
    const id = await store({ terminalId });
    await storeShift(terminalId, at(opened), closed === null ? null : at(closed), isSeen);
    expect(await shiftIn(id)).toBe(expected);
  });

  test.each<[string, string, string | undefined]>([
    ['after', '03:10:00', '12'],
    ['before', '03:04:00', undefined],
  ])('or of one that was still open %s it', async (_when, readAt, expected) => {
    const { deviceId, terminalId } = await gateway.createDevice();
    const shift = { number: 12, openedAt: at('03:00:00').toISOString(), closedAt: null, documents: 1 };
    const reading = { terminalId, shift };
    await gateway.prisma.device.update({ where: { id: deviceId }, data: { reading, readingAt: at(readAt) } });
    expect(await shiftIn(await store({ deviceId, terminalId }))).toBe(expected);
  });

  test('is not guessed for a receipt whose time is a guess', async () => {
    const id = await store({ terminalId: 'UZ000000000901', evidence: 'counters' });
    await storeShift('UZ000000000901', at('03:00:00'), at('03:30:00'));
    expect(await shiftIn(id)).toBeUndefined();
  });
});

test('who sold it, and a package where the unit has no name', async () => {
  const { merchantId, prisma } = gateway;
  const text = async (id: string): Promise<string> => (await mine(id, '?format=text&lang=en')).text;
  const spic = '00401001001000777';
  const document = documentOf([{ name: 'Sut', spic, packageCode: '1500999', units: 244_272_402, quantity: 2_000 }]);
  const id = await store({ document });
  expect(await text(id)).toMatch(/^2 × 1 120\.00/m);
  expect(await text(id)).not.toContain('Cashier');
  await prisma.cashier.create({ data: { id: 'csh_1', merchantId, code: 'anna', name: 'Anna Karimova' } });
  await prisma.classifierEntry.create({
    data: {
      ...{ spic, units: 778, name: {}, vatPercents: [12], marked: false, cashAllowed: true, active: true, version: 1 },
      packages: [
        { code: '1500998', name: 'коробка' },
        { code: '1500999', name: 'пачка 1 л' },
      ],
    },
  });
  expect(await text(id)).toMatch(/^2 пачка 1 л × 1 120\.00/m);
  expect(await text(id)).toMatch(/^Cashier +Anna Karimova$/m);
  expect((await get(`${pathOf(id)}?lang=uz`)).text).toContain('<dt>Kassir</dt><dd>Anna Karimova</dd>');
});

test('a sale and its refunds lead to each other', async () => {
  const sale = await store();
  const part = documentOf([{ name: 'Non', priceTiyin: 400_000 }], 'refund');
  const refund = await store({ type: 'refund', refundOf: sale, document: part });
  const dropped = await store({ type: 'refund', refundOf: sale, document: part, status: 'cancelled' });
  const saleText = (await mine(sale, '?format=text&lang=en')).text;
  const refundPage = (await mine(refund, '?lang=en')).text;
  expect(saleText.replaceAll('\n', '')).toContain(pathOf(refund));
  expect(saleText).toMatch(/^Refunded +4 000\.00$/m);
  expect(saleText).toMatch(/^As of +\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d$/m);
  expect(saleText.replaceAll('\n', '')).not.toContain(pathOf(dropped));
  expect(refundPage).toContain(`href="http://gateway.test${pathOf(sale)}"`);
  const { text } = await get(`${pathOf(sale)}?lang=en`);
  expect(text).toContain(`href="http://gateway.test${pathOf(refund)}"`);
});

describe('on paper', () => {
  let id: string;

  beforeAll(async () => {
    const merchantId = await gateway.createMerchant();
    token = await gateway.createToken(merchantId, ['receipts:read']);
    id = await storeReceipt(gateway.prisma, { merchantId });
  });

  test.each([32, 42, 48])('the PDF holds the text of %i columns, letter by letter, and the link', async (columns) => {
    const text = (await mine(id, `?format=text&lang=ru&columns=${columns}`)).text;
    const { bytes } = await mine(id, `?format=pdf&lang=ru&columns=${columns}`);
    const pdf = await getDocumentProxy(new Uint8Array(bytes));
    const { text: found } = await extractText(pdf, { mergePages: true });
    const letters = (value: string): string => value.replace(/^-+$/gm, '').replace(/\s+/g, '');
    expect(letters(found)).toBe(letters(text));
    const page = await pdf.getPage(1);
    const links = (await page.getAnnotations()) as { url?: string }[];
    expect(new Set(links.map(({ url }) => url))).toEqual(new Set([LINK]));
    const widthMm = (page.getViewport({ scale: 1 }).width / 72) * 25.4;
    expect(Math.round(widthMm)).toBe(columns === 32 ? 58 : 80);
  });

  test.each([
    [32, 384],
    [42, 576],
    [48, 576],
  ])('the picture of %i columns is %i dots wide, and its QR code is the link', async (columns, widthPx) => {
    const { bytes } = await mine(id, `?format=png&columns=${columns}`);
    expect(decode(bytes).width).toBe(widthPx);
    expect(readQr(bytes)).toBe(LINK);
  });

  test('a receipt of 500 lines is a PDF of several pages and no picture', async () => {
    const lines = Array.from({ length: 500 }, (_, at) => ({ name: `Mahsulot ${at}`, labels: ['x'.repeat(60)] }));
    const long = await storeReceipt(gateway.prisma, {
      ...{ merchantId: (await gateway.prisma.receipt.findUniqueOrThrow({ where: { id } })).merchantId },
      ...{ receiptSeq: 4712, document: documentOf(lines) },
    });
    // On a busy machine its thread of low priority takes too long: 503, which a client repeats.
    const pdf = await until(
      'it is drawn',
      () => mine(long, '?format=pdf'),
      ({ status }) => status !== 503,
    );
    expect(pdf.status).toBe(200);
    const { totalPages, text } = await extractText(await getDocumentProxy(new Uint8Array(pdf.bytes)));
    expect(totalPages).toBeGreaterThan(1);
    expect(text.join('')).toContain('Mahsulot 499');
    const picture = await mine(long, '?format=png');
    expect([picture.status, JSON.parse(picture.text).code]).toEqual([406, 'not_acceptable']);
  });

  test('what is drawn gives way to requests: its thread has the lower priority', async () => {
    expect((await mine(id, '?format=pdf')).status).toBe(200);
    const threads = readdirSync('/proc/self/task').map((thread) =>
      readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'),
    );
    // What follows the name in brackets: state is the first, nice the seventeenth.
    const priorities = threads.map((stat) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]));
    expect(priorities).toContain(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
  });

  test('more orders than may wait are put off, and the thread comes back after it died', async () => {
    const many = await Promise.all(Array.from({ length: 12 }, () => mine(id, '?format=png')));
    const statuses = many.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(many.find(({ status }) => status === 503)?.headers.get('retry-after')).toBe('5');
    await gateway.app.get(ReceiptPress, { strict: false }).onApplicationShutdown();
    expect((await mine(id, '?format=pdf')).status).toBe(200);
  });

  test('200 for every document of a merchant while the pictures of another one are requested without pause', async () => {
    const merchantId = await gateway.createMerchant();
    const other = await gateway.createToken(merchantId, ['receipts:read']);
    const othersReceipt = await store({ merchantId });
    let isOver = false;
    const refusals = new Set<number>();
    const flood = Array.from({ length: 20 }, async () => {
      while (!isOver) refusals.add((await mine(id, '?format=png')).status);
    });
    const statuses: number[] = [];
    for (let asked = 0; asked < 20; asked += 1) {
      statuses.push((await mine(othersReceipt, '?format=pdf', other)).status);
    }
    isOver = true;
    await Promise.all(flood);
    expect(statuses).toEqual(Array<number>(20).fill(200));
    expect(refusals).toEqual(new Set([200, 503]));
  });

  test('the sums of the basket, as the buyer reads them', async () => {
    const text = (await mine(id, '?format=text&lang=uz')).text;
    const sum = (tiyin: number): string => (tiyin / 100).toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ' ');
    expect(text).toContain(`${sum(BASKET.totalTiyin)} so‘m`);
    expect(text).toContain(sum(BASKET.payment.cashTiyin));
  });
});
