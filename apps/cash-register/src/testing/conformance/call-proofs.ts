import { ENDPOINTS, type Row } from './specification.js';
import { MovableClock } from '../fake-clock.js';
import { withRegister, type TestRegister, type TestRegisterOptions } from '../register-fixture.js';
import { BREAD, item, sale } from '../samples.js';
import type { Proof } from './rule-proofs.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const HEADERS = ['x-subscription-expires-at', 'x-subscription-days-left', 'x-subscription-state'];

function on(work: (register: TestRegister) => Promise<void>, options: TestRegisterOptions = {}): Proof {
  return () => withRegister(options, work);
}

/** Expiring while five days are left of a window of fourteen. */
const EXPIRING = { SUBSCRIPTION_EXPIRES_AT: new Date(Date.now() + 5.5 * DAY_MS).toISOString() };

async function expectCode(
  answer: Promise<{ status: number; body: unknown }>,
  status: number,
  code: string,
): Promise<void> {
  expect(await answer).toMatchObject({ status, body: { success: false, error: { code } } });
}

export const CALL_PROOFS: Partial<Record<Row, Proof>> = {
  'request: type is required and one of sale, refund, advance, credit': on(async (register) => {
    await expectCode(register.sell({ ...sale(), type: undefined }), 400, 'E-005');
    for (const type of ['sale', 'advance', 'credit'] as const) {
      expect((await register.sell(sale({ type }))).status).toBe(200);
    }
  }),
  'request: items holds at least one item': on((register) =>
    expectCode(register.sell(sale({ items: [] })), 400, 'E-006'),
  ),
  'request: received says how the customer paid': on(async (register) => {
    await register.sell(sale({ received: { cash: 500_000, card: 1_500_000 } }));
    expect((await register.call('GET', '/fm/info')).body).toMatchObject({
      AccumulatedSaleCash: 500_000,
      AccumulatedSaleCard: 1_500_000,
    });
    await expectCode(register.sell({ ...sale(), received: null }), 400, 'E-008');
  }),
  'item: name is cut to 63 bytes, never refused': on(async (register) => {
    const { status } = await register.sell(sale({ items: [item({ name: 'Ж'.repeat(80) })] }));
    const { data } = await register.ofd('/documents');
    expect([status, data[0].items[0].name]).toEqual([200, 'Ж'.repeat(31)]);
  }),
  'item: units is required': on((register) =>
    expectCode(register.sell(sale({ items: [item({ units: undefined })] })), 400, 'S-003'),
  ),
  'item: amount is quantity x 1000': on(async (register) => {
    const line = item({ price: 1_000_000, amount: 500 });
    await expectCode(register.sell(sale({ items: [line], received: { cash: 500_101, card: 0 } })), 400, 'E-009');
    expect((await register.sell(sale({ items: [line], received: { cash: 500_000, card: 0 } }))).status).toBe(200);
    for (const amount of [0, -1, 1.5, '1000']) {
      await expectCode(register.sell(sale({ items: [item({ amount } as never)] })), 400, 'S-003');
    }
  }),
  'item: barcode, label, labels, discount and packageCode are optional': on(async (register) => {
    const { name, spic, units, price, amount, vatPercent, vat } = item();
    const bare = { name, spic, units, price, amount, vatPercent, vat };
    const full = { ...item(), barcode: '4780000000001', label: 'l', labels: ['l'], discount: 100 };
    expect((await register.sell(sale({ items: [bare] }))).status).toBe(200);
    expect((await register.sell(sale({ items: [full], received: { cash: 1_999_900, card: 0 } }))).status).toBe(200);
  }),
  'item: discount lowers the line': on(async (register) => {
    const line = item({ discount: 500_000 });
    await expectCode(register.sell(sale({ items: [line] })), 400, 'E-009');
    expect((await register.sell(sale({ items: [line], received: { cash: 1_500_000, card: 0 } }))).status).toBe(200);
    await expectCode(
      register.sell(sale({ items: [item({ discount: 2_000_001 })], received: { cash: 0, card: 0 } })),
      400,
      'S-003',
    );
  }),
  'item: unknown fields are ignored': on(async (register) => {
    const body = { ...sale({ items: [{ ...item(), colour: 'red' } as never] }), extra: { deep: [1] } };
    expect((await register.sell(body)).status).toBe(200);
  }),
  'header: X-API-Key is wanted on every call but GET /status': on(async (register) => {
    for (const endpoint of ENDPOINTS) {
      const [method = '', path = ''] = endpoint.split(' ');
      const wrong: Record<string, string>[] = [{}, { 'x-api-key': '' }, { 'x-api-key': 'test-key-0123456780' }];
      for (const headers of wrong) {
        const { status } = await fetch(register.url + path, { method, headers });
        expect(`${endpoint} ${String(status)}`).toBe(`${endpoint} ${endpoint === 'GET /status' ? '200' : '401'}`);
      }
    }
  }),
  'header: subscription headers on every response but that of GET /status': on(async (register) => {
    for (const endpoint of ENDPOINTS) {
      const [method = '', path = ''] = endpoint.split(' ');
      const { headers } = await register.call(method, path, endpoint === 'POST /receipts' ? sale() : undefined);
      const isStatus = endpoint === 'GET /status';
      for (const name of HEADERS) expect([endpoint, name, headers.has(name)]).toEqual([endpoint, name, !isStatus]);
    }
  }),
  'header: subscription headers on errors': on(async (register) => {
    const answers = [
      await register.call('GET', '/nowhere'),
      await register.call('PUT', '/receipts'),
      await register.call('GET', '/fm/info', undefined, { 'x-api-key': 'x' }),
      await register.sell('{'),
      await register.sell(sale({ items: [] })),
      await register.call('POST', '/receipts', 'x', { 'content-type': 'text/plain' }),
      await register.sell({ ...sale(), pad: 'x'.repeat(1024 * 1024) }),
    ];
    for (const { status, headers } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      for (const name of HEADERS) expect([status, name, headers.has(name)]).toEqual([status, name, true]);
    }
  }),
  'header: X-Subscription-Warning only while expiring': async () => {
    await withRegister({}, async (register) => {
      expect((await register.call('GET', '/fm/info')).headers.has('x-subscription-warning')).toBe(false);
    });
    await withRegister({ environment: EXPIRING }, async (register) => {
      const { headers } = await register.call('GET', '/fm/info');
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-subscription-warning': 'true',
        'x-subscription-state': 'expiring',
        'x-subscription-days-left': '5',
        'x-subscription-expires-at': EXPIRING.SUBSCRIPTION_EXPIRES_AT,
      });
    });
  },
  'subscription: active, expiring, expired': () => {
    const clock = new MovableClock();
    const environment = { SUBSCRIPTION_EXPIRES_AT: new Date(Date.now() + 15 * DAY_MS).toISOString() };
    return withRegister({ environment, clock }, async (register) => {
      const states: unknown[] = [];
      for (const days of [0, 2, 14]) {
        clock.move(days * DAY_MS);
        states.push((await register.call('GET', '/status')).body.subscriptionState);
      }
      expect(states).toEqual(['active', 'expiring', 'expired']);
    });
  },
  'rule: E-001 the register is not activated': on(
    async (register) => {
      expect((await register.call('GET', '/status')).body).toMatchObject({ activated: false });
      await expectCode(register.sell(sale()), 503, 'E-001');
      await expectCode(register.call('POST', '/z-report/open'), 503, 'E-001');
    },
    { environment: { REGISTER_ACTIVATED: 'false' } },
  ),
  'rule: E-002 the subscription has expired': () => {
    const clock = new MovableClock();
    const environment = { SUBSCRIPTION_EXPIRES_AT: new Date(Date.now() + DAY_MS).toISOString() };
    return withRegister({ environment, clock }, async (register) => {
      const sold = await register.sell(sale(), 'key-1');
      clock.move(2 * DAY_MS);
      await expectCode(register.sell(sale()), 402, 'E-002');
      await expectCode(register.call('POST', '/z-report/close'), 402, 'E-002');
      // What was registered can still be queried, found by key and delivered.
      expect((await register.sell(sale(), 'key-1')).body).toEqual(sold.body);
      for (const [method, path] of [
        ['GET', '/fm/info'],
        ['POST', '/receipts/send-unsent'],
        ['GET', '/receipts/1'],
      ] as const) {
        expect((await register.call(method, path)).status).toBe(200);
      }
    });
  },
  'error: S-001 wrong or missing key': on((register) =>
    expectCode(register.call('GET', '/business', undefined, { 'x-api-key': 'no' }), 401, 'S-001'),
  ),
  'error: S-002 unknown path': on((register) => expectCode(register.call('GET', '/receipt'), 404, 'S-002')),
  'error: S-002 wrong method': on(async (register) => {
    await expectCode(register.call('PUT', '/receipts'), 405, 'S-002');
    const answer = await register.call('DELETE', '/status');
    await expectCode(Promise.resolve(answer), 405, 'S-002');
    expect(answer.headers.get('allow')).toBe('GET');
  }),
  'error: S-003 malformed JSON': on(async (register) => {
    const bodies = ['', '{', '{"type":NaN}', 'null', '[]', '"sale"', '1', '{"type":"sale",}', '['.repeat(200_000)];
    for (const body of bodies) await expectCode(register.sell(body), 400, 'S-003');
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(0);
  }),
  'error: S-003 wrong content type': on(async (register) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    await expectCode(register.call('POST', '/receipts', 'type=sale', headers), 415, 'S-003');
  }),
  'error: S-003 body too large': on(async (register) => {
    await expectCode(register.sell({ ...sale(), pad: 'x'.repeat(2 * 1024 * 1024) }), 413, 'S-003');
    const items = Array.from({ length: 501 }, () => item({ spic: BREAD.spic }));
    await expectCode(register.sell(sale({ items })), 400, 'S-003');
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(0);
  }),
};
