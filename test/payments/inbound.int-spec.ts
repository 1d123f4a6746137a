// What a provider reports is applied once, answered in its words, and leaves money and receipt in agreement.
import { basicAuthorization } from '#payments';
import { anId, askPayme, click as callOfClick, PAYME_AUTHORIZATION, type Rpc } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const payme = (method: string, params: unknown, authorization?: string): Promise<Rpc> =>
  askPayme(fixture, method, params, authorization);

it.each([
  ['payme', 'reorder'],
  ['payme', 'stale_webhook'],
  ['payme', 'duplicate'],
  ['click', 'reorder'],
  ['click', 'stale_webhook'],
  ['click', 'duplicate'],
  ['multicard', 'stale_webhook'],
  ['multicard', 'duplicate'],
])('%s: calls that come twice, too early or too late (%s) change nothing', async (provider, fault) => {
  const { body } = await fixture.pay({ provider });
  await fixture.faults({ fault, next: 1 });
  await fixture.payOnPage(body);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const money = (await fixture.simulated(body.id)).filter(({ captures }) => captures > 0);
  expect(money).toMatchObject([{ captures: 1, refunds: 0 }]);
  const events = await fixture.events(body.id);
  expect(events.filter((type) => type === 'payment.captured')).toHaveLength(1);
});

async function order(): Promise<{ paymentId: string; account: Record<string, string>; amount: number }> {
  const { status, body } = await fixture.pay({ provider: 'payme' });
  expect([status, body.status, body.account]).toEqual([202, 'pending', body.id]);
  return { paymentId: body.id, account: { order_id: body.id }, amount: PRICE };
}

describe('Payme, sandbox scenario A: created and cancelled', () => {
  it('passes step by step', async () => {
    const { paymentId, account, amount } = await order();
    const id = anId();
    const time = Date.now();
    // 1 wrong authorization on every method
    const wrong = basicAuthorization('Paycom', 'wrong');
    const all = ['CheckPerformTransaction', 'CreateTransaction', 'PerformTransaction', 'CancelTransaction'];
    for (const method of [...all, 'CheckTransaction', 'GetStatement', 'SetFiscalData'])
      expect((await payme(method, { id, time, amount, account }, wrong)).error.code).toBe(-32504);
    // 2 wrong amount, 3 unknown account
    for (const [method, params] of [
      ['CheckPerformTransaction', {}],
      ['CreateTransaction', { id, time }],
    ] as const) {
      expect((await payme(method, { ...params, amount: amount + 1, account })).error.code).toBe(-31001);
      const unknown = await payme(method, { ...params, amount, account: { order_id: 'no-such-order' } });
      expect(unknown.error).toMatchObject({ code: -31050, data: 'order_id', message: { ru: expect.any(String) } });
    }
    // 4 check, 5 create, repeat, check
    expect((await payme('CheckPerformTransaction', { amount, account })).result).toEqual({ allow: true });
    const created = await payme('CreateTransaction', { id, time, amount, account });
    expect(created.result).toMatchObject({ state: 1, transaction: paymentId });
    expect((await payme('CreateTransaction', { id, time, amount, account })).result).toEqual(created.result);
    expect((await payme('CheckTransaction', { id })).result).toMatchObject({ state: 1, reason: null, perform_time: 0 });
    // 6 another transaction while the account is busy
    const second = await payme('CreateTransaction', { id: anId(), time, amount, account });
    expect(second.error.code).toBe(-31008);
    // 7 cancel, repeat, check
    const cancelled = await payme('CancelTransaction', { id, reason: 3 });
    expect(cancelled.result).toMatchObject({ state: -1, transaction: paymentId });
    expect((await payme('CancelTransaction', { id, reason: 3 })).result).toEqual(cancelled.result);
    expect((await payme('CheckTransaction', { id })).result).toMatchObject({ state: -1, reason: 3 });
    // The customer may try again.
    expect((await payme('CheckPerformTransaction', { amount, account })).result).toEqual({ allow: true });
    expect(await fixture.read(paymentId)).toMatchObject({ status: 'pending', receipt: { status: 'awaiting_payment' } });
  });
});

describe('Payme, sandbox scenario B: performed and cancelled', () => {
  it('passes step by step, the receipt follows the money both ways', async () => {
    const { paymentId, account, amount } = await order();
    const id = anId();
    const params = { id, time: Date.now(), amount, account };
    expect((await payme('CheckPerformTransaction', { amount, account })).result).toEqual({ allow: true });
    expect((await payme('CreateTransaction', params)).result).toMatchObject({ state: 1 });
    const performed = await payme('PerformTransaction', { id });
    expect(performed.result).toMatchObject({ state: 2, transaction: paymentId });
    expect((await payme('PerformTransaction', { id })).result).toEqual(performed.result);
    expect((await payme('CheckTransaction', { id })).result).toMatchObject({ state: 2 });
    await fixture.until(paymentId, { status: 'captured', receipt: 'registered' });
    const cancelled = await payme('CancelTransaction', { id, reason: 5 });
    expect(cancelled.result).toMatchObject({ state: -2 });
    expect((await payme('CancelTransaction', { id, reason: 5 })).result).toEqual(cancelled.result);
    expect((await payme('CheckTransaction', { id })).result).toMatchObject({ state: -2, reason: 5 });
    expect((await payme('PerformTransaction', { id })).error.code).toBe(-31008);
    const view = await fixture.until(paymentId, { status: 'refunded', receipt: 'registered' });
    expect(view.account).toBeNull();
    await fixture.untilRefunded(view.receipt.id);
  });

  it('takes Perform once from many calls at the same time', async () => {
    const { paymentId, account, amount } = await order();
    const id = anId();
    const params = { id, time: Date.now(), amount, account };
    const created = await Promise.all([1, 2, 3].map(() => payme('CreateTransaction', params)));
    expect(new Set(created.map(({ result }) => JSON.stringify(result))).size).toBe(1);
    const performed = await Promise.all([1, 2, 3, 4].map(() => payme('PerformTransaction', { id })));
    expect(new Set(performed.map(({ result }) => JSON.stringify(result))).size).toBe(1);
    await fixture.until(paymentId, { status: 'captured', receipt: 'registered' });
    expect((await fixture.events(paymentId)).filter((type) => type === 'payment.captured')).toHaveLength(1);
  });

  it('lets one of two transactions have an order', async () => {
    const { account, amount } = await order();
    const time = Date.now();
    const tries = [anId(), anId(), anId()].map((id) => payme('CreateTransaction', { id, time, amount, account }));
    const answers = await Promise.all(tries);
    expect(answers.map((answer) => answer.result?.['state'] ?? answer.error.code).sort()).toEqual([-31008, -31008, 1]);
  });
});

describe('Payme takes its money back', () => {
  it('before the register has the receipt: it is cancelled', async () => {
    fixture.register = 'sleeps';
    const { paymentId, account, amount } = await order();
    const id = anId();
    await payme('CreateTransaction', { id, time: Date.now(), amount, account });
    await payme('PerformTransaction', { id });
    expect(await fixture.read(paymentId)).toMatchObject({ status: 'captured', receipt: { status: 'accepted' } });
    await payme('CancelTransaction', { id, reason: 5 });
    await fixture.until(paymentId, { status: 'refunded', receipt: 'cancelled' });
  });

  it.each(['sending', 'unknown'])(
    'while the receipt is %s: refunded once, as soon as it proves registered',
    async (status) => {
      fixture.register = 'sleeps';
      const { paymentId, account, amount } = await order();
      const id = anId();
      await payme('CreateTransaction', { id, time: Date.now(), amount, account });
      await payme('PerformTransaction', { id });
      const { receipt } = await fixture.read(paymentId);
      const move = (to: string): Promise<number> =>
        fixture.gateway.prisma.$executeRaw`UPDATE receipts SET status = ${to}::receipt_status WHERE id = ${receipt.id}`;
      await move(status);
      await payme('CancelTransaction', { id, reason: 5 });
      await fixture.until(paymentId, { status: 'refunded', receipt: status });
      expect(await fixture.refundsOf(receipt.id)).toEqual([]);
      // The answer of the register is found after all.
      await fixture.registered(receipt.id);
      fixture.register = 'registers';
      await fixture.untilRefunded(receipt.id);
    },
  );
});

describe('Payme, the rest of its protocol', () => {
  it('lists a period inclusively, in order, with the account as it came', async () => {
    const from = Date.now() + 10_000_000;
    const ids: string[] = [];
    for (const offset of [0, 1, 2]) {
      const { account, amount } = await order();
      ids.push(anId());
      await payme('CreateTransaction', { id: ids.at(-1), time: from + offset, amount, account });
    }
    const listed = async (a: number, b: number): Promise<unknown[]> =>
      ((await payme('GetStatement', { from: a, to: b })).result['transactions'] as { id: string }[]).map(
        ({ id }) => id,
      );
    expect(await listed(from, from + 2)).toEqual(ids);
    expect(await listed(from + 1, from + 1)).toEqual([ids[1]]);
    expect(await listed(from + 3, from + 9)).toEqual([]);
    expect((await payme('GetStatement', { from: 'x', to: 1 })).error.code).toBe(-32600);
  });

  it('lets a transaction run out after 12 hours of its own time', async () => {
    const { paymentId, account, amount } = await order();
    const id = anId();
    await payme('CreateTransaction', { id, time: Date.now() - 43_200_000 + 600_000, amount, account });
    // As if ten minutes had passed.
    const { count } = await fixture.gateway.prisma.providerTransaction.updateMany({
      where: { id },
      data: { providerTimeMs: { decrement: 600_000 } },
    });
    expect(count).toBe(1);
    expect((await payme('PerformTransaction', { id })).error.code).toBe(-31008);
    expect((await payme('CheckTransaction', { id })).result).toMatchObject({ state: -1, reason: 4 });
    expect(['pending', 'expired']).toContain((await fixture.read(paymentId)).status);
  });

  it('keeps what SetFiscalData brings, and knows no other receipt', async () => {
    const { account, amount } = await order();
    const id = anId();
    await payme('CreateTransaction', { id, time: Date.now(), amount, account });
    const fiscal_data = {
      receipt_id: 5,
      status_code: 0,
      terminal_id: 'EP1',
      fiscal_sign: '1',
      qr_code_url: 'https://x',
      ...{ message: 'accepted', date: '20260102080405' },
    };
    expect((await payme('SetFiscalData', { id, type: 'PERFORM', fiscal_data })).result).toEqual({ success: true });
    expect((await payme('SetFiscalData', { id: anId(), type: 'CANCEL', fiscal_data })).error.code).toBe(-32001);
    expect((await payme('SetFiscalData', { id, type: 'NONE', fiscal_data })).error.code).toBe(-32602);
  });

  it('answers what is no call of its with HTTP 200 and its own codes', async () => {
    const url = fixture.accounts.payme?.url ?? '';
    const headers = { authorization: PAYME_AUTHORIZATION, 'content-type': 'text/json' };
    const ask = async (init: RequestInit): Promise<[number, number]> => {
      const response = await fetch(url, { headers, ...init });
      return [response.status, ((await response.json()) as Rpc).error.code];
    };
    expect(await ask({ method: 'POST', body: '{"half' })).toEqual([200, -32700]);
    expect(await ask({ method: 'GET' })).toEqual([200, -32300]);
    expect(await ask({ method: 'POST' })).toEqual([200, -32700]);
    expect(await ask({ method: 'POST', body: '[1]', headers: { ...headers, 'content-type': 'image/png' } })).toEqual([
      200, -32600,
    ]);
    const huge = await fetch(url, { method: 'POST', headers, body: 'x'.repeat(70_000) });
    expect([huge.status, ((await huge.json()) as { code: string }).code]).toEqual([413, 'payload_too_large']);
    expect(await ask({ method: 'POST', body: '{"id":1,"method":"Nope","params":{}}' })).toEqual([200, -32601]);
    const other = await fetch(url.replace(/pac_.*/, 'pac_01hzzzzzzzzzzzzzzzzzzzzzzz'), { method: 'POST', body: '{}' });
    expect([other.status, ((await other.json()) as { code: string }).code]).toEqual([404, 'not_found']);
  });

  it('refuses callers outside the account’s sources', async () => {
    const id = fixture.accountIds['payme'] ?? '';
    await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, { sources: ['185.234.113.0/28'] });
    expect((await payme('CheckTransaction', { id: anId() })).error.code).toBe(-32504);
    await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, { sources: [] });
    expect((await payme('CheckTransaction', { id: anId() })).error.code).toBe(-31003);
  });

  it('is paid by a person on its page, also when every call comes twice', async () => {
    const { body } = await fixture.pay({ provider: 'payme' });
    await fixture.faults({ fault: 'duplicate', rate: 1 }, { fault: 'reorder', rate: 1 });
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1 }]);
  });

  it('leaves refunds to its cabinet, and says so', async () => {
    const { body } = await fixture.pay({ provider: 'payme' });
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    const refused = await fixture.ask('POST', `/v1/receipts/${body.receipt.id}/refunds`, {});
    expect([refused.status, refused.body.code]).toEqual([409, 'refund_by_provider']);
  });
});

describe('Click', () => {
  const click = (paymentId: string, more: Record<string, string> = {}) => callOfClick(fixture, paymentId, more);

  it('prepares and completes once, whatever it repeats', async () => {
    const { body } = await fixture.pay({ provider: 'click' });
    const trans = { click_trans_id: String(Date.now()) };
    expect(await click(body.id, { ...trans, secret: 'WRONG' })).toMatchObject({ error: -1 });
    expect(await click(body.id, { ...trans, amount: '1.00' })).toMatchObject({ error: -2 });
    expect(await click('pay_nobody', trans)).toMatchObject({ error: -5 });
    const prepared = await click(body.id, trans);
    expect(prepared).toMatchObject({ error: 0, merchant_trans_id: body.id });
    expect(await click(body.id, trans)).toEqual(prepared);
    const complete = { ...trans, action: '1', merchant_prepare_id: String(prepared['merchant_prepare_id']) };
    expect(await click(body.id, { ...complete, merchant_prepare_id: '1' })).toMatchObject({ error: -6 });
    const completed = await Promise.all([1, 2, 3].map(() => click(body.id, complete)));
    // The first is confirmed; a repeat is answered that it was.
    expect(completed.map(({ error }) => error).sort()).toEqual([-4, -4, 0]);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await click(body.id, { ...complete, click_trans_id: '901' })).toMatchObject({ error: -4 });
  });

  it('frees the order when its own side fails, and answers that attempt no more', async () => {
    const { body } = await fixture.pay({ provider: 'click' });
    const trans = { click_trans_id: String(Date.now()) };
    const { merchant_prepare_id } = await click(body.id, trans);
    const failed = { ...trans, action: '1', merchant_prepare_id: String(merchant_prepare_id), error: '-5017' };
    expect(await click(body.id, failed)).toMatchObject({ error: -9 });
    expect(await click(body.id, { ...failed, error: '0' })).not.toMatchObject({ error: 0 });
    expect(await fixture.read(body.id)).toMatchObject({ status: 'pending' });
    await fixture.faults({ fault: 'duplicate', rate: 1 });
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });

  it('is refunded with the receipt: both legs, each once', async () => {
    const { body } = await fixture.pay({ provider: 'click', token: 'token-0001' });
    const refund = await fixture.ask('POST', `/v1/receipts/${body.receipt.id}/refunds`, {});
    expect(refund.status).toBe(201);
    const view = await fixture.until(body.id, { status: 'refunded', receipt: 'registered' });
    expect(view.refunded).toBe(PRICE);
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 1 }]);
    expect(await fixture.refundsOf(body.receipt.id)).toEqual([{ status: 'registered', total: PRICE }]);
  });
});
