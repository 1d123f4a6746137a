// Promise: a sale is judged whole before it is stored, stored once however often it is sent, and cancelled only if it never left.
import 'reflect-metadata';
import { newId } from '#runtime';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

let fixture: SalesFixture;

beforeAll(async () => {
  fixture = await SalesFixture.start();
  const admin = await fixture.gateway.createToken(fixture.gateway.merchantId, ['webhooks:admin']);
  await fixture.gateway.post('/v1/webhooks/callbacks/rotate-secret', {}, admin);
});

afterAll(() => fixture?.stop());

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;
const faults = ({ body }: SalesAnswer): string[] => body.errors.map(({ pointer, code }) => `${code} ${pointer}`);

describe('a complete body', () => {
  test('sale, advance and credit; mixed money, sellers, buyer, labels, discount: everything comes back as it was said', async () => {
    for (const type of ['sale', 'advance', 'credit']) {
      const items = [
        fixture.item('bread', 10_000, '1.005', { discount: 50, sku: 'B-1', barcode: '4780000000001' }),
        fixture.item('water', 5_000, 2, { labels: ['W\u001d1', 'W2'], commission: { tin: '123456789' } }),
        fixture.item('bread', 1_000, 1, { vat_percent: 0, commission: { pinfl: '12345678901234' } }),
      ];
      const customer = { phone: '998901234567', email: 'a@b.uz', tin: '123456789', pinfl: '12345678901234' };
      const more = { type, customer, callback_url: 'https://erp.example/cb', metadata: { order: '7' } };
      const payment = { method: 'mixed', cash: 10_000, card: 11_000, provider: 'humo' };
      const { status, body } = await fixture.ask('POST', '/v1/receipts', fixture.saleOf(items, { ...more, payment }));
      expect([status, body.errors]).toEqual([202, undefined]);
      expect(body).toMatchObject({
        ...{ type, customer, payment, callback_url: 'https://erp.example/cb', metadata: { order: '7' }, total: 21_000 },
        refunded: { total: 0, complete: false },
        items: [
          {
            line: 1,
            sku: 'B-1',
            barcode: '4780000000001',
            qty: 1.005,
            price: 10_000,
            discount: 50,
            total: 10_000,
            vat: 1_071,
          },
          { line: 2, labels: ['W\u001d1', 'W2'], commission: { tin: '123456789' }, total: 10_000 },
          { line: 3, vat_percent: 0, vat: 0, commission: { pinfl: '12345678901234' } },
        ],
      });
    }
  });

  test('an external_id is the same sale however its accents were typed, and is shown in NFC', async () => {
    const sell = (external_id: string): ReturnType<typeof fixture.ask> =>
      fixture.ask('POST', '/v1/receipts', fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id }));
    const first = await sell('cafe\u0301-1');
    const again = await sell('caf\u00e9-1');
    expect([first.status, again.status]).toEqual([202, 202]);
    expect([first.body['external_id'], again.body['id']]).toEqual(['caf\u00e9-1', first.body['id']]);
  });

  test('500 items, and not one more', async () => {
    const items = Array.from({ length: 500 }, () => fixture.item('bread', 100, 1));
    const { status, body } = await fixture.ask('POST', '/v1/receipts', fixture.saleOf(items));
    expect([status, body.items.length, body.total]).toEqual([202, 500, 50_000]);
    const tooMany = await fixture.ask('POST', '/v1/receipts', fixture.saleOf([...items, fixture.item('bread', 1, 1)]));
    expect([outcome(tooMany), ...faults(tooMany)]).toEqual(['422 too_many', 'too_many /items']);
  });

  test('everything that is wrong is said at once, each with its pointer, code and rule', async () => {
    const items = [
      fixture.item('bread', 0, 1),
      fixture.item('water', 100, 2, { labels: ['X1'] }),
      fixture.item('water', 100, 1, { labels: ['X1'] }),
      fixture.item('water', 100, 1),
      fixture.item('vodka', 100, 1, { labels: ['V1'], package_code: '1', vat_percent: 15 }),
      fixture.item('bread', 100, 1, { spic: '99999999999999999' }),
      fixture.item('bread', 100, 1, { commission: {} }),
      fixture.item('bread', 100, 1, { commission: { tin: '123456789', pinfl: '12345678901234' } }),
      { name: 'an unknown product', price: 100, qty: 1 },
    ];
    const answer = await fixture.ask(
      'POST',
      '/v1/receipts/validate',
      fixture.saleOf(items, { cashier_id: 'no_such_cashier' }),
    );
    expect(answer.status).toBe(422);
    expect(faults(answer).sort()).toEqual(
      [
        ...['E-012 /items/0/price', 'E-017 /items/1/labels', 'duplicate /items/2/labels/0', 'E-004 /items/3/labels'],
        ...['E-014 /items/4/package_code', 'E-015 /items/4/vat_percent', 'E-013 /items/5/spic'],
        ...['required /items/6/commission', 'invalid_value /items/7/commission', 'goods_unknown /items/8/name'],
        ...['cashier_unknown /cashier_id', 'E-003 /payment'],
      ].sort(),
    );
    expect(answer.body.errors.find(({ code }) => code === 'E-012')).toMatchObject({ rule: 'ITEM_PRICE_INVALID' });
  });

  test.each([
    ['ru', 'ru', /Цена/, 'E-012'],
    ['uz-Latn, ru;q=0.5', 'uz', /Narx/, 'E-012'],
    ['fr', 'en', /price must be/, 'E-012'],
  ])('in the caller’s language: %s', async (header, _language, words, code) => {
    const body = fixture.saleOf([fixture.item('bread', 0, 1)]);
    const answer = await fixture.ask('POST', '/v1/receipts', body, { headers: { 'accept-language': header } });
    expect(answer.body).toMatchObject({
      code,
      detail: expect.stringMatching(words),
      errors: [{ detail: answer.body.detail }],
    });
  });

  test('a unit of measure as the register of goods numbers it, also with nine digits', async () => {
    const sell = (units: number): Promise<SalesAnswer> =>
      fixture.ask('POST', '/v1/receipts', fixture.saleOf([fixture.item('bread', 1_000, 1, { units })]));
    for (const units of [0, 796, 9_999_999, 10_000_000, 244_272_402, 999_999_999]) {
      const answer = await sell(units);
      expect([outcome(answer), answer.body.items[0]?.units]).toEqual(['202 accepted', units]);
    }
    for (const units of [-1, 1_000_000_000, 2 ** 31, 1.5])
      expect(faults(await sell(units))).toEqual([expect.stringMatching(/ \/items\/0\/units$/)]);
  });

  test.each(['cash', 'card', 'wallet', 'mixed'])(
    '%s has been taken: nothing to collect it by belongs to it',
    async (method) => {
      const split = method === 'mixed' ? { cash: 400, card: 600 } : {};
      const online = {
        ...{ token: 'tok_12345678', phone: '998901234567', qr_code: '880101698207133392', otp: '123456' },
        ...{ return_url: 'https://shop.example/', capture: 'auto' },
      };
      for (const [field, value] of Object.entries(online)) {
        const payment = { method, ...split, [field]: value };
        const answer = await fixture.ask(
          'POST',
          '/v1/receipts',
          fixture.saleOf([fixture.item('bread', 1_000, 1)], { payment }),
        );
        expect([answer.status, ...faults(answer)]).toEqual([422, `invalid_value /payment/${field}`]);
      }
    },
  );

  test('an empty provider is none', async () => {
    for (const method of ['cash', 'card', 'wallet'])
      for (const provider of ['', null, undefined]) {
        const payment = { method, provider };
        const body = fixture.saleOf([fixture.item('bread', 1_000, 1)], { payment });
        const answer = await fixture.ask('POST', '/v1/receipts', body);
        expect([outcome(answer), answer.body.payment.provider]).toEqual(['202 accepted', null]);
      }
  });

  test('cash for goods that may not be sold for it', async () => {
    const vodka = fixture.item('vodka', 100, 1, { labels: ['V9'] });
    const answer = await fixture.ask('POST', '/v1/receipts', fixture.saleOf([vodka]));
    expect(faults(answer)).toEqual(['E-003 /payment']);
    const byCard = fixture.saleOf([vodka], { payment: { method: 'card' } });
    expect((await fixture.ask('POST', '/v1/receipts', byCard)).status).toBe(202);
  });
});

describe('validating', () => {
  test('says what the receipt would become, and stores nothing', async () => {
    const before = await fixture.gateway.world();
    const body = fixture.saleOf([fixture.item('bread', 112_000, '0.5')], { external_id: 'checked-1' });
    const { status, body: answer } = await fixture.ask('POST', '/v1/receipts/validate', body);
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      valid: true,
      ...{
        type: 'sale',
        external_id: 'checked-1',
        device_id: fixture.device.deviceId,
        total: 56_000,
        vat_total: 6_000,
      },
      payment: { method: 'cash', cash: 56_000, card: 0 },
      items: [{ line: 1, total: 56_000, vat: 6_000 }],
    });
    expect('id' in answer).toBe(false);
    expect(await fixture.gateway.world()).toBe(before);
  });
});

test('200 identical posts at once: one receipt', async () => {
  const body = fixture.saleOf([fixture.item('bread', 1_000, 1)]);
  const headers = { 'idempotency-key': 'two-hundred' };
  const ask = (): Promise<SalesAnswer> => fixture.ask('POST', '/v1/receipts', body, { headers });
  const answers = await Promise.all(Array.from({ length: 200 }, ask));
  expect(new Set(answers.map(outcome))).toEqual(new Set(['202 accepted']));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  const [counted] = await fixture.gateway.prisma.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) FROM receipts WHERE idempotency_key = 'two-hundred'`;
  expect(counted?.count).toBe(1n);
});

describe('cancelling', () => {
  const accept = async (): Promise<string> => {
    const { body } = await fixture.ask('POST', '/v1/receipts', fixture.saleOf([fixture.item('bread', 1_000, 1)]));
    return body.id;
  };
  const cancel = (id: string, token?: string): Promise<SalesAnswer> =>
    fixture.ask('POST', `/v1/receipts/${id}/cancel`, undefined, token === undefined ? {} : { token });

  test('what waits is cancelled, with its event; once more answers the same', async () => {
    const id = await accept();
    expect(outcome(await cancel(id))).toBe('200 cancelled');
    expect(outcome(await cancel(id))).toBe('200 cancelled');
    const events = await fixture.gateway.events(id);
    expect(events.map(({ type }) => type)).toEqual(['receipt.accepted', 'receipt.cancelled']);
  });

  test.each(['sending', 'registered', 'rejected', 'unknown', 'awaiting_payment'])('not what is %s', async (status) => {
    const id =
      status === 'awaiting_payment'
        ? await fixture.gateway.createReceipt(fixture.gateway.merchantId, fixture.device, { status })
        : await accept();
    if (status === 'registered') await fixture.register(id);
    else if (status !== 'awaiting_payment') await fixture.move(id, status);
    const before = await fixture.gateway.world();
    expect(outcome(await cancel(id))).toBe('409 receipt_not_cancellable');
    expect(await fixture.gateway.world()).toBe(before);
  });

  test('not what an earlier attempt may have left in the register', async () => {
    const { receiptId, attemptId } = await fixture.gateway.createAttempt({ device: fixture.device });
    await fixture.move(receiptId, 'accepted');
    await fixture.gateway.prisma.$executeRaw`
      UPDATE attempts SET state = 'not_registered', outcome = '{"resolution": {"decision": "not_registered"}}'
       WHERE id = ${attemptId}`;
    expect(outcome(await cancel(receiptId))).toBe('409 receipt_not_cancellable');
    await fixture.gateway.prisma.$executeRaw`
      UPDATE attempts SET outcome = '{"answer": {"kind": "not_sent"}}' WHERE id = ${attemptId}`;
    expect(outcome(await cancel(receiptId))).toBe('200 cancelled');
  });

  test('not what is older than a restore of the database: its register may have it', async () => {
    const id = await accept();
    const { prisma } = fixture.gateway;
    await prisma.$executeRaw`
      INSERT INTO database_identity (identity, changed_at) VALUES ('x', now() + interval '1 s')
      ON CONFLICT (id) DO UPDATE SET changed_at = excluded.changed_at`;
    expect(outcome(await cancel(id))).toBe('409 receipt_not_cancellable');
    // `restore begin`, and no relay has seen it yet.
    await prisma.$executeRaw`UPDATE database_identity SET identity = 'announced', changed_at = NULL`;
    expect(outcome(await cancel(id))).toBe('409 receipt_not_cancellable');
    // A standby that was promoted a moment ago, and no relay has met it yet.
    await prisma.$executeRaw`UPDATE database_identity SET identity = 'x', server_started = now() - interval '1 day'`;
    expect(outcome(await cancel(id))).toBe('409 receipt_not_cancellable');
    await prisma.$executeRaw`UPDATE database_identity SET server_started = pg_postmaster_start_time()`;
    expect(outcome(await cancel(id))).toBe('200 cancelled');
    await prisma.$executeRaw`DELETE FROM database_identity`;
  });

  test('200 at once for a caller that waits for it', async () => {
    const key = { 'idempotency-key': 'waits', prefer: 'wait=50' };
    const body = fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id: 'waits' });
    const waiting = fixture.ask('POST', '/v1/receipts', body, { headers: key });
    let id: string | undefined;
    while (id === undefined) {
      const [row] = await fixture.gateway.prisma.$queryRaw<{ id: string }[]>`
        SELECT id FROM receipts WHERE external_id = 'waits'`;
      id = row?.id;
    }
    expect(outcome(await cancel(id))).toBe('200 cancelled');
    expect(outcome(await waiting)).toBe('200 cancelled');
  });

  test('200 at the deadline for a waiting caller whose notice was lost', async () => {
    const body = fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id: 'unnotified' });
    const waiting = fixture.ask('POST', '/v1/receipts', body, { headers: { prefer: 'wait=2' } });
    let cancelled = 0;
    // As a gateway leaves it that dies between the cancel's commit and its notice.
    while (cancelled === 0) {
      cancelled = await fixture.gateway.prisma.$executeRaw`
        UPDATE receipts SET status = 'cancelled' WHERE external_id = 'unnotified' AND status = 'accepted'`;
    }
    expect(outcome(await waiting)).toBe('200 cancelled');
  });

  test('a stranger’s, a missing one, without the scope', async () => {
    const id = await accept();
    const stranger = await fixture.gateway.createToken(await fixture.gateway.createMerchant(), ['receipts:write']);
    expect(outcome(await cancel(id, stranger))).toBe('404 not_found');
    for (const missing of [newId('rcp'), 'x', '%00']) expect(outcome(await cancel(missing))).toBe('404 not_found');
    const reader = await fixture.gateway.createToken(fixture.gateway.merchantId, ['receipts:read']);
    expect(outcome(await cancel(id, reader))).toBe('403 insufficient_scope');
    expect((await fixture.gateway.receipt(id))['status']).toBe('accepted');
  });
});
