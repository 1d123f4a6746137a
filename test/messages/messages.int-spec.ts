// Promise: a registered receipt reaches its buyer once by SMS and at least once by e-mail, no other receipt is sent, and no provider ever stands in the way of a sale.
import type { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import type { SimulatedProvider } from '../../libs/messages/src/testing/simulated-provider.js';
import { getDocumentProxy, extractText } from 'unpdf';
import { anAddress, byMail, bySms, PHONE, REFUSED_ACCOUNTS, REFUSED_WISHES } from './buyers-and-accounts.js';
import { MessagesRig } from './messages-rig.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';

let rig: MessagesRig;
let mail: MailServer;
let sms: SimulatedProvider;
let smsAccount: string;
let mailAccount: string;

beforeAll(async () => {
  rig = await MessagesRig.start();
  mail = await rig.mailServer();
  sms = await rig.provider('eskiz');
  mailAccount = await rig.mailAccount(mail);
  smsAccount = await rig.smsAccount(sms);
});
afterAll(() => rig?.stop());
beforeEach(() => {
  mail.faults = [];
  sms.faults = [];
  sms.hidesMessages = false;
});

const lettersTo = (address: string): MailServer['letters'] => mail.letters.filter(({ to }) => to.includes(address));

describe('before the sale is stored', () => {
  test.each(REFUSED_WISHES)('%j is refused at its field', async (more, pointer, code) => {
    const before = await rig.prisma.receipt.count();
    const { status, body } = await rig.sales.ask(
      'POST',
      '/v1/receipts',
      rig.sales.saleOf([rig.sales.item('bread', 100, 1)], more),
    );
    expect([
      status,
      body.errors.some((error) => error.pointer.startsWith(pointer) && (!code || error.code === code)),
    ]).toEqual([422, true]);
    expect(await rig.prisma.receipt.count()).toBe(before);
  });
});

test('a letter arrives with link, PDF and one Message-ID once its receipt is registered, and not before', async () => {
  const address = anAddress();
  const id = await rig.accepted(byMail(address));
  await rig.published('receipt.accepted', id);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await rig.messagesOf(id)).toEqual([]);
  await rig.registered(id);
  const [shown] = await rig.until(id, ['sent']);
  expect(shown).toMatchObject({
    channel: 'email',
    source: 'sale',
    to: expect.stringMatching(/^b\*\*\*@example\.uz$/),
    attempt_count: 1,
  });
  const [letter] = lettersTo(address);
  expect(letter?.messageId).toMatch(/^msg_[0-9a-z]{26}@gateway\.test$/);
  const { body: receipt } = await rig.sales.ask('GET', `/v1/receipts/${id}`);
  expect(receipt).toMatchObject({ notify: { channels: ['email'], language: 'uz' } });
  const raw = letter!.raw;
  const decoded = raw.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=');
  expect(decoded).toContain(receipt.receipt_url);
  const encoded = /Content-Type: application\/pdf[\s\S]*?\r\n\r\n([A-Za-z0-9+/=\r\n]+)/.exec(raw)?.[1] ?? '';
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(Buffer.from(encoded, 'base64'))));
  expect(text.join()).toContain('012345678901');
  expect(await rig.events('message.sent')).toEqual(
    expect.arrayContaining([expect.objectContaining({ receipt_id: id, channel: 'email', message_id: shown!.id })]),
  );
});

test('a receipt that was not asked for is not sent; the merchant’s default sends what it can', async () => {
  const quiet = await rig.sold({ customer: { email: anAddress() } });
  const put = await rig.ask('PATCH', '/v1/merchant', { notify: { channels: ['email', 'sms'], language: 'ru' } });
  expect(put.body['notify']).toEqual({ channels: ['email', 'sms'], language: 'ru' });
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const address = anAddress();
  const byDefault = await rig.sold({ customer: { email: address } });
  const refused = await rig.sold({ customer: { email: anAddress() }, notify: { channels: [] } });
  const unusable = await rig.sold({ customer: { email: 'odd..dots@example.uz' } });
  await rig.until(byDefault, ['sent']);
  expect(lettersTo(address)).toHaveLength(1);
  for (const id of [quiet, refused, unusable]) expect(await rig.messagesOf(id)).toEqual([]);
  await rig.ask('PATCH', '/v1/merchant', { notify: { channels: [], language: null } });
  await new Promise((resolve) => setTimeout(resolve, 1_200));
});

test('what was refused is never sent; what was unclear is sent when it is registered; a refund is sent too', async () => {
  const rejected = await rig.accepted(byMail());
  await rig.prisma.$executeRaw`UPDATE receipts SET status = 'sending' WHERE id = ${rejected}`;
  await rig.prisma.$executeRaw`UPDATE receipts SET status = 'rejected' WHERE id = ${rejected}`;
  await rig.published('receipt.rejected', rejected);
  const unknown = await rig.accepted(byMail());
  await rig.prisma.$executeRaw`UPDATE receipts SET status = 'sending' WHERE id = ${unknown}`;
  await rig.prisma.$executeRaw`UPDATE receipts SET status = 'unknown' WHERE id = ${unknown}`;
  await rig.published('receipt.unknown', unknown);
  const address = anAddress();
  const sale = await rig.sold(byMail(address));
  await rig.until(sale, ['sent']);
  for (const id of [rejected, unknown]) expect(await rig.messagesOf(id)).toEqual([]);
  await rig.registered(unknown);
  await rig.until(unknown, ['sent']);
  const { body: refund } = await rig.sales.refund(sale);
  await rig.registered(refund.id, 'refund');
  await rig.until(refund.id, ['sent']);
  expect(lettersTo(address)).toHaveLength(2);
});

test('the same event twice, as after a restored cursor, makes no second message', async () => {
  const address = anAddress();
  const id = await rig.sold(byMail(address));
  await rig.until(id, ['sent']);
  await rig.published('receipt.registered', id);
  const after = await rig.sold(byMail());
  await rig.until(after, ['sent']);
  expect(lettersTo(address)).toHaveLength(1);
});

test('greylisting, a cut connection and a lost answer: tried again with the same Message-ID', async () => {
  const address = anAddress();
  mail.faults = ['greylist', 'cut_after_letter'];
  const id = await rig.sold(byMail(address));
  await untilTrue(async () => (await rig.messagesOf(id))[0]?.attempts[0]?.outcome === 'not_now');
  await rig.letTimePass();
  await untilTrue(async () => (await rig.messagesOf(id))[0]?.attempts[1]?.outcome === 'unclear');
  await rig.letTimePass();
  const [shown] = await rig.until(id, ['sent']);
  expect(shown?.attempts.map(({ outcome }) => outcome)).toEqual(['not_now', 'unclear', 'sent']);
  const ids = lettersTo(address).map(({ messageId }) => messageId);
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
});

test('an address that no mailbox has is stopped with an event; nothing more goes there until it is removed', async () => {
  const address = anAddress();
  mail.unknown.add(address);
  const first = await rig.sold(byMail(address));
  const [failed] = await rig.until(first, ['failed']);
  expect(failed).toMatchObject({
    reason: 'address_refused',
    attempts: [{ outcome: 'address_refused', code: '550 5.1.1' }],
  });
  expect(JSON.stringify(failed)).not.toContain(address);
  mail.unknown.delete(address);
  await untilTrue(async () =>
    (await rig.events('message.address_stopped')).some((data) => data['message_id'] === failed!.id),
  );
  const second = await rig.sold(byMail(address.toUpperCase()));
  expect(await rig.until(second, ['failed'])).toMatchObject([{ reason: 'address_suppressed', attempts: [] }]);
  const asked = await rig.ask('POST', `/v1/receipts/${second}/messages`, { channel: 'email', to: address });
  expect([asked.status, asked.body.code]).toEqual([409, 'address_suppressed']);
  const { body } = await rig.ask('GET', '/v1/suppressions');
  const entry = body.data.find((one) => one['message_id'] === failed!.id);
  expect(entry).toMatchObject({ channel: 'email', reason: 'bounce' });
  expect((await rig.ask('DELETE', `/v1/suppressions/${String(entry?.['id'])}`)).status).toBe(204);
  expect((await rig.ask('POST', `/v1/receipts/${second}/messages`, { channel: 'email', to: address })).status).toBe(
    202,
  );
  await rig.until(second, ['failed', 'sent']);
});

describe('an SMS whose answer was lost', () => {
  test('is asked about by its id, found, and never sent again', async () => {
    sms.faults = ['drop_answer'];
    const before = sms.taken.length;
    const id = await rig.sold(bySms());
    await rig.until(id, ['unclear']);
    await rig.letTimePass();
    const [shown] = await rig.until(id, ['sent']);
    expect(shown).toMatchObject({ parts: 1, cost: 5_000, attempts: [{ outcome: 'unclear' }] });
    expect(sms.taken.length - before).toBe(1);
    expect(sms.violations).toEqual([]);
  });

  test('and that the provider never shows ends as failed, unclear, and is not sent again', async () => {
    sms.faults = ['drop_request'];
    sms.hidesMessages = true;
    const before = sms.calls;
    const id = await rig.sold(bySms());
    await untilTrue(async () => {
      await rig.letTimePass();
      return (await rig.messagesOf(id))[0]?.state === 'failed';
    });
    expect(await rig.messagesOf(id)).toMatchObject([{ reason: 'unclear', attempt_count: 1 }]);
    expect(sms.calls - before).toBe(1);
    expect(await rig.events('message.failed')).toEqual(
      expect.arrayContaining([expect.objectContaining({ receipt_id: id, reason: 'unclear' })]),
    );
  });

  test('of a gateway that died while it was sending is asked about; a letter is sent again', async () => {
    const [byPhone, byLetter] = [await rig.sold(bySms()), await rig.sold(byMail())];
    const [[phone], [letter]] = [await rig.until(byPhone, ['sent']), await rig.until(byLetter, ['sent'])];
    const [calls, letters] = [sms.calls, mail.letters.length];
    // As the intent leaves them: an open try and nothing else.
    for (const { id } of [phone!, letter!]) {
      await rig.prisma.$executeRaw`
        UPDATE messages SET state = 'sending', sent_at = NULL, finished_at = NULL, provider_ref = NULL, due_at = now() WHERE id = ${id}`;
      await rig.prisma.$executeRaw`UPDATE message_attempts SET outcome = NULL WHERE message_id = ${id}`;
    }
    await rig.letTimePass();
    await untilTrue(async () => (await rig.messagesOf(byPhone))[0]?.attempts[0]?.outcome === 'interrupted');
    await rig.until(byLetter, ['sent']);
    await rig.letTimePass();
    const [asked] = await rig.until(byPhone, ['sent']);
    expect([asked?.attempt_count, sms.calls]).toEqual([1, calls]);
    expect(mail.letters.length).toBe(letters + 1);
    expect(
      new Set(
        mail.letters.filter(({ messageId }) => messageId.startsWith(letter!.id)).map(({ messageId }) => messageId),
      ).size,
    ).toBe(1);
  });
});

test('a wrong key disables the account with an event, the sale stands, and what waited goes out when it is enabled', async () => {
  sms.password = 'another';
  sms.expireTokens();
  const id = await rig.sold(bySms());
  await untilTrue(async () => (await rig.events('message.account_disabled')).length > 0);
  expect(await rig.events('message.account_disabled')).toMatchObject([
    { message_account_id: smsAccount, channel: 'sms', reason: 'HTTP 401: Invalid credentials' },
  ]);
  const { body } = await rig.ask('GET', `/v1/message-accounts/${smsAccount}`);
  expect(body).toMatchObject({ enabled: false, disabled_reason: 'HTTP 401: Invalid credentials' });
  expect(await rig.messagesOf(id)).toMatchObject([{ state: 'pending', attempts: [{ outcome: 'account_refused' }] }]);
  // A disabled account refuses no sale.
  const second = await rig.sold(bySms());
  const asked = await rig.ask('POST', `/v1/receipts/${second}/messages`, { channel: 'sms', to: PHONE });
  expect([asked.status, asked.body.code]).toEqual([409, 'account_disabled']);
  sms.password = 'right-password';
  expect((await rig.ask('PATCH', `/v1/message-accounts/${smsAccount}`, { enabled: true })).body['enabled']).toBe(true);
  for (const one of [id, second]) await rig.until(one, ['sent']);
});

test('reports move a message of their own account, forward alone; a forged one moves nothing', async () => {
  const id = await rig.sold(bySms());
  const [shown] = await rig.until(id, ['sent']);
  const { callbackUrl, ref } = sms.taken.at(-1)!;
  const { pathname } = new URL(callbackUrl!);
  const report = (status: string, path = pathname) =>
    rig.ask('POST', path, { request_id: ref, user_sms_id: shown!.id, status, sms_count: '1' });
  expect((await report('DELIVRD', `${pathname.slice(0, -3)}AAA`)).status).toBe(404);
  const other = await rig.ask('GET', `/v1/message-accounts/${mailAccount}`);
  expect((await report('DELIVRD', new URL(String(other.body['callback_url'])).pathname)).status).toBe(404);
  expect(await rig.messagesOf(id)).toMatchObject([{ state: 'sent' }]);
  expect((await report('DELIVRD')).status).toBe(200);
  expect(await rig.until(id, ['delivered'])).toMatchObject([{ provider_word: 'DELIVRD' }]);
  await report('REJECTED');
  await report('ACCEPTED');
  expect(await rig.messagesOf(id)).toMatchObject([{ state: 'delivered' }]);
  expect(await rig.events('message.delivered')).toEqual(
    expect.arrayContaining([expect.objectContaining({ receipt_id: id })]),
  );
});

test('a bounce that comes later stops the address', async () => {
  const address = anAddress();
  const id = await rig.sold(byMail(address));
  const [shown] = await rig.until(id, ['sent']);
  const { body } = await rig.ask('GET', `/v1/message-accounts/${mailAccount}`);
  const message = `Action: failed\r\nStatus: 5.1.1\r\n\r\nMessage-ID: <${lettersTo(address)[0]!.messageId}>\r\n`;
  expect((await rig.ask('POST', new URL(String(body['callback_url'])).pathname, { message })).status).toBe(200);
  await rig.until(id, ['failed']);
  const { body: list } = await rig.ask('GET', '/v1/suppressions');
  expect(list.data[0]).toMatchObject({ message_id: shown!.id, reason: 'bounce' });
});

test('one request ends messages to an address (RFC 8058); opening the link ends nothing', async () => {
  const address = anAddress();
  const id = await rig.sold(byMail(address));
  await rig.until(id, ['sent']);
  const raw = lettersTo(address)[0]!.raw.replaceAll(/\r\n[ \t]/g, ' ');
  const url = new URL(/^List-Unsubscribe: <([^>]+)>/m.exec(raw)?.[1] ?? '');
  const there = `${rig.sales.gateway.base}${url.pathname}`;
  const opened = await fetch(there, { headers: { 'accept-language': 'ru' } });
  expect([opened.status, opened.headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("form-action 'self'"),
  ]);
  const page = await opened.text();
  expect([page.includes('Не присылать'), page.includes(address)]).toEqual([true, false]);
  const next = await rig.sold(byMail(address));
  await rig.until(next, ['sent']);
  for (let time = 0; time < 2; time += 1) {
    const body = 'List-Unsubscribe=One-Click';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await fetch(there, { method: 'POST', headers, body })).status).toBe(200);
  }
  const last = await rig.sold(byMail(address));
  expect(await rig.until(last, ['failed'])).toMatchObject([{ reason: 'address_suppressed' }]);
  expect((await fetch(`${there.slice(0, -2)}xx`, { method: 'POST' })).status).toBe(404);
});

test('asked for by hand: what is registered, to the address given, once while it waits, twenty times at most', async () => {
  const open = await rig.accepted({});
  const early = await rig.ask('POST', `/v1/receipts/${open}/messages`, { channel: 'email', to: anAddress() });
  expect([early.status, early.body.code]).toEqual([409, 'receipt_not_registered']);
  const id = await rig.sold({});
  const missing = await rig.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'sms' });
  expect(missing.body.errors).toMatchObject([{ pointer: '/to', code: 'required' }]);
  const odd = await rig.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email', to: 'a@b.uz\r\nBcc: c@d.uz' });
  expect(odd.status).toBe(422);
  const [address, body] = [anAddress(), { channel: 'sms', to: '+998931112233', language: 'ru' }];
  const both = await Promise.all([
    rig.ask('POST', `/v1/receipts/${id}/messages`, body),
    rig.ask('POST', `/v1/receipts/${id}/messages`, body),
  ]);
  expect(both.map(({ status }) => status)).toEqual([202, 202]);
  await untilTrue(() => sms.taken.some(({ to }) => to === '998931112233'));
  const sent = await rig.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email', to: address, language: 'en' });
  expect(sent.body['to']).not.toContain(address);
  await untilTrue(() => lettersTo(address).length === 1);
  await rig.prisma.$executeRaw`
    INSERT INTO messages (id, merchant_id, receipt_id, account_id, channel, source, language, address_hash, address_hint, state, finished_at)
    SELECT 'msg_x' || n, merchant_id, receipt_id, account_id, channel, 'api', language, address_hash, address_hint, 'failed', now()
      FROM messages, generate_series(1, 20) AS n WHERE id = ${sent.body.id}`;
  const full = await rig.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email', to: anAddress() });
  expect([full.status, full.body.code]).toEqual([409, 'message_limit_reached']);
  await rig.prisma.$executeRaw`DELETE FROM messages WHERE id LIKE 'msg_x%'`;
});

test('templates: worded by the merchant, shown before they are sent, refused where they name another address', async () => {
  const id = await rig.sold({});
  const template = { channel: 'sms', language: 'en', text: 'Thank you! {merchant} {total} {link}' };
  for (const text of ['no link', '{link} {secret}', '{link} https://evil.example', '{link} аpple.com', '{link} {'])
    expect((await rig.ask('PUT', '/v1/message-templates', { ...template, text })).status).toBe(422);
  expect((await rig.ask('PUT', '/v1/message-templates', template)).status).toBe(200);
  const preview = await rig.ask('POST', '/v1/message-templates/preview', {
    ...template,
    text: undefined,
    receipt_id: id,
  });
  expect(preview.body).toMatchObject({
    text: expect.stringMatching(/^Thank you! M 4\s500\.00 UZS http/),
    parts: 1,
    html: null,
  });
  const letter = await rig.ask('POST', '/v1/message-templates/preview', {
    ...{ channel: 'email', language: 'ru', subject: '{kind}', text: '<b>{merchant}</b>', receipt_id: id },
  });
  expect(letter.body['html']).toContain('&lt;b&gt;M&lt;/b&gt;');
  expect(
    (await rig.ask('GET', '/v1/message-templates')).body.data.filter((one) => one['is_default'] === false),
  ).toMatchObject([template]);
  expect((await rig.ask('PUT', '/v1/message-templates', { ...template, text: null })).body['is_default']).toBe(true);
});

test('no address stands in the clear beside the receipt’s own document, and what is over is erased and cleared', async () => {
  const address = anAddress();
  const id = await rig.sold(byMail(address));
  const [shown] = await rig.until(id, ['sent']);
  const [row] = await rig.prisma.$queryRaw<{ dump: string }[]>`
    SELECT concat((SELECT jsonb_agg(m) FROM messages m), (SELECT jsonb_agg(a) FROM message_attempts a),
                  (SELECT jsonb_agg(s) FROM suppressions s), (SELECT jsonb_agg(e) FROM events e),
                  (SELECT jsonb_agg(r) FROM audit_records r), (SELECT jsonb_agg(c) FROM message_accounts c)) AS dump`;
  expect(row!.dump).not.toContain(address);
  expect(row!.dump).not.toContain('right-password');
  const { ClearMessages } = await import('../../apps/gateway/src/notify/messages/clear-messages.js');
  const clearing = rig.sales.gateway.app.get(ClearMessages, { strict: false });
  await rig.prisma.$executeRaw`UPDATE messages SET finished_at = now() - interval '31 days' WHERE id = ${shown!.id}`;
  await clearing.execute();
  expect(await rig.prisma.message.findUnique({ where: { id: shown!.id } })).toMatchObject({
    addressSealed: null,
    state: 'sent',
  });
  await rig.prisma.$executeRaw`UPDATE messages SET finished_at = now() - interval '181 days' WHERE id = ${shown!.id}`;
  await clearing.execute();
  expect(await rig.messagesOf(id)).toEqual([]);
});

test('accounts: secrets stay inside, go nowhere else, and addresses inside are refused', async () => {
  const list = await rig.ask('GET', '/v1/message-accounts');
  expect(list.text).not.toContain('right-password');
  expect(list.body.data).toHaveLength(2);
  const moved = await rig.ask('PATCH', `/v1/message-accounts/${smsAccount}`, {
    settings: { api_url: 'http://127.0.0.1:9' },
  });
  expect(moved.body.errors).toMatchObject([{ pointer: '/settings/password', code: 'secret_required' }]);
  const twice = await rig.ask('POST', '/v1/message-accounts', {
    ...{ provider: 'playmobile', settings: { login: 'a', password: 'b', originator: 'c' } },
  });
  expect([twice.status, twice.body.code]).toEqual([409, 'code_taken']);
  for (const [provider, given, pointer] of REFUSED_ACCOUNTS) {
    const { status, body } = await rig.ask('POST', '/v1/message-accounts', { provider, settings: given });
    expect([provider, status, body.errors[0]?.pointer]).toEqual([provider, 422, pointer]);
  }
});

test('in quiet hours only what was just asked for is sent; the rate of an account is kept', async () => {
  const noon = new Date(Date.now() + 5 * 3_600_000);
  const clock = (minutes: number): string => new Date(noon.getTime() + minutes * 60_000).toISOString().slice(11, 16);
  await rig.ask('PATCH', `/v1/message-accounts/${smsAccount}`, { quiet_from: clock(-60), quiet_until: clock(120) });
  const id = await rig.sold(bySms());
  await rig.until(id, ['pending']);
  const asked = await rig.sold({});
  const test = await rig.ask('POST', `/v1/message-accounts/${smsAccount}/test`, { to: PHONE, receipt_id: asked });
  expect(test.status).toBe(202);
  await rig.until(asked, ['sent']);
  expect(await rig.messagesOf(id)).toMatchObject([{ state: 'pending', attempts: [] }]);
  await rig.ask('PATCH', `/v1/message-accounts/${smsAccount}`, { quiet_from: null, quiet_until: null, per_minute: 12 });
  const [before, begunMs] = [sms.calls, performance.now()];
  const many = await Promise.all([1, 2, 3].map(() => rig.sold(bySms())));
  await rig.letTimePass();
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  const passedMs = performance.now() - begunMs;
  expect(sms.calls - before).toBeLessThanOrEqual(2 + Math.floor(passedMs / 5_000));
  await rig.ask('PATCH', `/v1/message-accounts/${smsAccount}`, { per_minute: 60_000 });
  await rig.letTimePass();
  for (const one of [id, ...many]) await rig.until(one, ['sent']);
});
