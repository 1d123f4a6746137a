// Promise: a buyer has the receipt sent within bounds, stops it with one click, and gets others' receipts neither by link nor by bot.
import { decode, encode } from 'fast-png';
import type { Browser } from 'playwright-core';
import { extractText, getDocumentProxy } from 'unpdf';
import type { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import type { SimulatedProvider } from '../../libs/messages/src/testing/simulated-provider.js';
import { ACCOUNT } from '../../libs/messages/src/testing/simulated-provider.js';
import { describeInBrowser, screenshotPath } from '../screen/browser.js';
import { startBrowser } from '../screen/start-browser.js';
import { MessagesRig } from './messages-rig.js';
import { until, untilTrue } from '../../libs/runtime/src/testing/until.js';

let rig: MessagesRig;
let mail: MailServer;
let telegram: SimulatedProvider;
let botAddress: string;
let number = 0;

beforeAll(async () => {
  rig = await MessagesRig.start();
  mail = await rig.mailServer();
  telegram = await rig.provider('telegram');
  await rig.mailAccount(mail);
  const { bot, token, webhookSecret } = ACCOUNT;
  const settings = { api_url: telegram.url, bot, token, webhook_secret: webhookSecret };
  const id = await rig.created('/v1/message-accounts', { provider: 'telegram', settings, per_minute: 60_000 });
  const { body } = await rig.ask('GET', `/v1/message-accounts/${id}`);
  botAddress = new URL(String(body['callback_url'])).pathname;
});
afterAll(() => rig?.stop());

const pageOf = async (id: string): Promise<string> => {
  const { body } = await rig.sales.ask('GET', `/v1/receipts/${id}`);
  return `${rig.sales.gateway.base}${new URL(body.receipt_url).pathname}`;
};

function post(url: string, fields: Record<string, string> = {}): Promise<Response> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'accept-language': 'en' };
  return fetch(url, { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
}

/** The answer, once it is not that the database has no time: on a busy machine a dozen at one lock may wait too long. */
async function decided(url: string, fields: Record<string, string>): Promise<number> {
  const answer = await until(
    'the database has time',
    () => post(url, fields),
    ({ status }) => status !== 503,
  );
  return answer.status;
}

test('header, footer and logo of the merchant stand on page, PDF, picture, text and in the letter', async () => {
  const red = [220, 20, 60] as const;
  const dots = { width: 40, height: 20, data: Uint8Array.from({ length: 40 * 20 * 3 }, (_, at) => red[at % 3] ?? 0) };
  const logo = Buffer.from(encode({ ...dots, channels: 3, depth: 8 })).toString('base64');
  const devices = await rig.sales.gateway.createToken(rig.sales.gateway.merchantId, ['devices:admin', 'receipts:read']);
  const brand = { header: 'Bizda har doim issiq non', footer: 'Qaytarish 10 kun <b>ichida</b>' };
  const bare = await rig.sold({});
  const documentOf = async (id: string, format: string): Promise<Buffer> => {
    const url = `${rig.sales.gateway.base}/v1/receipts/${id}/document?format=${format}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${devices}` } });
    expect([format, response.status]).toEqual([format, 200]);
    return Buffer.from(await response.arrayBuffer());
  };
  const pictures = (pdf: Buffer): number => pdf.toString('latin1').split('/Subtype /Image').length;
  const reds = (png: Buffer): number => {
    const { data, channels } = decode(png);
    let found = 0;
    for (let at = 0; at < data.length; at += channels)
      if (channels >= 3 && red.every((value, part) => Math.abs((data[at + part] ?? 0) - value) < 40)) found += 1;
    return found;
  };
  const before = { pictures: pictures(await documentOf(bare, 'pdf')), reds: reds(await documentOf(bare, 'png')) };
  expect((await rig.ask('PUT', '/v1/merchant/brand', { ...brand, logo }, devices)).status).toBe(200);
  const address = 'brand@example.uz';
  const id = await rig.sold({ customer: { email: address }, notify: { channels: ['email'], language: 'uz' } });
  await rig.until(id, ['sent']);

  const html = await (await fetch(await pageOf(id))).text();
  expect(html).toContain(brand.header);
  expect(html).toContain('Qaytarish 10 kun &lt;b&gt;ichida&lt;/b&gt;');
  expect(html).toMatch(/<img class="logo" src="data:image\/png;base64,/);
  const pdf = await documentOf(id, 'pdf');
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)));
  const words = text.join(' ').replaceAll(/\s+/g, ' ');
  for (const line of Object.values(brand)) expect(words).toContain(line);
  expect(pictures(pdf)).toBeGreaterThan(before.pictures);
  expect(reds(await documentOf(id, 'png'))).toBeGreaterThanOrEqual(before.reds + 40 * 20);
  for (const format of ['text', 'escpos']) {
    const paper = (await documentOf(id, format)).toString('latin1').replaceAll(/\s+/g, ' ');
    for (const line of Object.values(brand)) expect([format, paper]).toEqual([format, expect.stringContaining(line)]);
  }
  const letter = mail.letters.find(({ to }) => to.includes(address))?.raw ?? '';
  const decoded = letter.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=');
  for (const line of [brand.header, '<b>ichida</b>', '&lt;b&gt;ichida&lt;/b&gt;', 'src="cid:logo"'])
    expect(decoded).toContain(line);
  expect(letter).toMatch(/^Content-Id: <logo>/im);
  expect((await rig.ask('PUT', '/v1/merchant/brand', { header: '', footer: '', logo: null }, devices)).status).toBe(
    200,
  );
});

describe('the page', () => {
  test('sends to the address that its reader enters: three letters a receipt, five a day to one address', async () => {
    const id = await rig.sold({});
    const page = await pageOf(id);
    const html = await (await fetch(`${page}?lang=en`)).text();
    expect(html).toContain('Send to me');
    const address = `reader${String((number += 1))}@example.uz`;
    const first = await post(`${page}/messages`, { channel: 'email', to: address });
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('r***@example.uz')]);
    await untilTrue(() => mail.letters.some(({ to }) => to.includes(address)));
    for (const to of ['a@b', '', 'x y@z.uz', 'a@b.uz\r\nBcc: c@d.uz'])
      expect((await post(`${page}/messages`, { channel: 'email', to })).status).toBe(422);
    for (const expected of [200, 200, 429]) {
      await untilTrue(async () => (await rig.messagesOf(id)).every(({ state }) => state === 'sent'));
      expect((await post(`${page}/messages`, { channel: 'email', to: address })).status).toBe(expected);
    }
    const statuses: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      const other = await rig.sold({});
      statuses.push((await post(`${await pageOf(other)}/messages`, { channel: 'email', to: address })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect((await post(`${page}/messages`, { channel: 'sms', to: '+998901234567' })).status).toBe(422);
    expect((await post(`${page.slice(0, -2)}xx/messages`, { channel: 'email', to: address })).status).toBe(404);
  });

  test('keeps its bounds where many ask at the same moment', async () => {
    const page = await pageOf(await rig.sold({}));
    const readers = Array.from({ length: 12 }, () => `reader${String((number += 1))}@example.uz`);
    const ofOne = await Promise.all(readers.map((to) => decided(`${page}/messages`, { channel: 'email', to })));
    expect(ofOne.sort()).toEqual([...Array<number>(3).fill(200), ...Array<number>(9).fill(429)]);
    const pages: string[] = [];
    for (let index = 0; index < 12; index += 1) pages.push(await pageOf(await rig.sold({})));
    const to = `reader${String((number += 1))}@example.uz`;
    const toOne = await Promise.all(pages.map((each) => decided(`${each}/messages`, { channel: 'email', to })));
    expect(toOne.sort()).toEqual([...Array<number>(5).fill(200), ...Array<number>(7).fill(429)]);
  });

  test('of a receipt that is not registered has no forms, and sends nothing', async () => {
    const page = await pageOf(await rig.accepted({}));
    expect(await (await fetch(page)).text()).not.toContain('<form');
    expect((await post(`${page}/messages`, { channel: 'email', to: 'a@b.uz' })).status).toBe(409);
  });

  test('stops messages to the addresses of its receipt', async () => {
    const address = `stop${String((number += 1))}@example.uz`;
    const notify = { customer: { email: address }, notify: { channels: ['email'] } };
    const id = await rig.sold(notify);
    await rig.until(id, ['sent']);
    const stopped = await post(`${await pageOf(id)}/stop?lang=en`);
    expect(await stopped.text()).toContain('s***@example.uz');
    const next = await rig.sold(notify);
    expect(await rig.until(next, ['failed'])).toMatchObject([{ reason: 'address_suppressed' }]);
  });
});

describe('the bot', () => {
  const say = (chat: number, message: object, secret: string = ACCOUNT.webhookSecret): Promise<Response> =>
    fetch(`${rig.sales.gateway.base}${botAddress}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
      body: JSON.stringify({
        update_id: (number += 1),
        message: {
          ...{ message_id: 1, date: 1, chat: { id: chat, type: 'private' } },
          ...{ from: { id: chat, is_bot: false, first_name: 'A', language_code: 'en' }, ...message },
        },
      }),
    });
  const contact = (user: number, phone: string): object => ({
    contact: { phone_number: phone, first_name: 'A', user_id: user },
  });
  const sentTo = (chat: number): string[] =>
    telegram.taken.filter(({ to }) => to === String(chat)).map(({ text }) => text);

  test('an update without the secret, or with another one, does nothing', async () => {
    for (const secret of ['', 'x'.repeat(32)]) expect((await say(11, { text: '/start' }, secret)).status).toBe(404);
    expect(sentTo(11)).toEqual([]);
  });

  test('the link of a receipt brings that receipt; a later one of the phone comes only after proof of the number', async () => {
    const phone = '+998935550001';
    const sale = { customer: { phone }, notify: { channels: ['telegram'], language: 'en' } };
    const before = await rig.sold(sale);
    const page = await pageOf(before);
    const html = await (await fetch(page)).text();
    const start = new RegExp(`https://t\\.me/${ACCOUNT.bot}\\?start=([A-Za-z0-9_-]+)`).exec(html)?.[1] ?? '';
    expect(start.length).toBe(43);
    expect((await say(21, { text: `/start ${start}` })).status).toBe(200);
    await untilTrue(() => sentTo(21).some((text) => text.includes(new URL(page).pathname)));
    expect(sentTo(21).some((text) => text.includes('confirm your phone number'))).toBe(true);
    // A chat that has proven nothing gets nothing of the phone.
    const unproven = await rig.sold(sale);
    await say(21, contact(22, phone));
    await say(21, { contact: { phone_number: phone, first_name: 'A' } });
    await say(21, { text: phone });
    const still = await rig.sold(sale);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const id of [unproven, still]) expect(await rig.messagesOf(id)).toEqual([]);
    await say(21, contact(21, phone.slice(1)));
    const proven = await rig.sold(sale);
    await rig.until(proven, ['sent']);
    // The number changes hands: the newest proof has it, the other chat gets nothing more.
    await say(23, { text: '/start' });
    await say(23, contact(23, phone));
    const moved = await rig.sold(sale);
    await rig.until(moved, ['sent']);
    const movedPath = new URL(await pageOf(moved)).pathname;
    expect([
      sentTo(23).some((text) => text.includes(movedPath)),
      sentTo(21).some((text) => text.includes(movedPath)),
    ]).toEqual([true, false]);
    expect(telegram.violations).toEqual([]);
  });

  test('/stop ends it, /start begins again; a link that is opened again and again sends five times at most', async () => {
    const phone = '+998935550002';
    const sale = { customer: { phone }, notify: { channels: ['telegram'] } };
    await say(31, { text: '/start' });
    await say(31, contact(31, phone));
    const { id: accountId } = (await rig.prisma.messageAccount.findFirst({ where: { channel: 'telegram' } }))!;
    const chats = await rig.prisma.botChat.count({ where: { accountId } });
    await say(31, { text: '/stop' });
    expect(await rig.prisma.botChat.count({ where: { accountId } })).toBe(chats - 1);
    const stopped = await rig.sold(sale);
    const after = await rig.sold({ customer: { email: 'after@example.uz' }, notify: { channels: ['email'] } });
    await rig.until(after, ['sent']);
    expect(await rig.messagesOf(stopped)).toEqual([]);
    const page = await pageOf(stopped);
    const start = (page.split('/').pop() ?? '').replace('.', '_');
    for (let time = 0; time < 7; time += 1) {
      await say(31, { text: `/start ${start}` });
      await untilTrue(async () => (await rig.messagesOf(stopped)).every(({ state }) => state === 'sent'));
    }
    expect((await rig.messagesOf(stopped)).length).toBe(5);
  });

  test('nothing is kept of a chat without a phone, nor of one whose phone another chat has proven since', async () => {
    const { id: accountId } = (await rig.prisma.messageAccount.findFirst({ where: { channel: 'telegram' } }))!;
    const before = await rig.prisma.botChat.count({ where: { accountId } });
    await say(35, { text: '/start' });
    await say(35, contact(36, '+998935550035'));
    expect(await rig.prisma.botChat.count({ where: { accountId } })).toBe(before);
    for (const chat of [35, 36, 36]) await say(chat, contact(chat, '+998935550035'));
    expect(await rig.prisma.botChat.count({ where: { accountId } })).toBe(before + 1);
  });

  test('a bot keeps a bounded number of chats, and says when it has them', async () => {
    const { id: accountId } = (await rig.prisma.messageAccount.findFirst({ where: { channel: 'telegram' } }))!;
    await say(37, contact(37, '+998935550037'));
    await rig.prisma.$executeRaw`
      INSERT INTO bot_chats (id, merchant_id, account_id, chat_hash, chat_sealed, language)
      SELECT 'cht_full_' || n, merchant_id, id, int4send(n), '', 'uz' FROM message_accounts, generate_series(1, 200000) AS n WHERE id = ${accountId}`;
    const before = await rig.prisma.botChat.count({ where: { accountId } });
    await say(38, contact(38, '+998935550038'));
    expect(sentTo(38)).toEqual([expect.stringContaining('no further number')]);
    // A chat that is kept already may change its number.
    await say(37, contact(37, '+998935550039'));
    expect(sentTo(37).at(-1)).toContain('is confirmed');
    expect(await rig.prisma.botChat.count({ where: { accountId } })).toBe(before);
    await rig.prisma.$executeRaw`DELETE FROM bot_chats WHERE id LIKE 'cht_full_%'`;
  });

  test('a receipt of another merchant is not sent, whatever its link', async () => {
    const other = await rig.sales.gateway.createMerchant();
    const device = await rig.sales.gateway.createDevice({ merchantId: other });
    const fiscal = { receiptSeq: 77, sign: '012345678901' };
    const id = await rig.sales.gateway.createReceipt(other, device, { status: 'registered', fiscal });
    const { ReceiptUrls } = await import('../../apps/gateway/src/receipts/receipt-url.js');
    const url = rig.sales.gateway.app.get(ReceiptUrls, { strict: false }).urlOf(id);
    await say(41, { text: `/start ${(url.split('/').pop() ?? '').replace('.', '_')}` });
    expect(sentTo(41)).toEqual([expect.stringContaining('not registered yet')]);
    expect(await rig.prisma.message.count({ where: { receiptId: id } })).toBe(0);
  });

  test('a chat that was not used for as long as messages are kept is erased; a receipt that comes there is use', async () => {
    const { ClearMessages } = await import('../../apps/gateway/src/notify/messages/clear-messages.js');
    const clearing = rig.sales.gateway.app.get(ClearMessages, { strict: false });
    const age = (chat: number, days: number): Promise<number> =>
      rig.prisma.$executeRaw`
        UPDATE bot_chats SET used_at = now() - make_interval(days => ${days}::int4) WHERE id = ${idOf.get(chat)}`;
    const kept = async (): Promise<number[]> => {
      const rows = await rig.prisma.botChat.findMany({ where: { id: { in: [...idOf.values()] } } });
      return [...idOf].flatMap(([chat, id]) => (rows.some((row) => row.id === id) ? [chat] : [])).sort();
    };
    const idOf = new Map<number, string>();
    const phoneOf = (chat: number): string => `+9989355501${chat}`;
    for (const chat of [61, 62, 63, 64]) {
      await say(chat, contact(chat, phoneOf(chat)));
      const { id } = await rig.prisma.botChat.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
      idOf.set(chat, id);
      await age(chat, 179);
    }
    await clearing.execute();
    expect(await kept()).toEqual([61, 62, 63, 64]);
    // One gets the receipt of a sale, one talks to the bot, one proves its number once more.
    const sold = await rig.sold({ customer: { phone: phoneOf(61) }, notify: { channels: ['telegram'] } });
    await rig.until(sold, ['sent']);
    await say(62, { text: '/start' });
    await say(63, contact(63, phoneOf(63)));
    await rig.prisma.$executeRaw`
      UPDATE bot_chats SET used_at = used_at - interval '2 days' WHERE id = ANY(${[...idOf.values()]}::text[])`;
    await clearing.execute();
    expect(await kept()).toEqual([61, 62, 63]);
  });

  test('chats are erased as long after their account as addresses are', async () => {
    const { ClearMessages } = await import('../../apps/gateway/src/notify/messages/clear-messages.js');
    const chatOfAccountDeleted = async (daysAgo: number): Promise<string> => {
      const [accountId, chatId] = [`mac_deleted_${daysAgo}`, `cht_deleted_${daysAgo}`];
      const merchantId = await rig.sales.gateway.createMerchant();
      const deletedAt = new Date(Date.now() - daysAgo * 86_400_000);
      const account = { channel: 'telegram', provider: 'telegram', name: 'Bot', settings: {} } as const;
      const sealed = { credentialsSealed: new Uint8Array(8) };
      await rig.prisma.messageAccount.create({ data: { id: accountId, merchantId, deletedAt, ...account, ...sealed } });
      const chat = { chatHash: new Uint8Array(32), chatSealed: new Uint8Array(8), language: 'uz' };
      await rig.prisma.botChat.create({ data: { id: chatId, merchantId, accountId, ...chat } });
      return chatId;
    };
    const ids = [await chatOfAccountDeleted(29), await chatOfAccountDeleted(31)];
    await rig.sales.gateway.app.get(ClearMessages, { strict: false }).execute();
    const left = await rig.prisma.botChat.findMany({ where: { id: { in: ids } } });
    expect(left.map(({ id }) => id)).toEqual(ids.slice(0, 1));
  });
});

describeInBrowser('in a real browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  test.each([320, 480, 1_024])('a letter is whole at %s dots, light and dark, and fetches nothing', async (width) => {
    const id = await rig.sold({});
    for (const colorScheme of ['light', 'dark'] as const)
      for (const language of ['uz', 'ru', 'en']) {
        const preview = await rig.ask('POST', '/v1/message-templates/preview', {
          channel: 'email',
          language,
          receipt_id: id,
        });
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
        const requests: string[] = [];
        page.on('request', (request) => void requests.push(request.url()));
        await page.setContent(String(preview.body['html']));
        const facts = await page.evaluate<{ overflow: number; ground: string; button: string }>(`(() => {
          const button = document.querySelector('a').getBoundingClientRect();
          return { overflow: document.documentElement.scrollWidth - innerWidth,
                   ground: getComputedStyle(document.querySelector('.sheet')).backgroundColor,
                   button: button.width > 100 && button.height > 40 && button.right <= innerWidth ? 'good' : 'bad' };
        })()`);
        expect([facts.overflow <= 0, facts.button, facts.ground]).toEqual([
          ...[true, 'good', colorScheme === 'dark' ? 'rgb(26, 36, 45)' : 'rgb(255, 255, 255)'],
        ]);
        expect(requests).toEqual([]);
        await page.screenshot({ path: screenshotPath(`letter-${width}-${colorScheme}-${language}`), fullPage: true });
        await page.close();
      }
  });

  test('a buyer sends the receipt from the page with a click', async () => {
    const id = await rig.sold({});
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    await page.goto(`${await pageOf(id)}?lang=en`);
    await page.fill('input[type=email]', 'click@example.uz');
    await Promise.all([page.waitForNavigation(), page.click('text=Send >> nth=1')]);
    expect(await page.textContent('h1')).toBe('The receipt is on its way:');
    await untilTrue(() => mail.letters.some(({ to }) => to.includes('click@example.uz')));
    await page.close();
  });
});
