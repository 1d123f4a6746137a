// Each row of the providers' own tables is what the running gateway answers, whatever the order of the calls before.
import { multicardSuccessSign, multicardWebhookSign } from '#payments';
import { sql } from '../system/database.js';
import { anId, askPayme, click, multicard, payme, PAYME_AUTHORIZATION, verdictOf } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const call = (method: string, params: unknown) => askPayme(fixture, method, params);

interface Order {
  id: string;
  time: number;
  amount: number;
  account: { order_id: string };
}

async function newOrder(provider = 'payme'): Promise<Order> {
  const { body } = await fixture.pay({ provider });
  return { id: anId(), time: Date.now(), amount: PRICE, account: { order_id: body.id } };
}

describe('Payme', () => {
  const created = async (): Promise<Order> => {
    const order = await newOrder();
    expect(verdictOf(await call('CreateTransaction', order))).toBe(1);
    return order;
  };
  const old = async (): Promise<Order> => {
    const order = await created();
    await fixture.gateway.prisma.$executeRaw`
      UPDATE provider_transactions SET provider_time_ms = provider_time_ms - 43200001 WHERE id = ${order.id}`;
    return { ...order, time: order.time - 43_200_001 };
  };
  const performed = async (): Promise<Order> => {
    const order = await created();
    expect(verdictOf(await call('PerformTransaction', { id: order.id }))).toBe(2);
    return order;
  };
  const cancelled = async (): Promise<Order> => {
    const order = await created();
    expect(verdictOf(await call('CancelTransaction', { id: order.id, reason: 3 }))).toBe(-1);
    return order;
  };
  const reversed = async (): Promise<Order> => {
    const order = await performed();
    expect(verdictOf(await call('CancelTransaction', { id: order.id, reason: 5 }))).toBe(-2);
    return order;
  };
  const unknownAccount = async (): Promise<Order> => ({ ...(await newOrder()), account: { order_id: 'pay_nobody' } });
  const anothers = async (): Promise<Order> => newOrder('click');
  const dearer = async (): Promise<Order> => ({ ...(await newOrder()), amount: PRICE + 1 });
  const busy = async (): Promise<Order> => ({ ...(await created()), id: anId() });
  const paid = async (): Promise<Order> => ({ ...(await performed()), id: anId() });

  // Situation; CheckPerform, Create, Perform, Cancel, Check: each asked of an order of its own.
  it.each([
    ['an unknown account', unknownAccount, [-31050, -31050, -31003, -31003, -31003]],
    ['an account of another cashbox', anothers, [-31050, -31050, -31003, -31003, -31003]],
    ['another amount', dearer, [-31001, -31001, -31003, -31003, -31003]],
    ['another live transaction', busy, [-31008, -31008, -31003, -31003, -31003]],
    ['paid by another transaction', paid, [-31051, -31008, -31003, -31003, -31003]],
    ['nothing known', newOrder, [{ allow: true }, 1, -31003, -31003, -31003]],
    ['state 1, fresh', created, [-31008, 1, 2, -1, 1]],
    ['state 1, older than 12 h', old, [-31008, -31008, -31008, -1, 1]],
    ['state 2', performed, [-31051, -31008, 2, -2, 2]],
    ['state -1', cancelled, [{ allow: true }, -31008, -31008, -1, -1]],
    ['state -2', reversed, [-31051, -31008, -31008, -2, -2]],
  ])('%s', async (_situation, arrange, expected) => {
    const methods = ['CheckPerformTransaction', 'CreateTransaction', 'PerformTransaction', 'CancelTransaction'];
    for (const [index, method] of [...methods, 'CheckTransaction'].entries()) {
      const { id, time, amount, account } = await arrange();
      const params = [{ amount, account }, { id, time, amount, account }, { id }, { id, reason: 5 }, { id }][index];
      const first = await call(method, params);
      expect([method, verdictOf(first)]).toEqual([method, expected[index]]);
      if (first.error) expect(first.error.message).toMatchObject({ ru: expect.any(String), uz: expect.any(String) });
      if (first.error && first.error.code <= -31050 && first.error.code >= -31099)
        expect(first.error.data).toBe('order_id');
      // Each is delivered at least twice, and the repeat is equal.
      const again = await call(method, params);
      if (!(index === 0 && _situation === 'nothing known')) expect(again).toEqual(first);
    }
  });

  it('refuses a repeated Create that names another sum or another order, and keeps the first', async () => {
    const order = await created();
    const repeat = async (more: object) => (await call('CreateTransaction', { ...order, ...more })).error;
    expect((await repeat({ amount: PRICE + 1 })).code).toBe(-31001);
    const other = await newOrder();
    expect(await repeat({ account: other.account })).toMatchObject({ code: -31050, data: 'order_id' });
    expect((await repeat({ account: {} })).code).toBe(-31050);
    expect(verdictOf(await call('CreateTransaction', order))).toBe(1);
    expect(await fixture.read(other.account.order_id)).toMatchObject({ status: 'pending' });
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('answers %s with HTTP 200 and -32300', async (method) => {
    const url = fixture.accounts.payme?.url ?? '';
    const body = JSON.stringify({ method: 'CheckTransaction', params: { id: anId() }, id: 77 });
    const headers = { 'content-type': 'text/json', authorization: PAYME_AUTHORIZATION };
    const response = await fetch(url, { method, headers, ...(method !== 'GET' && { body }) });
    expect(response.status).toBe(200);
    const id = method === 'GET' ? null : 77;
    expect(await response.json()).toMatchObject({ id, error: { code: -32300 } });
  });

  describe('what the merchant has delivered', () => {
    const deliver = (id: string, delivered: boolean) =>
      fixture.ask('POST', `/v1/payments/${id}/delivered`, { delivered });

    it('cannot be cancelled, until it came back', async () => {
      const { id, account } = await performed();
      const said = await deliver(account.order_id, true);
      expect([said.status, typeof said.body.delivered_at]).toEqual([200, 'string']);
      expect(verdictOf(await call('CancelTransaction', { id, reason: 5 }))).toBe(-31007);
      expect(verdictOf(await call('CheckTransaction', { id }))).toBe(2);
      expect((await deliver(account.order_id, false)).body.delivered_at).toBeNull();
      expect(verdictOf(await call('CancelTransaction', { id, reason: 5 }))).toBe(-2);
      await fixture.until(account.order_id, { status: 'refunded' });
    });

    it('is only what was paid, and only by the merchant’s own word', async () => {
      const order = await newOrder();
      const unpaid = await deliver(order.account.order_id, true);
      expect([unpaid.status, unpaid.body.code]).toEqual([409, 'payment_not_deliverable']);
      const stranger = await fixture.stranger(['payments:write']);
      const { status } = await fixture.ask(
        'POST',
        `/v1/payments/${order.account.order_id}/delivered`,
        { delivered: true },
        stranger,
      );
      expect(status).toBe(404);
    });
  });

  it('answers every call with -32400 and its id while the database fails, and as ever afterwards', async () => {
    const order = await created();
    const { database } = fixture.gateway;
    await sql(database, 'ALTER TABLE provider_transactions RENAME TO provider_transactions_away');
    const methods = ['CheckPerformTransaction', 'CreateTransaction', 'PerformTransaction', 'CancelTransaction'];
    try {
      for (const method of [...methods, 'CheckTransaction', 'GetStatement'])
        expect((await payme(fixture, method, { ...order, from: 1, to: 2 })).error.code).toBe(-32400);
    } finally {
      await sql(database, 'ALTER TABLE provider_transactions_away RENAME TO provider_transactions');
    }
    expect(verdictOf(await call('PerformTransaction', { id: order.id }))).toBe(2);
    await fixture.until(order.account.order_id, { status: 'captured', receipt: 'registered' });
  });

  it('cancels what is too old with reason 4, and by nothing that only asks', async () => {
    const { id } = await old();
    expect((await call('CheckTransaction', { id })).result).toMatchObject({ state: 1, cancel_time: 0, reason: null });
    expect(verdictOf(await call('PerformTransaction', { id }))).toBe(-31008);
    const { result } = await call('CheckTransaction', { id });
    expect(result).toMatchObject({ state: -1, reason: 4, perform_time: 0 });
    expect(result['cancel_time']).toBeGreaterThan(0);
  });

  it.each([
    ['an id that no database could keep', { id: 'a\u0000b' }],
    ['an id that is too long', { id: 'x'.repeat(65) }],
    ['half a character', { id: '\ud800' }],
  ])('refuses %s as a broken call, and goes on with the others', async (_name, bad) => {
    const order = await newOrder();
    const [broken, sound] = await Promise.all([
      call('CreateTransaction', { ...order, ...bad }),
      call('CreateTransaction', order),
    ]);
    expect([broken.error.code, verdictOf(sound)]).toEqual([-32600, 1]);
  });

  it('answers nothing from its cache of the call before, when another gateway has been there since', async () => {
    const { prisma } = fixture.gateway;
    const asked = await newOrder();
    expect((await call('CheckPerformTransaction', { amount: asked.amount, account: asked.account })).result).toEqual({
      allow: true,
    });
    await prisma.$executeRaw`UPDATE payments SET expires_at = now(), due_at = NULL WHERE id = ${asked.account.order_id}`;
    expect(verdictOf(await call('CreateTransaction', asked))).toBe(-31008);
    const paidElsewhere = await created();
    await prisma.$executeRaw`
      UPDATE provider_transactions SET state = 2, perform_time_ms = 1700000000123 WHERE id = ${paidElsewhere.id}`;
    const { result } = await call('PerformTransaction', { id: paidElsewhere.id });
    expect(result).toMatchObject({ state: 2, perform_time: 1_700_000_000_123 });
    const closedElsewhere = await created();
    await prisma.$executeRaw`
      UPDATE provider_transactions SET state = -1, is_live = false, reason = 3 WHERE id = ${closedElsewhere.id}`;
    expect(verdictOf(await call('PerformTransaction', { id: closedElsewhere.id }))).toBe(-31008);
    expect(await fixture.read(closedElsewhere.account.order_id)).toMatchObject({ status: 'reserved' });
  });

  it('answers many at once each with its own, written together', async () => {
    const orders = await Promise.all(Array.from({ length: 24 }, () => newOrder()));
    const checks = await Promise.all(
      orders.map(({ amount, account }) => call('CheckPerformTransaction', { amount, account })),
    );
    expect(checks.every(({ result }) => result['allow'] === true)).toBe(true);
    // Every order twice by the same transaction and once by another, all at the same time.
    const creates = await Promise.all(
      orders.flatMap((order) => [order, order, { ...order, id: anId() }].map((one) => call('CreateTransaction', one))),
    );
    for (const [index, order] of orders.entries()) {
      const [first, same, other] = creates.slice(index * 3, index * 3 + 3);
      const states = [first, same, other].map((answer) => verdictOf(answer ?? {}));
      // Whichever of the two transactions came first has it.
      expect([JSON.stringify([1, 1, -31008]), JSON.stringify([-31008, -31008, 1])]).toContain(JSON.stringify(states));
      expect(first).toEqual(same);
      const rows = await fixture.gateway.prisma.$queryRaw<{ id: string }[]>`
        SELECT id FROM provider_transactions WHERE payment_id = ${order.account.order_id}`;
      expect(rows).toHaveLength(1);
      order.id = rows[0]?.id ?? '';
    }
    const performs = await Promise.all(
      orders.flatMap(({ id }) => [1, 2].map(() => call('PerformTransaction', { id }))),
    );
    expect(performs.map(verdictOf)).toEqual(performs.map(() => 2));
    for (const [index, { account }] of orders.entries()) {
      expect(performs[index * 2]).toEqual(performs[index * 2 + 1]);
      expect(performs[index * 2]?.result['transaction']).toBe(account.order_id);
      await fixture.until(account.order_id, { status: 'captured', receipt: 'registered' });
      const events = await fixture.events(account.order_id);
      expect(events).toEqual(['pending', 'reserved', 'captured'].map((state) => `payment.${state}`));
    }
  });

  it('keeps each call that changed something, with its answer', async () => {
    const { id } = await performed();
    const rows = await fixture.gateway.prisma.$queryRaw<
      { provider_ref: string; operation: string; answer: { result: { state: number } } }[]
    >`
      SELECT provider_ref, operation, answer FROM provider_callbacks
       WHERE account_id = ${fixture.accountIds['payme'] ?? ''} ORDER BY id DESC LIMIT 2`;
    expect(rows.map(({ answer }) => answer.result.state)).toEqual([2, 1]);
    expect(rows.map(({ operation }) => operation)).toEqual(['PerformTransaction', 'CreateTransaction']);
    expect(rows.every(({ provider_ref: ref }) => ref === id)).toBe(true);
  });
});

describe('Click', () => {
  const ask = (orderId: string, more: Record<string, string> = {}) => click(fixture, orderId, more);
  let trans = Date.now();

  async function prepared(): Promise<{ id: string; done: Record<string, string> }> {
    const { body } = await fixture.pay({ provider: 'click' });
    trans += 1;
    const answer = await ask(body.id, { click_trans_id: String(trans) });
    expect(answer).toMatchObject({
      error: 0,
      error_note: 'Success',
      click_trans_id: trans,
      merchant_trans_id: body.id,
    });
    const merchant_prepare_id = String(answer['merchant_prepare_id']);
    return { id: body.id, done: { click_trans_id: String(trans), action: '1', merchant_prepare_id } };
  }
  const other = { click_trans_id: '1' };

  it.each([
    ['a missing field', {}, { click_paydoc_id: '' }, -8, 'Error in request from click'],
    ['a number of the payment that is none', {}, { click_paydoc_id: '7\u0000' }, -8, 'Error in request from click'],
    ['a wrong signature', {}, { secret: 'WRONG' }, -1, 'SIGN CHECK FAILED!'],
    ['another service', {}, { service_id: '54321' }, -1, 'SIGN CHECK FAILED!'],
    ['an action that does not exist', {}, { action: '2' }, -3, 'Action not found'],
    ['another amount at Prepare', {}, { action: '0', amount: '1.00' }, -2, 'Incorrect parameter amount'],
    ['another amount at Complete', {}, { amount: '1.00' }, -2, 'Incorrect parameter amount'],
    ['an unknown order', { id: 'order_9001' }, {}, -5, 'User does not exist'],
    ['a prepare id that was never given', {}, { merchant_prepare_id: '1' }, -6, 'Transaction does not exist'],
    ['a Complete of another attempt', {}, other, -6, 'Transaction does not exist'],
    ['a failure at Click', {}, { error: '-5017' }, -9, 'Transaction cancelled'],
    ['Prepare once more', {}, { action: '0' }, 0, 'Success'],
    ['Complete', {}, {}, 0, 'Success'],
  ])('%s: %o %o → %i', async (...[, about, more, error, error_note]) => {
    const { id, done } = await prepared();
    const named = 'id' in about ? about.id : id;
    const given = { ...done, ...(more as Record<string, string>) };
    const first = await ask(named, given);
    expect(first).toMatchObject({ error, error_note });
    const again = await ask(named, given);
    // What is over is over, and what was confirmed before is said to be.
    if (error === 0 && given['action'] === '1')
      expect(again).toMatchObject({ ...first, error: -4, error_note: 'Already paid' });
    else if (error !== -9) expect(again).toEqual(first);
  });

  it.each([
    ['-4', -4],
    ['0', 0],
  ])(
    'says that it is paid to every call after the one that paid; with repeated_complete %s its repeat is answered %i',
    async (...[setting, repeated]) => {
      const path = `/v1/provider-accounts/${fixture.accountIds['click'] ?? ''}`;
      await fixture.ask('PATCH', path, { settings: { repeated_complete: setting } });
      const { id, done } = await prepared();
      const completed = await ask(id, done);
      expect(completed).toMatchObject({ error: 0, merchant_confirm_id: expect.any(Number) });
      expect(await ask(id, done)).toMatchObject({
        error: repeated,
        merchant_confirm_id: completed['merchant_confirm_id'],
      });
      expect(await ask(id, { ...done, ...other })).toMatchObject({ error: -4, error_note: 'Already paid' });
      expect(await ask(id, { ...other, action: '0' })).toMatchObject({ error: -4 });
    },
  );

  it('accepts calls only from the account’s sources', async () => {
    const path = `/v1/provider-accounts/${fixture.accountIds['click'] ?? ''}`;
    const { id, done } = await prepared();
    await fixture.ask('PATCH', path, { sources: ['192.0.2.0/24'] });
    expect(await ask(id, done)).toMatchObject({ error: -1 });
    expect(await fixture.read(id)).toMatchObject({ status: 'reserved' });
    await fixture.ask('PATCH', path, { sources: ['127.0.0.0/8'] });
    expect(await ask(id, done)).toMatchObject({ error: 0 });
    await fixture.ask('PATCH', path, { sources: [] });
  });

  it('refuses what the merchant has cancelled', async () => {
    const { body } = await fixture.pay({ provider: 'click' });
    await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    await fixture.until(body.id, { status: 'cancelled', receipt: 'cancelled' });
    expect(await ask(body.id)).toMatchObject({ error: -9 });
  });

  it('knows the documentation’s own signatures', async () => {
    const form = {
      ...{ click_trans_id: '3737503', service_id: '12345', click_paydoc_id: '9', merchant_trans_id: 'order_9001' },
      ...{ amount: '1000.00', error: '0', error_note: 'Success' },
    };
    const post = async (more: Record<string, string>): Promise<unknown> => {
      const body = new URLSearchParams({ ...form, ...more });
      const response = await fetch(fixture.accounts.click?.url ?? '', { method: 'POST', body });
      return ((await response.json()) as { error: number }).error;
    };
    const prepare = { action: '0', sign_time: '2026-08-22 14:03:11', sign_string: '9f73df6a589039c3afde3e2039720e46' };
    const complete = {
      ...{ action: '1', merchant_prepare_id: '778', sign_time: '2026-08-22 14:03:19' },
      sign_string: 'a55a9138d88a9f9ee6fa86bece724e0b',
    };
    // Signed rightly, of an order that we do not have.
    expect([await post(prepare), await post(complete)]).toEqual([-5, -5]);
    expect(await post({ ...prepare, amount: '1000.0' })).toBe(-1);
    expect(await post({ ...complete, merchant_prepare_id: '779' })).toBe(-1);
  });
});

describe('Multicard', () => {
  async function invoice(): Promise<{ orderId: string; uuid: string }> {
    const { body } = await fixture.pay({ provider: 'multicard' });
    const [known] = await fixture.simulated(body.id);
    return { orderId: body.id, uuid: known?.id ?? '' };
  }

  it.each([
    ['a wrong signature', { secret: 'WRONG' }, [403, false]],
    ['another store', { storeId: '7' }, [403, false]],
    ['another sum', { amount: PRICE + 1 }, [200, false]],
    ['an unknown order', { orderId: 'order_9001' }, [200, false]],
    ['another payment of the same order', { uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367d' }, [200, false]],
    ['a sale that is registered', {}, [200, true]],
  ])('%s', async (_name, more, verdict) => {
    const asked = { ...(await invoice()), ...more };
    expect(await multicard(fixture, asked)).toEqual(verdict);
    expect(await multicard(fixture, asked)).toEqual(verdict);
  });

  it('has the money given back when the register refuses or the merchant has cancelled, every time it asks', async () => {
    const closed = await invoice();
    await fixture.ask('POST', `/v1/payments/${closed.orderId}/cancel`);
    await fixture.until(closed.orderId, { status: 'voided', receipt: 'cancelled' });
    expect(await multicard(fixture, closed)).toEqual([200, false]);
    fixture.register = 'rejects';
    const refused = await invoice();
    expect(await multicard(fixture, refused)).toEqual([200, false]);
    expect(await multicard(fixture, refused)).toEqual([200, false]);
  });

  it('keeps the money frozen while it is unknown', async () => {
    fixture.register = 'sleeps';
    const asked = await invoice();
    expect(await multicard(fixture, asked)).toEqual([500, false]);
    fixture.register = 'registers';
    await fixture.until(asked.orderId, { status: 'reserved', receipt: 'registered' });
    expect(await multicard(fixture, asked)).toEqual([200, true]);
  });

  it('accepts the documentation’s own signatures, and calls only from its sources', async () => {
    const id = fixture.accountIds['multicard'] ?? '';
    const vector = { uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367d', invoice_id: '2024864028760', amount: '20000' };
    const post = async (sign: string): Promise<number> => {
      const body = JSON.stringify({ ...vector, store_id: '6', sign });
      const response = await fetch(fixture.accounts.multicard?.url ?? '', { method: 'POST', body });
      await response.arrayBuffer();
      return response.status;
    };
    const signs = ['e3958442902981dd796a3b0ccdc61f08', '26679a3574b09237a37cd366aa0a178d58933b12'];
    const signed = { uuid: vector.uuid, storeId: '6', invoiceId: vector.invoice_id, amount: vector.amount };
    expect([multicardSuccessSign(signed, 'SECRET123'), multicardWebhookSign(signed, 'SECRET123')]).toEqual(signs);
    await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, { settings: { secret: 'SECRET123' } });
    expect([await post(signs[0] ?? ''), await post(signs[1] ?? ''), await post('0'.repeat(32))]).toEqual([
      200, 200, 403,
    ]);
    await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, { sources: ['195.158.26.90/32'] });
    expect(await post(signs[0] ?? '')).toBe(403);
    await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, { sources: [], settings: { secret: 'multi-secret' } });
  });
});
