// Money and receipt travel together: no customer is charged without a receipt, and none has a receipt without having paid.
import { until } from '../../libs/runtime/src/testing/until.js';
import { LATE_MS, paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const HOLDS = [
  ['payme', { provider: 'payme', token: 'token-0001' }],
  ['multicard', { provider: 'multicard', token: 'token-0001' }],
] as const;

describe.each(HOLDS)('pattern A: hold, fiscalise, capture, attach (%s)', (_name, payment) => {
  it('answers with the money taken, the receipt registered and the link at the provider', async () => {
    const { status, body } = await fixture.pay(payment, { prefer: 'wait=60' });
    expect({ status, of: body.status, receipt: body.receipt.status }).toEqual({
      ...{ status: 201, of: 'captured', receipt: 'registered' },
    });
    expect(body.receipt).toMatchObject({ payment_id: body.id, payment: { method: 'online', card: PRICE, cash: 0 } });
    const [held, ...more] = await fixture.simulated(body.id);
    expect(more).toEqual([]);
    expect(held).toMatchObject({ status: 'captured', captures: 1, refunds: 0 });
    // The link follows: no caller has to wait for it.
    await fixture.untilLinked(body.id, body.receipt.fiscal?.verification_url);
  });

  it('lets the money go when the register refuses the receipt', async () => {
    fixture.register = 'rejects';
    const { body } = await fixture.pay(payment);
    await fixture.until(body.id, { status: 'voided', receipt: 'rejected' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'voided', captures: 0 }]);
  });

  it('is declined with the card, and the receipt never reaches a lane', async () => {
    await fixture.faults({ fault: 'decline', next: 1 });
    const { status, body } = await fixture.pay(payment);
    expect({ status, of: body.status }).toEqual({ status: 200, of: 'declined' });
    await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
  });

  it.each(['drop_after', 'drop_before', 'error_after', 'error_before', 'malformed', 'delay'])(
    'takes the money once when an answer is lost somewhere (%s)',
    async (fault) => {
      // Later than anybody waits, and done all the same.
      const rule = { fault, delay_ms: LATE_MS };
      await fixture.faults({ ...rule, next: 1 });
      const first = await fixture.pay(payment);
      const second = fixture.pay(payment);
      await fixture.faults({ ...rule, next: 3 });
      const ids = [first.body.id, (await second).body.id];
      for (const id of ids) {
        const view = await ended(id);
        const [money, ...others] = (await fixture.simulated(id)).filter(({ captures }) => captures > 0);
        expect(others).toEqual([]);
        expect([money?.captures ?? 0, view.receipt.status]).toEqual(
          view.status === 'captured' ? [1, 'registered'] : [0, 'cancelled'],
        );
      }
    },
  );

  it('waits for the merchant who wants to say when', async () => {
    const { body } = await fixture.pay({ ...payment, capture: 'manual' });
    expect(body).toMatchObject({ status: 'authorized', capture: 'manual', receipt: { status: 'awaiting_payment' } });
    const captured = await fixture.ask('POST', `/v1/payments/${body.id}/capture`);
    expect(captured.status).toBe(200);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });

  it('lets the money go when the merchant cancels in time, and refuses afterwards', async () => {
    const { body } = await fixture.pay({ ...payment, capture: 'manual' });
    const cancelled = await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    expect(cancelled.status).toBe(200);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    const sold = await fixture.pay(payment);
    const late = await fixture.ask('POST', `/v1/payments/${sold.body.id}/cancel`);
    expect([late.status, late.body.code]).toEqual([409, 'payment_not_cancellable']);
  });
});

describe('pattern B: charge, fiscalise, attach (click)', () => {
  const payment = { provider: 'click', token: 'token-0001' };
  const CHARGE = '/card_token/payment';

  it('answers with the money taken and the receipt registered', async () => {
    const { status, body } = await fixture.pay(payment);
    expect({ status, of: body.status }).toEqual({ status: 201, of: 'captured' });
    const [charged, ...more] = await fixture.simulated(body.id);
    expect(more).toEqual([]);
    expect(charged).toMatchObject({ captures: 1, refunds: 0 });
    await fixture.untilLinked(body.id, body.receipt.fiscal?.verification_url);
  });

  it('gives the money back only when the register refuses for good', async () => {
    fixture.register = 'rejects';
    const { body } = await fixture.pay(payment);
    const view = await fixture.until(body.id, { status: 'refunded', receipt: 'rejected' });
    expect(view.refunded).toBe(PRICE);
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 1 }]);
  });

  it.each(['drop_after', 'error_after', 'malformed', 'delay'])(
    'never charges twice when the answer is lost (%s)',
    async (fault) => {
      await fixture.faults({ fault, next: 1, delay_ms: LATE_MS, path: CHARGE });
      const { body } = await fixture.pay(payment);
      expect(['authorize_unknown', 'captured']).toContain(body.status);
      await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
      expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 0 }]);
    },
  );

  it('settles what never arrived as declined, only after the settle time, and sends nothing again', async () => {
    // Payments of earlier tests still hand in their links.
    await fixture.faults({ fault: 'drop_before', next: 1, path: CHARGE });
    const { body } = await fixture.pay(payment);
    expect(body.status).toBe('authorize_unknown');
    await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
    expect(await fixture.simulated(body.id)).toEqual([]);
  });
});

describe('pattern B: the customer is asked by phone (click)', () => {
  const payment = { provider: 'click', phone: '998901234567' };

  it('and pays there: money and receipt are there, the link follows', async () => {
    const { status, body } = await fixture.pay(payment);
    expect([status, body.status, body.next_action]).toEqual([202, 'pending', { type: 'push' }]);
    expect(await (await fetch(fixture.simulatorUrl)).text()).toContain(body.id);
    expect(await fixture.press(`${fixture.simulatorUrl}/click/invoice/${body.id}`)).toContain('<h1>Paid</h1>');
    const { receipt } = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    await fixture.untilLinked(body.id, receipt.fiscal?.verification_url);
    expect((await fixture.simulated(body.id)).filter(({ captures }) => captures > 0)).toHaveLength(1);
  });

  it('and cannot pay any more after a cancel, though Click goes on asking him', async () => {
    const { body } = await fixture.pay(payment);
    await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    expect(await fixture.press(`${fixture.simulatorUrl}/click/invoice/${body.id}`)).toContain('<h1>Not paid</h1>');
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 0 }]);
  });

  it('once, also when the answer to the invoice is lost', async () => {
    await fixture.faults({ fault: 'drop_after', next: 1, path: '/invoice/create' });
    const { body } = await fixture.pay(payment);
    await fixture.press(`${fixture.simulatorUrl}/click/invoice/${body.id}`);
    await until(
      'the payment has ended',
      () => fixture.read(body.id),
      ({ status, receipt }) => receipt.status === (status === 'captured' ? 'registered' : 'cancelled'),
    );
    const view = await fixture.read(body.id);
    const money = (await fixture.simulated(body.id)).filter(({ captures, refunds }) => captures > refunds);
    expect(money).toHaveLength(view.status === 'captured' ? 1 : 0);
  });
});

describe('pattern C: the provider asks before it keeps the money (multicard invoice)', () => {
  it('keeps it when the receipt is registered within the call', async () => {
    const { status, body } = await fixture.pay({ provider: 'multicard' });
    expect([status, body.status]).toEqual([202, 'pending']);
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 0 }]);
  });

  it('gives it back within the call when the register refuses', async () => {
    fixture.register = 'rejects';
    const { body } = await fixture.pay({ provider: 'multicard' });
    await fixture.payOnPage(body, '<h1>Not paid</h1>');
    await fixture.until(body.id, { status: 'refunded', receipt: 'rejected' });
  });

  it('keeps the money frozen while it is unknown, and answers the repeated call', async () => {
    fixture.register = 'sleeps';
    const { body } = await fixture.pay({ provider: 'multicard' });
    const pressed = fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'reserved', receipt: 'accepted' });
    fixture.register = 'registers';
    await pressed;
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });
});

describe('what arrives at the endpoint', () => {
  it('makes the same of POST /v1/receipts with the method online', async () => {
    const answer = await fixture.ask('POST', '/v1/receipts', fixture.sale({ provider: 'payme', token: 'token-0001' }));
    expect(answer.status).toBe(201);
    expect(await fixture.read(String(answer.body['payment_id']))).toMatchObject({ status: 'captured' });
  });

  it('charges nothing for a sale whose money has been taken', async () => {
    const body = { ...fixture.sale({}), payment: { method: 'card', provider: 'payme' } };
    const answer = await fixture.ask('POST', '/v1/receipts', body);
    expect([answer.status, answer.body['payment_id']]).toEqual([201, null]);
    const asPayment = await fixture.ask('POST', '/v1/payments', body);
    expect([asPayment.status, asPayment.body.errors[0]?.pointer]).toEqual([422, '/payment/method']);
  });

  it('answers a repeat with the same payment, and another body with a refusal', async () => {
    const key = { 'idempotency-key': `key-${String(Math.random())}` };
    const first = await fixture.pay({ provider: 'click', token: 'token-0001' }, key);
    const again = await fixture.pay({ provider: 'click', token: 'token-0001' }, key);
    expect([again.body.id, again.headers.get('idempotency-replayed')]).toEqual([first.body.id, 'true']);
    expect(await fixture.simulated(first.body.id)).toMatchObject([{ captures: 1 }]);
    const other = await fixture.pay({ provider: 'click', token: 'token-0002' }, key);
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
  });

  it.each([
    [
      'a card number as a token',
      { provider: 'payme', token: '8600495473316478' },
      '/payment/token',
      'card_data_refused',
    ],
    ['a provider without an account', { provider: 'paypal' }, '/payment/provider', 'provider_unknown'],
    [
      'a phone where the provider asks no customer',
      { provider: 'payme', phone: '998901234567' },
      '/payment/phone',
      'invalid_value',
    ],
    ['a late capture without a hold', { provider: 'click', capture: 'manual' }, '/payment/capture', 'invalid_value'],
    ['a field for a card', { provider: 'payme', cvc: '123' }, '/payment/cvc', 'card_data_refused'],
  ])('refuses %s before anything moves', async (_name, payment, pointer, code) => {
    const before = await fixture.stored();
    const { status, body } = await fixture.pay(payment);
    expect(status).toBe(422);
    expect(body.errors).toContainEqual(expect.objectContaining({ pointer, code }));
    expect(JSON.stringify(body)).not.toContain('8600495473316478');
    expect(await fixture.stored()).toEqual(before);
  });

  it('shows another merchant nothing', async () => {
    const { body } = await fixture.pay({ provider: 'click', token: 'token-0001' });
    const headers = await fixture.stranger(['payments:write', 'clients:admin']);
    for (const path of [`/v1/payments/${body.id}`, `/v1/provider-accounts/${body.provider_account_id}`])
      expect((await fixture.ask('GET', path, undefined, headers)).status).toBe(404);
    expect((await fixture.ask('POST', `/v1/payments/${body.id}/cancel`, undefined, headers)).status).toBe(404);
    expect((await fixture.ask('GET', '/v1/payments', undefined, headers)).body).toMatchObject({ data: [] });
  });

  it('keeps secrets sealed and every change of an account on the trail', async () => {
    const id = fixture.accountIds['payme'] ?? '';
    const changed = await fixture.ask('PATCH', `/v1/provider-accounts/${id}`, {
      settings: { test_key: 'another-secret' },
    });
    expect(changed.body).toMatchObject({ secrets: ['key', 'test_key'], settings: { cashbox_id: 'box' } });
    expect(JSON.stringify(changed.body)).not.toMatch(/payme-key|another-secret/);
    const audited = await fixture.gateway.audited(id);
    expect(audited.map(({ action }) => action)).toEqual(['provider_account.create', 'provider_account.update']);
    expect(JSON.stringify(audited)).not.toMatch(/payme-key|another-secret/);
  });
});

it('names what does not agree, how old it is and who goes on', async () => {
  fixture.register = 'sleeps';
  const { body } = await fixture.pay({ provider: 'click', token: 'token-0001' }, { prefer: 'wait=0' });
  expect(await fixture.disagreement(body.id)).toMatchObject({
    ...{ kind: 'money_without_receipt', next_step: 'gateway: goes on by itself' },
  });
  fixture.register = 'registers';
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  expect(await fixture.disagreement(body.id)).toBeUndefined();
});

it('publishes each step as an event', async () => {
  const { body } = await fixture.pay({ provider: 'payme', token: 'token-0001' });
  expect(await fixture.events(body.id)).toEqual(
    ['created', 'authorizing', 'authorized', 'capturing', 'captured'].map((state) => `payment.${state}`),
  );
});

function ended(id: string) {
  return until(
    'the payment has ended',
    () => fixture.read(id),
    ({ status, receipt }) =>
      status === 'captured'
        ? receipt.status === 'registered'
        : ['declined', 'voided'].includes(status) && receipt.status === 'cancelled',
  );
}
