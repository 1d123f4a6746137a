// Breaks if the register's screen shows something wrong, does something that was not requested, or weakens the local API.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { API_KEY, startTestRegister, type TestRegister } from '../testing/register-fixture.js';
import { item, sale } from '../testing/samples.js';
import { PassingClock, ScreenVisitor } from './testing/screen-visitor.js';

const HOUR_MS = 60 * 60 * 1000;
const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&amp;`;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the screen', () => {
  let register: TestRegister;
  let clock: PassingClock;
  let visitor: ScreenVisitor;
  const visit = (language = 'en'): ScreenVisitor =>
    new ScreenVisitor(() => register.url, { headers: { 'accept-language': language } });
  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    clock = new PassingClock();
    register = await startTestRegister({ clock, environment, openShift: false });
    visitor = visit();
    await visitor.settle();
  };
  const opens = async (key: string): Promise<number> =>
    (await register.call('GET', '/fm/info', undefined, { 'x-api-key': key })).status;
  afterEach(() => register.close());

  test('opens and closes the shift, shows running totals and receipts with QR, and says what is refused', async () => {
    await start();
    expect((await visitor.get('/')).text).toContain('There was no shift yet.');
    await visitor.post('/screen/shift/open');
    const opened = await visitor.get('/');
    expect(opened.text).toContain('The shift is open.');
    await visitor.post('/screen/shift/open');
    expect((await visitor.get('/')).text).toContain('The shift is already open.');
    await visitor.post('/screen/shift/close');
    expect((await visitor.get('/')).text).toContain('An empty shift cannot be closed');
    const sold = await register.sell(sale());
    const shown = (await visitor.get('/')).text;
    expect(shown).toContain(sold.body.receipt.fiscalSign);
    expect(shown).toContain('<svg class="qr"');
    expect(shown).toContain('20\u00a0000.00\u00a0so‘m');
    expect(shown).toContain('2\u00a0142.86\u00a0so‘m');
    expect((await visitor.get('/screen/receipts/1')).text).toContain('class="receipt"');
    await visitor.post('/screen/shift/close');
    expect((await visitor.get('/')).text).toContain('Shift closed, Z-report sent.');
    expect(register.register.module.currentShift()?.closedMs).not.toBeNull();
    expect((await visitor.get('/screen/receipts/2')).status).toBe(404);
  });

  test('the page that refreshes itself gets the news, and nothing while there is none', async () => {
    await start();
    const version = (text: string): string => /data-version="([\w-]+)"/.exec(text)![1]!;
    const seen = version((await visitor.get('/')).text);
    expect((await visitor.get(`/screen/live?seen=${seen}`)).status).toBe(204);
    await register.call('POST', '/z-report/open', {});
    await register.sell(sale());
    const news = await visitor.get(`/screen/live?seen=${seen}`);
    expect([news.status, news.text.includes('data-seq="1"')]).toEqual([200, true]);
    // Its forms still work: they carry the session's token.
    await visitor.post('/screen/shift/close');
    expect(register.register.module.currentShift()?.closedMs).not.toBeNull();
  });

  test('what is unsent is counted with the age of the oldest, up to the 48-hour fuse, and sent on demand', async () => {
    await start();
    await visitor.post('/screen/shift/open');
    await register.ofd('/faults', { mode: 'error' });
    await register.sell(sale());
    clock.pass(3 * HOUR_MS);
    await register.sell(sale());
    await visitor.logIn();
    await visitor.post('/screen/shift/close');
    const fresh = (await visitor.get('/')).text;
    expect(fresh).toContain('The Z-report is not sent yet');
    expect(fresh).toContain('<b>2</b>');
    expect(fresh).toMatch(/The oldest waits: 3 h/);
    expect(fresh).toMatch(/Stops in: 1 d 20 h/);
    expect(fresh).toContain('unsent</span>');
    clock.pass(22 * HOUR_MS);
    expect((await visitor.logIn()).text).toContain('gauge warn');
    clock.pass(24 * HOUR_MS);
    expect((await visitor.logIn()).text).toContain('The register has stopped.');
    await visitor.post('/screen/shift/open');
    expect((await visitor.get('/')).text).toContain('older than 48 hours');
    await visitor.post('/screen/send-unsent');
    expect((await visitor.get('/')).text).toContain('Sent: 0, failed: 3.');
    await register.ofd('/faults', { mode: 'ok' });
    await visitor.post('/screen/send-unsent');
    const sent = (await visitor.get('/')).text;
    expect(sent).toContain('Sent: 3.');
    expect(sent).toContain('Everything is sent.');
  });

  test('the memory gauge follows the module', async () => {
    await start({ FM_RECEIPT_CAPACITY: '4' });
    await visitor.post('/screen/shift/open');
    await register.ofd('/faults', { mode: 'error' });
    const gauge = async (): Promise<unknown> =>
      /gauge (\w*)"[^>]*aria-label="Unsent receipts"[^>]*aria-valuenow="([\d.]+)"/
        .exec((await visitor.get('/')).text)
        ?.slice(1);
    for (const expected of [
      ['', '25'],
      ['', '50'],
      ['warn', '75'],
      ['bad', '100'],
    ]) {
      await register.sell(sale());
      expect(await gauge()).toEqual(expected);
    }
  });

  test('renewing the token changes at once and for good what the local API accepts', async () => {
    await start();
    const page = await visitor.get('/screen/local-server');
    expect(page.text).toContain(`<code id="token">${API_KEY}</code>`);
    expect(page.text).toContain(register.url);
    await visitor.post('/screen/token/renew');
    expect((await visitor.get('/screen/local-server')).text).toContain('was not renewed');
    expect(await opens(API_KEY)).toBe(200);
    await visitor.post('/screen/token/renew', { confirm: 'yes' });
    const shown = await visitor.get('/screen/local-server');
    const renewed = /<code id="token">([\w-]{32})<\/code>/.exec(shown.text)![1]!;
    expect([renewed === API_KEY, await opens(API_KEY), await opens(renewed)]).toEqual([false, 401, 200]);
    const file = join(register.folder, 'api-key.txt');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o077]).toEqual([`${renewed}\n`, 0]);
    // The settings still name the old one.
    await register.restart();
    expect([await opens(API_KEY), await opens(renewed)]).toEqual([401, 200]);
    // A new one in the settings counts.
    const third = 'third-key-0123456789';
    await register.restart({ REGISTER_API_KEY: third });
    expect([await opens(API_KEY), await opens(renewed), await opens(third)]).toEqual([401, 401, 200]);
  });

  test('a form of ours is asked for on every action', async () => {
    await start();
    const other = visit();
    await other.logIn();
    const actions = [
      'login',
      'activate',
      'logout',
      'pin',
      'shift/open',
      'shift/close',
      'send-unsent',
      'token/renew',
      'x',
    ];
    for (const action of actions) {
      for (const form of ['', 'wrong', 'x'.repeat(43), other.formToken!]) {
        const refused = await visitor.post(`/screen/${action}`, { form, confirm: 'yes', pin: '290417' });
        expect([action, form, refused.status]).toEqual([action, form, 403]);
      }
    }
    const foreign = { headers: { origin: 'http://evil.example' } };
    expect((await visitor.post('/screen/shift/open', {}, foreign)).status).toBe(403);
    expect((await visitor.post('/screen/shift/open', {}, { headers: { origin: 'null' } })).status).toBe(403);
    expect(register.register.module.currentShift()).toBeNull();
    expect(await opens(API_KEY)).toBe(200);
    const own = { headers: { origin: register.url } };
    expect((await visitor.post('/screen/shift/open', {}, own)).status).toBe(303);
    expect(register.register.module.currentShift()).not.toBeNull();
  });

  test('a body that is no form does nothing', async () => {
    await start();
    const json = await visitor.post('/screen/shift/open', {}, { headers: { 'content-type': 'application/json' } });
    expect(json.status).toBe(415);
    const large = await visitor.post('/screen/shift/open', { pin: '1'.repeat(9_000) });
    expect(large.status).toBe(413);
    expect(register.register.module.currentShift()).toBeNull();
  });

  test('a foreign Host is refused with and without a session; names of this machine and configured ones are not', async () => {
    await start({ REGISTER_SCREEN_HOSTS: 'kassa.example, Till.Local' });
    for (const host of ['evil.example', 'evil.example:8765', '203.0.113.9', 'localhost.evil.example']) {
      for (const path of ['/', '/screen/profile', '/screen/live', '/screen/journal.jsonl']) {
        const refused = await visitor.get(path, { host });
        expect([host, path, refused.status]).toEqual([host, path, 403]);
        expect(refused.text).not.toMatch(/Demo savdo|ZZ\d{12}/);
      }
      expect((await visitor.post('/screen/shift/open', {}, { host })).status).toBe(403);
    }
    expect(register.register.module.currentShift()).toBeNull();
    for (const host of ['localhost', '127.0.0.1:1', 'KASSA.example', 'till.local:80']) {
      expect([host, (await visitor.get('/screen/profile', { host })).status]).toEqual([host, 200]);
    }
  });

  test('the local API is as it was: key, JSON, errors, headers', async () => {
    await start();
    expect(await register.call('POST', '/receipts', 'form=1', FORM)).toMatchObject({
      status: 415,
      body: { error: { code: 'S-003' } },
    });
    for (const [method, path] of [
      ['POST', '/'],
      ['PUT', '/screen/profile'],
      ['GET', '/screen'],
      ['GET', '//'],
      ['GET', '/%73creen/../receipts/1'],
      ['GET', '/screen%2F..%2Freceipts/1'],
      ['GET', '/%72eceipts/1'],
      ['POST', '/%72eceipts'],
    ] as const) {
      const answer = await fetch(register.url + path, { method });
      expect([method, path, answer.status]).toEqual([method, path, 401]);
      expect(await answer.json()).toMatchObject({ error: { code: 'S-001' } });
    }
    // Rules go by the route: another spelling of `/status` is `/status`.
    expect((await fetch(`${register.url}/%73tatus`)).status).toBe(200);
    const { headers } = await visitor.get('/');
    expect(headers['x-subscription-state']).toBe('active');
    // A session of the screen opens no call of the API.
    expect((await visitor.get('/fm/info')).status).toBe(401);
  });

  test('names from outside never become markup, on no page', async () => {
    await start({ REGISTER_BUSINESS_NAME: HOSTILE, REGISTER_BRANCH_ADDRESS: HOSTILE, REGISTER_PHONE: HOSTILE });
    await visitor.post('/screen/shift/open');
    expect((await register.sell(sale({ items: [item({ name: HOSTILE.slice(0, 60) })] }))).status).toBe(200);
    const evil = { 'accept-language': HOSTILE };
    for (const path of [
      '/',
      '/screen/live',
      '/screen/profile',
      '/screen/local-server',
      '/screen/receipts/1',
      `/screen/x`,
    ]) {
      const { text } = await visitor.get(path, { headers: evil });
      expect([path, /<script>alert|<img/.test(text)]).toEqual([path, false]);
    }
    expect((await visitor.get('/')).text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  test('pages load nothing from elsewhere, run only their own script, cannot be framed and are not cached', async () => {
    await start();
    const nonces = new Set<string>();
    for (const path of ['/', '/screen/profile', '/screen/local-server', '/screen/x']) {
      const { headers, text } = await visitor.get(path);
      const policy = String(headers['content-security-policy']);
      const nonce = /script-src 'nonce-([\w+/=]{24})'/.exec(policy)![1]!;
      nonces.add(nonce);
      expect(policy).toMatch(/^default-src 'none'; /);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-frame-options': 'DENY' });
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(text.match(/<(script|style)\b[^>]*>/g)).toEqual([`<style nonce="${nonce}">`, `<script nonce="${nonce}">`]);
      expect(text).not.toMatch(/\s(style|on\w+)=|(src|href)="(https?:)?\/\//);
    }
    expect(nonces.size).toBe(4);
  });

  test.each([
    ['ru', 'Локальный сервер', 'Память модуля'],
    ['uz', 'Lokal server', 'Modul xotirasi'],
    ['en', 'Local server', 'Module memory'],
  ])('speaks %s: by the browser, and by choice from then on', async (language, server, memory) => {
    await start();
    const guest = visit(`${language}-XX,de;q=0.9`);
    const first = await guest.logIn();
    expect(first.text).toContain(`<html lang="${language}">`);
    expect(first.text).toContain(server);
    expect(first.text).toContain(memory);
    const other = language === 'en' ? 'ru' : 'en';
    await guest.get(`/?lang=${other}`);
    expect((await guest.get('/screen/profile')).text).toContain(`<html lang="${other}">`);
    expect((await guest.get('/screen/profile?lang=xx')).text).toContain(`<html lang="${other}">`);
    for (const path of ['/', '/screen/profile', '/screen/local-server', '/screen/x']) {
      const { text } = await guest.get(`${path}?lang=${language}`);
      const words = text.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/g, ' ');
      const cyrillic = /[а-яё]/i.test(words);
      expect([path, cyrillic]).toEqual([path, language === 'ru']);
      expect(words).not.toMatch(/\{\w+\}|undefined|\[object/);
    }
  });

  test('warns that clearing the data folder destroys fiscal data, and exports the journal with its chain', async () => {
    await start();
    await visitor.post('/screen/shift/open');
    for (let count = 0; count < 3; count += 1) await register.sell(sale());
    expect((await visitor.get('/screen/profile')).text).toContain('Clearing the data folder destroys the fiscal data');
    const file = await visitor.get('/screen/journal.jsonl');
    expect(file.headers['content-disposition']).toMatch(/^attachment; filename="journal-ZZ\d{12}\.jsonl"$/);
    const lines = file.text.trimEnd().split('\n');
    const documents = lines.map((line) => JSON.parse(line) as { digest: string; document: { prev_digest: string } });
    expect(documents.map(({ document }) => document.prev_digest)).toEqual([
      '0'.repeat(64),
      ...documents.slice(0, -1).map(({ digest }) => digest),
    ]);
  });

  test('a red line at the top says that the register does not sell, and no other line is red', async () => {
    await start({
      FM_RECEIPT_CAPACITY: '2',
      SUBSCRIPTION_EXPIRES_AT: new Date(Date.now() + 96 * HOUR_MS).toISOString(),
    });
    const red = async (): Promise<string[]> => {
      clock.pass(1);
      const { text } = await visitor.logIn();
      return [...text.matchAll(/<p class="notice bad wide" role="alert">([^<]+)</g)].map(([, line = '']) =>
        line.slice(0, 26),
      );
    };
    await register.call('POST', '/z-report/open', {});
    await register.ofd('/faults', { mode: 'down' });
    await register.sell(sale());
    expect(await red()).toEqual([]);
    await register.sell(sale());
    expect((await register.sell(sale())).body.error.details.reason).toBe('memory_full');
    expect(await red()).toEqual(['The module is full of unse']);
    clock.pass(48 * HOUR_MS);
    expect(await red()).toEqual(['The module is full of unse', 'The oldest unsent receipt ']);
    clock.pass(48 * HOUR_MS);
    expect((await red())[0]).toBe('The subscription has expir');
  });

  test('an emulator, a test module, an ending subscription and a broken journal cannot be overlooked', async () => {
    await start({ EMULATOR: '1', SUBSCRIPTION_EXPIRES_AT: new Date(Date.now() + 48 * HOUR_MS).toISOString() });
    expect((await visit().get('/')).text).toContain('EMULATOR');
    const page = (await visitor.get('/')).text;
    expect(page).toContain('Test module');
    expect(page).toMatch(/class="notice warn wide"[^>]*>Subscription: ends on/);
    expect(page).not.toContain('notice bad');
    await register.call('POST', '/z-report/open', {});
    await register.sell(sale());
    await register.tamper("UPDATE documents SET payload = replace(payload, '2000000', '1000000')");
    const broken = await visitor.logIn();
    expect(broken.text).toContain('The journal is damaged (F-001)');
    expect((await visitor.get('/screen/local-server')).text).toContain('not fiscalising (F-001)');
    await visitor.post('/screen/shift/close');
    expect((await visitor.get('/')).text).toContain('F-001');
  });

  test.each([
    ['cut', 'substr(payload, 1, 40)'],
    ['empty', "''"],
    ['of another shape', "'[]'"],
  ])('a journal and a Z-report that are damaged (%s) are said so, beside what can be read', async (_how, damage) => {
    await start();
    await register.call('POST', '/z-report/open', {});
    for (const _ of [1, 2]) await register.sell(sale());
    await register.ofd('/faults', { mode: 'down', next: 1 });
    await register.call('POST', '/z-report/close');
    await register.tamper(
      `UPDATE documents SET payload = ${damage} WHERE seq = 2; UPDATE shifts SET payload = ${damage} WHERE number = 1`,
    );
    const home = await visitor.logIn();
    expect([home.status, (await visitor.get('/screen/live')).status]).toEqual([200, 200]);
    for (const shown of ['The journal is damaged (F-001)', 'The record is damaged (F-001).', 'data-seq="1"', 'Verify'])
      expect(home.text).toContain(shown);
    expect((await visitor.get('/screen/receipts/1')).status).toBe(200);
    const damaged = await visitor.get('/screen/receipts/2');
    expect([damaged.status, damaged.text.includes('The record is damaged (F-001).')]).toEqual([503, true]);
  });
});
