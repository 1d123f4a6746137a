// Uzum's Merchant API is answered as its table says, and what Uzum registers belongs to no register of ours.
import { randomUUID } from 'node:crypto';
import { basicAuthorization } from '#payments';
import { ComparePayments } from '../../apps/gateway/src/payments/compare-payments.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();
const AUTHORIZATION = basicAuthorization('uzum', 'uzum-password-0001');

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function call(operation: string, more: object): Promise<Answer> {
  const request = { serviceId: 101_202, timestamp: Date.now(), ...more };
  const response = await fetch(`${fixture.accounts.uzum?.url ?? ''}/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: AUTHORIZATION },
    body: JSON.stringify(request),
  });
  const body = (await response.json()) as Record<string, unknown>;
  // What lacks a field is in no document, nor is what a fault of ours looks like (x-open of schemas/uzum.json).
  if (body['errorCode'] !== '10005' && response.status !== 503)
    fixture.observe({ provider: 'uzum', path: `/${operation}`, request, status: response.status, answer: body });
  return { status: response.status, body };
}

const check = (id: string) => call('check', { params: { order_id: id } });
const create = (id: string, transId: string, amount = PRICE) =>
  call('create', { transId, params: { order_id: id }, amount });
const confirm = (transId: string) =>
  call('confirm', {
    ...{ transId, paymentSource: 'UZCARD', tariff: null, processingReferenceNumber: '524818898472' },
    ...{ phone: '998901234567', cardType: 2 },
  });
const reverse = (transId: string) => call('reverse', { transId });
const status = (transId: string) => call('status', { transId });
const said = ({ status: http, body }: Answer): unknown => (http === 200 ? body['status'] : body['errorCode']);
/** On a slow machine one call waits too long for another, has done nothing, and is asked to come again. */
const answered = (ask: () => Promise<Answer>): Promise<Answer> =>
  until('an answer', ask, ({ status: http }) => http !== 503);

describe('Merchant API', () => {
  beforeAll(() => fixture.choose('uzum', { page: 'merchant', fiscal_mode: 'gateway' }));

  async function opened(): Promise<string> {
    return (await fixture.pay({ provider: 'uzum' })).body.id;
  }

  it('takes a payment through check, create and confirm, with what it knows of the payer on the receipt', async () => {
    const [id, transId] = [await opened(), randomUUID()];
    expect(said(await check(id))).toBe('OK');
    expect(said(await create(id, transId))).toBe('CREATED');
    expect((await fixture.read(id)).status).toBe('reserved');
    expect(said(await confirm(transId))).toBe('CONFIRMED');
    const view = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    expect(view.extra_info).toEqual({
      ...{ payment_id: transId, payment_provider: 161, phone: '998901234567', rrn: '524818898472', card_type: 2 },
    });
    expect((await status(transId)).body).toMatchObject({ status: 'CONFIRMED', reverseTime: null, amount: PRICE });
  });

  it('answers repeats and mistakes with the codes of the list', async () => {
    const [id, transId] = [await opened(), randomUUID()];
    expect(said(await check('pay_nobody'))).toBe('10007');
    expect(said(await create(id, transId, PRICE - 1))).toBe('10011');
    expect(said(await confirm(transId))).toBe('10014');
    expect(said(await create(id, transId))).toBe('CREATED');
    expect(said(await create(id, transId))).toBe('10010');
    // One live transaction an order.
    expect(said(await create(id, randomUUID()))).toBe('10009');
    expect(said(await confirm(transId))).toBe('CONFIRMED');
    expect(said(await confirm(transId))).toBe('10016');
    expect(said(await check(id))).toBe('10008');
    expect(said(await create(id, randomUUID()))).toBe('10008');
    expect(said(await call('create', { transId, amount: PRICE }))).toBe('10005');
  });

  it('two creates of one order at the same moment: one takes it', async () => {
    const id = await opened();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => {
        const transId = randomUUID();
        return answered(() => create(id, transId));
      }),
    );
    expect(answers.map(said).sort()).toEqual(['10009', '10009', '10009', '10009', '10009', 'CREATED']);
  });

  it('a transaction that was reversed before it was paid frees the order', async () => {
    const [id, first, second] = [await opened(), randomUUID(), randomUUID()];
    await create(id, first);
    expect(said(await reverse(first))).toBe('REVERSED');
    expect(said(await reverse(first))).toBe('10018');
    expect(said(await confirm(first))).toBe('10015');
    expect((await status(first)).body).toMatchObject({ status: 'REVERSED', confirmTime: null });
    expect(said(await create(id, second))).toBe('CREATED');
    expect(said(await confirm(second))).toBe('CONFIRMED');
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
  });

  it('money that Uzum gives back after the sale is followed by the receipt, exactly once', async () => {
    const [id, transId] = [await opened(), randomUUID()];
    await create(id, transId);
    await confirm(transId);
    const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    const answers = await Promise.all(Array.from({ length: 3 }, () => answered(() => reverse(transId))));
    expect(answers.map(said).sort()).toEqual(['10018', '10018', 'REVERSED']);
    expect((await status(transId)).body).toMatchObject({ status: 'REVERSED' });
    await fixture.until(id, { status: 'refunded' });
    await fixture.untilRefunded(receipt.id);
    const own = await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {});
    expect(own.body.code).toBe('nothing_left');
  });

  it('what was delivered is not given back while the merchant says so', async () => {
    const [id, transId] = [await opened(), randomUUID()];
    await create(id, transId);
    await confirm(transId);
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
    await fixture.ask('POST', `/v1/payments/${id}/delivered`, { delivered: true });
    expect(said(await reverse(transId))).toBe('10017');
    await fixture.ask('POST', `/v1/payments/${id}/delivered`, { delivered: false });
    expect(said(await reverse(transId))).toBe('REVERSED');
  });

  it('after half an hour without a confirmation it has failed, whichever call comes first, and stays so', async () => {
    for (const ask of [status, confirm]) {
      const [id, transId] = [await opened(), randomUUID()];
      await create(id, transId);
      await fixture.gateway.prisma.$executeRaw`
        UPDATE provider_transactions SET create_time_ms = create_time_ms - 1800001 WHERE id = ${transId}`;
      expect(said(await ask(transId))).toBe(ask === status ? 'FAILED' : '10015');
      expect(said(await confirm(transId))).toBe('10015');
      expect((await status(transId)).body).toMatchObject({ status: 'FAILED', reverseTime: null });
      expect((await fixture.read(id)).receipt.status).toBe('awaiting_payment');
    }
  });

  it('a payment that the merchant has cancelled is not confirmed', async () => {
    const [id, transId] = [await opened(), randomUUID()];
    await create(id, transId);
    await fixture.ask('POST', `/v1/payments/${id}/cancel`);
    expect(said(await confirm(transId))).toBe('10015');
    await fixture.until(id, { status: 'cancelled', receipt: 'cancelled' });
  });
});

describe('what Uzum registers', () => {
  const mode = (settings: Record<string, string>) => fixture.choose('uzum', { fiscal_mode: 'provider', ...settings });

  it.each([
    ['Checkout, by its cart', { page: 'checkout', pay_type: 'ONE_STEP' }, { provider: 'uzum' }],
    ['Fiscalization, of a page', { ofd_api_key: 'ofd-key', pay_type: 'ONE_STEP' }, { provider: 'uzum' }],
    ['Fiscalization, of a hold', { pay_type: 'TWO_STEP' }, { provider: 'uzum', token: 'token-0001' }],
    ['Fiscalization, at a till', {}, { provider: 'uzum', qr_code: `6385${'7'.repeat(39)}` }],
    ['Fiscalization, of the app', { page: 'merchant' }, { provider: 'uzum' }],
  ])(
    '%s: the receipt has no device and gets the document; a refund gets one as well',
    async (name, settings, payment) => {
      await mode(settings);
      // Its link is there a moment later than its registration.
      if (name.startsWith('Fiscalization')) await fixture.faults({ fault: 'late', next: 1 });
      const { body } = await fixture.pay(payment);
      await fixture.payOnPage(body);
      const view = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
      const [money] = await fixture.simulated(body.id);
      expect(view).toMatchObject({ fiscalised_by: 'provider', receipt: { device_id: null } });
      expect(money).toMatchObject({ captures: 1, documents: [{ type: 'sale' }] });
      if (name.endsWith('app')) return;
      await fixture.ask('POST', `/v1/receipts/${view.receipt.id}/refunds`, {});
      await fixture.until(body.id, { status: 'refunded' });
      await fixture.untilRefunded(view.receipt.id);
      expect((await fixture.simulated(body.id))[0]?.documents.map(({ type }) => type)).toEqual(['sale', 'refund']);
    },
  );

  it('without Fiscalization only Checkout’s page can be left to Uzum', async () => {
    const path = `/v1/provider-accounts`;
    const stranger = await fixture.stranger(['clients:admin', 'payments:write']);
    const settings = { fastpay_service_id: '7', fastpay_user_id: '8', fastpay_secret: 's', cashbox_code: 'c' };
    const made = await fixture.ask('POST', path, { provider: 'uzum', settings }, stranger);
    expect(made.status).toBe(201);
    await fixture.ask('DELETE', `${path}/${made.body.id}`, undefined, stranger);
    const nothing = await fixture.ask('POST', path, { provider: 'uzum', settings: {} }, stranger);
    expect(nothing.body.errors).toMatchObject([{ pointer: '/settings/terminal_id', code: 'required' }]);
    const half = await fixture.ask('POST', path, { provider: 'uzum', settings: { fastpay_secret: 's' } }, stranger);
    expect(half.body.errors.map(({ pointer }) => pointer)).toContain('/settings/cashbox_code');
  });
});

it('what an account cannot do is refused before anything is stored', async () => {
  await fixture.choose('uzum', { page: 'checkout', pay_type: 'ONE_STEP', fiscal_mode: 'gateway' });
  const stored = await fixture.stored();
  const refused = await fixture.pay({ provider: 'uzum', phone: '998901234567' });
  expect([refused.status, refused.body.errors[0]?.pointer]).toEqual([422, '/payment/phone']);
  expect(await fixture.stored()).toEqual(stored);
});

it('a code that Fast Pay refuses is declined, and no difference when it is compared', async () => {
  const { body } = await fixture.pay({ provider: 'uzum', qr_code: '0'.repeat(43) });
  const { id } = await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
  // From ten minutes on nothing can be found out about it by asking.
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET created_at = now() - interval '20 minutes' WHERE id = ${id}`;
  const comparing = fixture.gateway.app.get(ComparePayments);
  await until(
    'it is compared',
    async () => {
      await comparing.compare(0);
      return fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id } });
    },
    ({ comparedAt }) => comparedAt !== null,
  );
  expect(await fixture.disagreement(id)).toBeUndefined();
});
