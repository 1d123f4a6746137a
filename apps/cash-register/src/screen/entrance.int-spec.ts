// Breaks if a visitor without the right reaches the register's screen, or the owner no longer can.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestRegister, type TestRegister } from '../testing/register-fixture.js';
import { sale } from '../testing/samples.js';
import { IDLE_MS, LIFETIME_MS } from './sessions.js';
import { PassingClock, PIN, ScreenVisitor, type Shown } from './testing/screen-visitor.js';

const PAGES = ['/screen/profile', '/screen/local-server', '/screen/journal.jsonl', '/screen/receipts/1', '/screen/x'];
const MINUTE_MS = 60_000;

describe('the entrance', () => {
  let register: TestRegister;
  let clock: PassingClock;
  let visitor: ScreenVisitor;
  const visit = (headers: Record<string, string> = {}): ScreenVisitor =>
    new ScreenVisitor(() => register.url, { headers: { 'accept-language': 'en', ...headers } });
  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    clock = new PassingClock();
    register = await startTestRegister({ clock, environment, openShift: false });
    visitor = visit();
  };
  const sessionCookie = ({ headers }: Shown): string | undefined =>
    headers['set-cookie']?.find((line) => line.startsWith('register-session-'));
  afterEach(() => register.close());

  test('a register that is not activated says E-001, and is activated with a first PIN', async () => {
    await start({ REGISTER_ACTIVATED: 'false' });
    expect((await visitor.get('/')).text).toContain('E-001');
    expect((await register.sell(sale())).body.error.code).toBe('E-001');
    for (const [pin, again, words] of [
      ['12345', '12345', '6 to 12 digits'],
      ['123456', '123456', 'in a row'],
      [PIN, '290418', 'differ'],
    ] as const) {
      const refused = await visitor.post('/screen/activate', { pin, again });
      expect([refused.status, refused.text.includes(words)]).toEqual([422, true]);
    }
    expect((await register.call('GET', '/status')).body.activated).toBe(false);
    const entered = await visitor.post('/screen/activate', { pin: PIN, again: PIN });
    expect([entered.status, entered.headers.location]).toEqual([303, '/']);
    expect(sessionCookie(entered)).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    expect((await visitor.get('/')).text).toContain('The register is activated.');
    expect((await register.call('GET', '/status')).body.activated).toBe(true);
    expect((await register.call('POST', '/z-report/open', {})).status).toBe(200);
  });

  test('the PIN is stored as a salted hash, and a second first PIN changes nothing', async () => {
    await start();
    const late = visit();
    await late.get('/');
    await visitor.settle();
    const stored = register.register.meta.get('screen_pin') ?? '';
    expect(stored).toMatch(/^scrypt\$16384\$[\w+/=]{24}\$[\w+/=]{44}$/);
    expect(stored).not.toContain(PIN);
    const refused = await late.post('/screen/activate', { pin: '835201', again: '835201' });
    expect([refused.status, sessionCookie(refused)]).toEqual([303, undefined]);
    expect(register.register.meta.get('screen_pin')).toBe(stored);
  });

  test('of two first PINs at once one is taken, and only its owner is in', async () => {
    await start();
    const pins = ['290417', '835201', '604418', '771203'];
    const visitors = pins.map(() => visit());
    await Promise.all(visitors.map((one) => one.get('/')));
    const answers = await Promise.all(
      visitors.map((one, index) => one.post('/screen/activate', { pin: pins[index]!, again: pins[index]! })),
    );
    const inside = answers.map((answer) => sessionCookie(answer) !== undefined);
    expect(inside.filter(Boolean)).toHaveLength(1);
    expect((await visit().logIn(pins[inside.indexOf(true)])).text).toContain('Module memory');
  });

  test('a visitor from elsewhere needs the code from the data folder for the first PIN', async () => {
    await start();
    const stranger = visit({ 'x-forwarded-for': '192.0.2.7' });
    expect((await stranger.get('/')).text).toContain('name="code"');
    const file = join(register.folder, 'activation-code.txt');
    expect(statSync(file).mode & 0o077).toBe(0);
    for (const code of ['', 'f'.repeat(16)]) {
      const refused = await stranger.post('/screen/activate', { pin: PIN, again: PIN, code });
      expect([refused.status, refused.text.includes('Wrong activation code')]).toEqual([401, true]);
    }
    const code = readFileSync(file, 'utf8');
    const entered = await stranger.post('/screen/activate', { pin: PIN, again: PIN, code });
    expect([entered.status, sessionCookie(entered) !== undefined, existsSync(file)]).toEqual([303, true, false]);
    expect((await visit().get('/')).text).not.toContain('name="code"');
  });

  test('wrong PINs: three are free, then even the right one must wait, also after a restart', async () => {
    await start();
    await visitor.settle();
    const thief = visit();
    await thief.get('/');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const refused = await thief.post('/screen/login', { pin: '000001' });
      expect([refused.status, sessionCookie(refused)]).toEqual([401, undefined]);
    }
    const locked = await thief.post('/screen/login', { pin: PIN });
    expect([locked.status, locked.text.includes('Too many attempts')]).toEqual([429, true]);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(locked.headers['retry-after'])).toBeLessThanOrEqual(30);
    await register.restart();
    expect((await visit().logIn()).status).toBe(429);
    clock.pass(30_000);
    await thief.get('/');
    expect((await thief.post('/screen/login', { pin: '000001' })).status).toBe(401);
    clock.pass(30_000);
    expect((await visit().logIn()).status).toBe(429);
    clock.pass(30_000);
    expect((await visit().logIn()).text).toContain('Module memory');
    expect((await visit().logIn('000001')).status).toBe(401);
  });

  test('many attempts at once are no way around the limit', async () => {
    await start();
    await visitor.settle();
    const thief = visit();
    await thief.get('/');
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => thief.post('/screen/login', { pin: String(300_000 + index) })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(27);
  });

  test('a clock that is set back does not lock the owner out for as long', async () => {
    await start();
    await visitor.settle();
    for (let attempt = 0; attempt < 3; attempt += 1) await visit().logIn('000001');
    clock.pass(-365 * 24 * 60 * MINUTE_MS);
    expect((await visit().logIn()).status).toBe(429);
    clock.pass(30_000);
    expect((await visit().logIn()).text).toContain('Module memory');
  });

  test('without a session there is nothing to see and nothing to do', async () => {
    await start();
    await visitor.settle();
    const stranger = visit();
    for (const path of PAGES) {
      const answer = await stranger.get(path);
      expect([path, answer.status, answer.headers.location, answer.text]).toEqual([path, 303, '/', '']);
    }
    expect(await stranger.get('/screen/live')).toMatchObject({ status: 401, text: '' });
    const front = await stranger.get('/');
    for (const secret of [
      'Demo savdo',
      register.register.module.info().terminalId,
      register.register.accessToken.value,
    ]) {
      expect(front.text).not.toContain(secret);
    }
    expect(await stranger.post('/screen/shift/open')).toMatchObject({ status: 303, headers: { location: '/' } });
    expect(register.register.module.currentShift()).toBeNull();
  });

  test('a session ends by idleness, which a page that refreshes itself does not hide', async () => {
    await start();
    await visitor.settle();
    clock.pass(IDLE_MS - MINUTE_MS);
    expect((await visitor.get('/screen/profile')).status).toBe(200);
    clock.pass(IDLE_MS - MINUTE_MS);
    expect((await visitor.get('/screen/live')).status).toBe(200);
    clock.pass(2 * MINUTE_MS);
    expect((await visitor.get('/screen/live')).status).toBe(401);
    expect((await visitor.get('/screen/profile')).status).toBe(303);
    // A form left open: no error, but nothing done either.
    expect((await visitor.post('/screen/shift/open')).status).toBe(303);
    expect(register.register.module.currentShift()).toBeNull();
  });

  test('every session ends', async () => {
    await start();
    await visitor.settle();
    for (let passed = 0; passed < LIFETIME_MS; passed += 10 * MINUTE_MS) {
      expect((await visitor.get('/screen/profile')).status).toBe(200);
      clock.pass(10 * MINUTE_MS);
    }
    expect((await visitor.get('/screen/profile')).status).toBe(303);
  });

  test('logging out ends the session for every holder of its cookie; so does a restart', async () => {
    await start();
    await visitor.settle();
    const kept = new Map(visitor.cookies);
    expect((await visitor.post('/screen/logout')).status).toBe(303);
    const thief = visit();
    for (const [name, value] of kept) thief.cookies.set(name, value);
    expect((await thief.get('/screen/profile')).status).toBe(303);
    await visitor.logIn();
    expect((await visitor.get('/screen/profile')).status).toBe(200);
    await register.restart();
    expect((await visitor.get('/screen/profile')).status).toBe(303);
  });

  test('each login has a session of its own: a token planted before is worth nothing', async () => {
    await start();
    await visitor.settle();
    const victim = visit();
    const name = [...visitor.cookies.keys()].find((key) => key.startsWith('register-session-'))!;
    victim.cookies.set(name, 'planted-planted-planted');
    await victim.logIn();
    expect(victim.cookies.get(name)).not.toBe('planted-planted-planted');
    const thief = visit();
    thief.cookies.set(name, 'planted-planted-planted');
    expect((await thief.get('/screen/profile')).status).toBe(303);
  });

  test('changing the PIN requires the current one and ends all other sessions', async () => {
    await start();
    await visitor.settle();
    const other = visit();
    await other.logIn();
    await visitor.get('/screen/profile');
    await visitor.post('/screen/pin', { current: '000001', pin: '835201', again: '835201' });
    expect((await visitor.get('/screen/profile')).text).toContain('Wrong PIN');
    expect((await other.get('/screen/profile')).status).toBe(200);
    await visitor.post('/screen/pin', { current: PIN, pin: '835201', again: '835201' });
    expect((await visitor.get('/')).text).toContain('The PIN has been changed');
    expect((await other.get('/screen/profile')).status).toBe(303);
    expect((await visit().logIn()).status).toBe(401);
    expect((await visit().logIn('835201')).text).toContain('Module memory');
  });

  test('the owner of the data folder can reset a forgotten PIN', async () => {
    await start();
    await visitor.settle();
    for (let attempt = 0; attempt < 3; attempt += 1) await visit().logIn('000001');
    writeFileSync(join(register.folder, 'reset-pin'), '');
    await register.restart();
    expect(existsSync(join(register.folder, 'reset-pin'))).toBe(false);
    expect((await visit().settle('835201')).text).toContain('The PIN is saved');
    await register.restart();
    expect((await visit().logIn('835201')).text).toContain('Module memory');
  });

  test('a forgotten PIN: the activation code of then sets no other, only the one that lies in the folder now', async () => {
    await start();
    const stranger = visit({ 'x-forwarded-for': '192.0.2.7' });
    const file = join(register.folder, 'activation-code.txt');
    const activate = async (code: string): Promise<number> => {
      await stranger.get('/');
      return (await stranger.post('/screen/activate', { pin: PIN, again: PIN, code })).status;
    };
    await stranger.get('/');
    const old = readFileSync(file, 'utf8');
    expect(await activate(old)).toBe(303);
    writeFileSync(join(register.folder, 'reset-pin'), '');
    await register.restart();
    expect(await activate(old)).toBe(401);
    expect(await activate(readFileSync(file, 'utf8'))).toBe(303);
  });
});
