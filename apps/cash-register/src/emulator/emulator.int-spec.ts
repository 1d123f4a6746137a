// Breaks if the emulator's faults are not what they say: every test of a client's recovery rests on them.
import { withRegister, type TestRegister } from '../testing/register-fixture.js';
import { sale } from '../testing/samples.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';

const EMULATOR = { environment: { EMULATOR: '1' } };

function on(work: (register: TestRegister) => Promise<void>): () => Promise<void> {
  return () => withRegister(EMULATOR, work);
}

const set = (register: TestRegister, ...rules: object[]): Promise<{ status: number; body: unknown }> =>
  register.call('POST', '/emulator/faults', { rules });

async function sequence(register: TestRegister): Promise<number> {
  return (await register.call('GET', '/fm/info')).body.currentReceiptSeq as number;
}

describe('the emulator', () => {
  test(
    'says so in a header on every answer, and a register does not know its calls',
    on(async (register) => {
      expect((await register.call('GET', '/status')).headers.get('x-emulator')).toBe('1');
      expect((await set(register)).status).toBe(200);
      await register.restart({});
      const { status, headers } = await register.call('POST', '/emulator/faults', { rules: [] });
      expect([status, headers.get('x-emulator')]).toEqual([404, null]);
    }),
  );

  test(
    'drop_request: the connection breaks and nothing is registered',
    on(async (register) => {
      await set(register, { fault: 'drop_request', next: 1 });
      await expect(register.sell(sale(), 'key-1')).rejects.toThrow();
      expect(await sequence(register)).toBe(0);
      expect((await register.sell(sale(), 'key-1')).body.receipt.receiptSeq).toBe(1);
    }),
  );

  test(
    'drop_answer: registered, the connection breaks, the key gives the registration back',
    on(async (register) => {
      await set(register, { fault: 'drop_answer', next: 1 });
      await expect(register.sell(sale(), 'key-1')).rejects.toThrow();
      expect(await sequence(register)).toBe(1);
      expect((await register.sell(sale(), 'key-1')).body.receipt.receiptSeq).toBe(1);
    }),
  );

  test(
    'late_answer: registered at once, answered late',
    on(async (register) => {
      // Long beside what a busy machine needs to read the sequence.
      await set(register, { fault: 'late_answer', next: 1, delay_ms: 3_000 });
      let isAnswered = false;
      const late = register.sell(sale()).finally(() => (isAnswered = true));
      await untilTrue(async () => (await sequence(register)) === 1);
      expect(isAnswered).toBe(false);
      expect((await late).body.receipt.receiptSeq).toBe(1);
    }),
  );

  test(
    'late_request: a repeat with the same key overtakes the sleeper, which then finds it registered',
    on(async (register) => {
      await set(register, { fault: 'late_request', next: 1, delay_ms: 400 });
      const sleeper = register.sell(sale(), 'key-1');
      await untilTrue(async () => (await register.call('GET', '/emulator/faults')).body.rules[0].next === 0);
      const repeat = await register.sell(sale(), 'key-1');
      expect((await sleeper).body).toEqual(repeat.body);
      expect(await sequence(register)).toBe(1);
    }),
  );

  test(
    'late_request: is worked on even when the client has gone',
    on(async (register) => {
      await set(register, { fault: 'late_request', next: 1, delay_ms: 2_000 });
      const leaving = new AbortController();
      const gone = expect(
        fetch(`${register.url}/receipts`, {
          method: 'POST',
          headers: { 'x-api-key': 'test-key-0123456789', 'content-type': 'application/json' },
          body: JSON.stringify(sale()),
          signal: leaving.signal,
        }),
      ).rejects.toThrow();
      await untilTrue(async () => (await register.call('GET', '/emulator/faults')).body.rules[0].next === 0);
      leaving.abort();
      await gone;
      expect(await sequence(register)).toBe(0);
      await untilTrue(async () => (await sequence(register)) === 1);
    }),
  );

  test(
    'error_after: registered, but answered 500 with S-004',
    on(async (register) => {
      await set(register, { fault: 'error_after', next: 1 });
      expect(await register.sell(sale(), 'key-1')).toMatchObject({ status: 500, body: { error: { code: 'S-004' } } });
      expect((await register.sell(sale(), 'key-1')).body.receipt.receiptSeq).toBe(1);
    }),
  );

  test(
    'late_answer: while it sleeps it uses up no rule that is set for others',
    on(async (register) => {
      await set(register, { fault: 'late_answer', next: 1, delay_ms: 400 });
      const late = register.sell(sale());
      await untilTrue(async () => (await register.call('GET', '/emulator/faults')).body.rules[0].next === 0);
      await set(register, { fault: 'error_after', next: 1 });
      expect((await late).status).toBe(200);
      expect((await register.call('GET', '/emulator/faults')).body.rules[0].next).toBe(1);
      expect((await register.sell(sale())).status).toBe(500);
    }),
  );

  test(
    'refuse: the given code, nothing registered; on another path too',
    on(async (register) => {
      await set(
        register,
        { fault: 'refuse', next: 1, code: 'F-003' },
        { fault: 'refuse', code: 'F-001', path: '/z-report/close' },
      );
      expect(await register.sell(sale())).toMatchObject({ status: 503, body: { error: { code: 'F-003' } } });
      expect(await sequence(register)).toBe(0);
      expect((await register.sell(sale())).status).toBe(200);
      expect(await register.call('POST', '/z-report/close')).toMatchObject({ body: { error: { code: 'F-001' } } });
    }),
  );

  test(
    'clock_jump, subscription, memory_full and ofd_down show where they should',
    on(async (register) => {
      await register.sell(sale());
      await set(register, { fault: 'clock_jump', delay_ms: -3_600_000 });
      const refused = await register.sell(sale());
      expect(refused).toMatchObject({ body: { error: { details: { reason: 'clock_behind' } } } });
      const { code, message } = refused.body.error as { code: string; message: string };
      expect((await register.call('GET', '/status')).body.fmRefusal).toEqual({ code, reason: 'clock_behind', message });
      await set(register, { fault: 'clock_jump', delay_ms: 3_600_000 }, { fault: 'subscription', code: 'expired' });
      expect(await register.sell(sale())).toMatchObject({ status: 402, body: { error: { code: 'E-002' } } });
      expect((await register.call('GET', '/status')).body).not.toHaveProperty('fmRefusal');
      await set(register, { fault: 'memory_full', next: 1 }, { fault: 'ofd_down', next: 1 });
      expect(await register.sell(sale())).toMatchObject({ body: { error: { details: { reason: 'memory_full' } } } });
      expect((await register.sell(sale())).body).toMatchObject({ ofdSent: false });
      expect((await register.sell(sale())).body).toMatchObject({ ofdSent: true });
    }),
  );

  test(
    'subscription: what the headers say of the expiry agrees with the state',
    on(async (register) => {
      for (const [code, least, most] of [
        ['expired', 0, 0],
        ['expiring', 1, 14],
        ['active', 15, Number.POSITIVE_INFINITY],
      ] as const) {
        await set(register, { fault: 'subscription', code });
        const { headers } = await register.call('GET', '/fm/info');
        const days = Number(headers.get('x-subscription-days-left'));
        expect([code, headers.get('x-subscription-state'), days >= least && days <= most]).toEqual([code, code, true]);
        const expiresMs = Date.parse(headers.get('x-subscription-expires-at') ?? '');
        expect(expiresMs > Date.now()).toBe(code !== 'expired');
      }
    }),
  );

  test(
    'error_after says nothing of a registration: the call may have been refused',
    on(async (register) => {
      await set(register, { fault: 'error_after', next: 1 });
      const { body } = await register.sell(sale({ items: [] }));
      expect(body).toMatchObject({ error: { code: 'S-004', message: 'error by the emulator in place of the answer' } });
      expect(await sequence(register)).toBe(0);
    }),
  );

  test(
    'rates strike about as often as they say',
    on(async (register) => {
      await set(register, { fault: 'refuse', rate: 0.5, code: 'S-004' });
      const answers = await Promise.all(Array.from({ length: 200 }, () => register.sell(sale())));
      const refused = answers.filter(({ status }) => status === 500).length;
      // 0.5 of 200, seven standard deviations to either side.
      expect(Math.abs(refused - 100)).toBeLessThan(50);
      expect(await sequence(register)).toBe(200 - refused);
    }),
  );

  test.each([
    {},
    { rules: [{ fault: 'explode' }] },
    { rules: [{ fault: 'refuse' }] },
    { rules: [{ fault: 'drop_answer', rate: 2 }] },
    { rules: [{ fault: 'late_answer', delay_ms: -1 }] },
    { rules: [{ fault: 'drop_answer', next: 1.5 }] },
    { rules: [{ fault: 'subscription', code: 'gone' }] },
    // None of these would do what it says.
    { rules: [{ fault: 'subscription', code: 'expired', next: 1 }] },
    { rules: [{ fault: 'clock_jump', delay_ms: 1, rate: 0.5 }] },
    { rules: [{ fault: 'late_answer', delay_ms: 2 ** 31 }] },
    { rules: [{ fault: 'refuse', code: 'F-001', path: '/receipts/' }] },
    { rules: [null] },
  ])('refuses %j', (body) =>
    withRegister(EMULATOR, async (register) => {
      expect(await register.call('POST', '/emulator/faults', body)).toMatchObject({
        status: 400,
        body: { error: { code: 'S-003' } },
      });
    }),
  );
});

test('REGISTER_EXTENSIONS=off: the key means nothing, the journal cannot be asked, no capabilities', () =>
  withRegister({ environment: { EMULATOR: '1', REGISTER_EXTENSIONS: 'off' } }, async (register) => {
    const status = (await register.call('GET', '/status')).body;
    expect(status).not.toHaveProperty('capabilities');
    expect(status).not.toHaveProperty('journalId');
    const answers = [await register.sell(sale(), 'key-1'), await register.sell(sale(), 'key-1')];
    expect(answers.map(({ body }) => body.receipt.receiptSeq)).toEqual([1, 2]);
    expect((await register.call('GET', '/receipts/1')).status).toBe(404);
    expect((await register.call('GET', '/receipts?key=key-1')).status).toBe(405);
  }));
