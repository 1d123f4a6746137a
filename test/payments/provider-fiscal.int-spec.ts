// A sale is registered once: by the merchant's register or by the payment provider, and refunded by the same one.
import { until } from '../../libs/runtime/src/testing/until.js';
import { anId, askPayme, multicard } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

beforeAll(async () => {
  await mode('payme', 'provider');
  await mode('click', 'provider', { tin: '300000000' });
  await mode('multicard', 'provider');
});

async function mode(provider: string, fiscal_mode: string, more: Record<string, string> = {}): Promise<void> {
  const path = `/v1/provider-accounts/${fixture.accountIds[provider] ?? ''}`;
  expect((await fixture.ask('PATCH', path, { settings: { fiscal_mode, ...more } })).status).toBe(200);
}

interface Receipt {
  id: string;
  status: string;
  device_id: string | null;
  fiscal: { verification_url: string; evidence: string } | null;
}

async function receiptOf(id: string): Promise<Receipt> {
  return (await fixture.ask('GET', `/v1/receipts/${id}`)).body as unknown as Receipt;
}

async function refundsOf(id: string): Promise<Receipt[]> {
  return (await fixture.ask('GET', `/v1/receipts/${id}/refunds`)).body['data'] as Receipt[];
}

async function attempts(receiptId: string): Promise<number> {
  return fixture.gateway.prisma.attempt.count({ where: { receiptId } });
}

const WAYS = [
  ['payme, held', { provider: 'payme', token: 'token-0001' }],
  ['payme, on its page', { provider: 'payme' }],
  ['click, by token', { provider: 'click', token: 'token-0001' }],
  ['click, on its page', { provider: 'click' }],
  ['multicard, held', { provider: 'multicard', token: 'token-0001' }],
  ['multicard, on its page', { provider: 'multicard' }],
] as const;

const rpc = (method: string, params: unknown) => askPayme(fixture, method, params);

async function paid(payment: Record<string, unknown>) {
  const { body } = await fixture.pay(payment);
  await fixture.payOnPage(body);
  return body;
}

it.each(WAYS)('%s: the receipt gets the provider’s document and no lane ever has it', async (_name, payment) => {
  const { id } = await paid(payment);
  const view = await fixture.until(id, { status: 'captured', receipt: 'registered' });
  const [money] = await fixture.simulated(id);
  expect(view).toMatchObject({ fiscalised_by: 'provider', receipt: { device_id: null } });
  expect(money).toMatchObject({ captures: 1, link: null, documents: [{ type: 'sale' }] });
  expect(view.receipt.fiscal).toMatchObject({ verification_url: money?.documents[0]?.url, evidence: 'answer' });
  expect(await attempts(view.receipt.id)).toBe(0);
  const types = (await fixture.gateway.events(view.receipt.id)).map(({ type }) => type);
  expect(types).toEqual(['receipt.registered']);
});

it.each([
  ['payme, held', { provider: 'payme', token: 'token-0001' }],
  ['click, where a reversal changes the link', { provider: 'click', token: 'token-0001' }],
  ['multicard, held', { provider: 'multicard', token: 'token-0001' }],
  ['multicard, on its page', { provider: 'multicard' }],
])(
  '%s: a refund takes the money back first, and its receipt is the provider’s document of it',
  async (_name, payment) => {
    await mode('click', 'provider', { refund_documents: 'link' });
    await fixture.faults({ fault: 'refund_document', next: 1 });
    const { id } = await paid(payment);
    const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    const part = await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, { lines: [{ line: 1, qty: '0.5' }] });
    expect([part.status, part.body.code]).toEqual([422, 'partial_refund_unsupported']);
    const headers = { 'idempotency-key': `refund-${id}`, prefer: 'wait=0' };
    const made = await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {}, headers);
    expect([made.status, made.body.status]).toEqual([202, 'awaiting_payment']);
    await fixture.until(id, { status: 'refunded' });
    await until(
      'the refund is registered',
      () => receiptOf(made.body.id),
      ({ status }) => status === 'registered',
    );
    const [money] = await fixture.simulated(id);
    expect(money).toMatchObject({ refunds: 1, documents: [{ type: 'sale' }, { type: 'refund' }] });
    expect((await refundsOf(receipt.id)).map((refund) => refund.fiscal?.verification_url)).toEqual([
      money?.documents[1]?.url,
    ]);
    expect((await fixture.read(id)).refunds).toEqual([{ receipt_id: made.body.id, amount: PRICE, status: 'done' }]);
    expect(await attempts(made.body.id)).toBe(0);
  },
);

it('click: where the provider does not say whether a reversal makes a document, a person gives it', async () => {
  await mode('click', 'provider', { refund_documents: 'operator' });
  const { id } = await paid({ provider: 'click', token: 'token-0001' });
  const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
  await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {}, { prefer: 'wait=0' });
  await fixture.until(id, { status: 'refunded' });
  expect(await fixture.disagreement(id)).toMatchObject({
    kind: 'document_missing',
    next_step: expect.stringMatching(/^provider/),
  });
  const { qr_code_url: verification_url } = fiscalData(970);
  const said = { document: 'refund', verification_url, reason: 'seen in the cabinet' };
  expect((await fixture.ask('POST', `/v1/operator/payments/${id}/document`, said)).status).toBe(204);
  await fixture.untilRefunded(receipt.id);
  expect((await refundsOf(receipt.id)).map(({ fiscal }) => fiscal?.verification_url)).toEqual([verification_url]);
  expect(await fixture.disagreement(id)).toBeUndefined();
});

describe('multicard asks whether it may keep the money of a sale that it registers itself', () => {
  async function asked(more: Record<string, unknown> = {}) {
    const { body } = await fixture.ask('POST', '/v1/payments', { ...fixture.sale({ provider: 'multicard' }), ...more });
    const [known] = await fixture.simulated(body.id);
    return { id: body.id, call: { uuid: known?.id ?? '', orderId: body.id } };
  }

  it('it may, every time it asks, and nothing can be cancelled any more', async () => {
    const { id, call } = await asked();
    await fixture.atProvider(id, { status: 'reserved' });
    for (let times = 0; times < 3; times += 1) expect(await multicard(fixture, call)).toEqual([200, true]);
    const cancel = await fixture.ask('POST', `/v1/payments/${id}/cancel`);
    expect([cancel.status, cancel.body.code]).toEqual([409, 'payment_not_cancellable']);
    expect(await multicard(fixture, call)).toEqual([200, true]);
  });

  it('it may not after a cancel that is not carried out yet', async () => {
    const { id, call } = await asked();
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET cancel_requested_at = now(), lease_id = 'of a dead worker', lease_until = now() + interval '3 seconds',
                          due_at = now() WHERE id = ${id}`;
    expect(await multicard(fixture, call)).toEqual([200, false]);
    await fixture.until(id, { status: 'voided', receipt: 'cancelled' });
  });
});

it('payme: what its cabinet cancels is refunded once, also when its document comes before the receipt’s', async () => {
  const { id, account } = (await fixture.pay({ provider: 'payme' })).body;
  const transaction = anId();
  const order = { amount: PRICE, account: { order_id: account } };
  const check = await rpc('CheckPerformTransaction', order);
  expect(check.result).toMatchObject({
    allow: true,
    detail: { receipt_type: 0, items: [{ price: PRICE, count: 1, code: expect.any(String), vat_percent: 12 }] },
  });
  await rpc('CreateTransaction', { id: transaction, time: Date.now(), ...order });
  await rpc('PerformTransaction', { id: transaction });
  await fixture.until(id, { status: 'captured', receipt: 'awaiting_payment' });
  expect(await fixture.disagreement(id)).toMatchObject({ kind: 'document_missing' });
  await rpc('CancelTransaction', { id: transaction, reason: 5 });
  for (const [type, number] of [
    ['CANCEL', 902],
    ['PERFORM', 901],
    ['PERFORM', 901],
    ['CANCEL', 902],
  ] as const)
    expect((await rpc('SetFiscalData', { id: transaction, type, fiscal_data: fiscalData(number) })).result).toEqual({
      success: true,
    });
  const { receipt } = await fixture.until(id, { status: 'refunded', receipt: 'registered' });
  await fixture.untilRefunded(receipt.id);
  expect((await refundsOf(receipt.id)).map(({ fiscal }) => fiscal?.verification_url)).toEqual([
    fiscalData(902).qr_code_url,
  ]);
  expect(await fixture.disagreement(id)).toBeUndefined();
});

it('refuses fiscal data that names no document, and keeps a refused document for people', async () => {
  const { id, account } = (await fixture.pay({ provider: 'payme' })).body;
  const transaction = anId();
  await rpc('CreateTransaction', { id: transaction, time: Date.now(), amount: PRICE, account: { order_id: account } });
  await rpc('PerformTransaction', { id: transaction });
  const params = { id: transaction, type: 'PERFORM' };
  const broken = await rpc('SetFiscalData', { ...params, fiscal_data: { receipt_id: 1 } });
  expect(broken.error).toMatchObject({ code: -32602, data: 'qr_code_url' });
  const refused = { ...fiscalData(950), status_code: 7, message: 'no such goods' };
  expect((await rpc('SetFiscalData', { ...params, fiscal_data: refused })).result).toEqual({ success: true });
  expect(await fixture.disagreement(id)).toMatchObject({ kind: 'provider_differs' });
});

it('an operator gives a document that the provider never reported', async () => {
  await fixture.faults({ fault: 'no_fiscal_data', next: 1 });
  const { id } = await paid({ provider: 'payme', token: 'token-0001' });
  await fixture.until(id, { status: 'captured', receipt: 'awaiting_payment' });
  const [money] = await fixture.simulated(id);
  const said = { document: 'sale', verification_url: money?.documents[0]?.url, reason: 'seen in the cabinet' };
  const path = `/v1/operator/payments/${id}/document`;
  expect((await fixture.ask('POST', path, { ...said, verification_url: 'https://ofd/x' })).status).toBe(422);
  expect((await fixture.ask('POST', path, said)).status).toBe(204);
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
  expect((await fixture.ask('POST', path, said)).status).toBe(409);
  expect((await fixture.gateway.audited(id)).map(({ action }) => action)).toEqual(['payment.document']);
});

it.each(['drop_after', 'drop_before', 'error_after', 'malformed'])(
  'click: hands its lines in once, whatever becomes of the answer (%s)',
  async (fault) => {
    const { body } = await fixture.pay({ provider: 'click', capture: 'auto' });
    await fixture.faults({ fault, next: 1 });
    await fixture.payOnPage(body);
    await until(
      'its lines are handed in',
      async () => ({ money: await fixture.simulated(body.id), found: await fixture.disagreement(body.id) }),
      ({ money, found }) => money[0]?.documents.length === 1 || found?.kind === 'document_missing',
    );
    expect((await fixture.simulated(body.id))[0]?.documents.length).toBeLessThanOrEqual(1);
  },
);

it('marked goods are the merchant’s own register’s, and the provider gets no line of them', async () => {
  const { prisma } = fixture.gateway;
  const spic = '02402002001000002';
  await prisma.classifierEntry.create({
    data: {
      ...{ spic, name: { ru: 'Сигареты' }, packages: [{ code: '1500001', name: 'dona' }], units: 796 },
      ...{ marked: true, cashAllowed: true, vatPercents: [12], active: true, version: 1 },
    },
  });
  const sale = fixture.sale({ provider: 'payme', token: 'token-0001' });
  const label = '0104780069000123215ABCDEFGHIJKL';
  const items = [{ name: 'Sigaret', price: PRICE, qty: 1, spic, labels: [label] }];
  const { status, body } = await fixture.ask('POST', '/v1/payments', { ...sale, items });
  expect({ status, body: body.errors ?? body.fiscalised_by }).toEqual({ status: 201, body: 'gateway' });
  await fixture.untilLinked(body.id, body.receipt.fiscal?.verification_url);
  expect(await fixture.simulated(body.id)).toMatchObject([{ documents: [], link: expect.any(String) }]);
});

it.each([
  ['a named register', { device_id: 'dev_x' }, '/device_id'],
  ['half a piece', { item: { qty: 0.5 } }, '/items/0/qty'],
  ['goods of another seller', { item: { commission: { tin: '300000001' } } }, '/items/0/commission'],
  ['a buyer by number', { customer: { pinfl: '30000000000001' } }, '/customer'],
  ['a discount', { provider: 'multicard', item: { discount: 1_000 } }, '/items/0/discount'],
  [
    'goods of a seller without a tin',
    { provider: 'multicard', item: { commission: { pinfl: '30000000000001' } } },
    '/items/0/commission',
  ],
])('refuses %s where the provider registers and could not say it', async (_name, more, pointer) => {
  const { provider = 'payme', item: changed, ...rest } = more as Record<string, unknown> & { provider?: string };
  const sale = fixture.sale({ provider, token: 'token-0001' });
  const [item] = sale['items'] as Record<string, unknown>[];
  const items = [{ ...item, ...(changed as object | undefined) }];
  const before = await fixture.stored();
  const { status, body } = await fixture.ask('POST', '/v1/payments', { ...sale, items, ...rest });
  expect([status, body.errors?.map((each) => each.pointer)]).toEqual([422, [pointer]]);
  expect(await fixture.stored()).toEqual(before);
});

it('says of a sale for another seller that the provider’s document holds the seller, and nothing of the buyer', async () => {
  const { prisma, merchantId } = fixture.gateway;
  const omits = (unsupported_fields: string) =>
    prisma.merchant.update({ where: { id: merchantId }, data: { settings: { unsupported_fields } } });
  await omits('omit');
  const sale = fixture.sale({ provider: 'click', token: 'token-0001' });
  const [item] = sale['items'] as Record<string, unknown>[];
  const items = [{ ...item, commission: { tin: '300000001' } }];
  const { body } = await until(
    'the setting is felt',
    () => fixture.ask('POST', '/v1/payments', { ...sale, items, customer: { pinfl: '30000000000001' } }),
    ({ status }) => status < 300,
  );
  const { receipt } = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  expect((await receiptOf(receipt.id)).fiscal).toMatchObject({ recorded_fields: ['commission'], shift_number: null });
  await omits('refuse');
});

it('takes half a piece where the account says how its provider counts', async () => {
  await mode('click', 'provider', { ofd_amount_scale: '1000' });
  const sale = fixture.sale({ provider: 'click', token: 'token-0001' });
  const [item] = sale['items'] as Record<string, unknown>[];
  const { body } = await fixture.ask('POST', '/v1/payments', { ...sale, items: [{ ...item, qty: 0.5 }] });
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await mode('click', 'provider', { ofd_amount_scale: '1' });
});

it('wants to know the seller before Click is to register the sales', async () => {
  const path = `/v1/provider-accounts/${fixture.accountIds['click'] ?? ''}`;
  await fixture.ask('DELETE', path);
  const settings = { service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' };
  const asked = { provider: 'click', settings: { ...settings, fiscal_mode: 'provider' } };
  const { status, body } = await fixture.ask('POST', '/v1/provider-accounts', asked);
  expect([status, body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '/settings/tin', code: 'required' })],
  ]);
});

it('shows a sale that the provider registered beside our own register', async () => {
  await mode('payme', 'gateway');
  const { body } = await fixture.pay({ provider: 'payme', token: 'token-0001' });
  const { receipt } = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const [money] = await fixture.simulated(body.id);
  expect(money?.documents).toEqual([]);
  const reported = { id: money?.id, type: 'PERFORM', fiscal_data: fiscalData(990) };
  expect((await rpc('SetFiscalData', reported)).result).toEqual({ success: true });
  expect(await fixture.disagreement(body.id)).toMatchObject({ kind: 'provider_differs' });
  expect((await receiptOf(receipt.id)).fiscal).toEqual(receipt.fiscal);
  await mode('payme', 'provider');
});

function fiscalData(number: number) {
  const [c, s] = ['20260102080405', String(number).padStart(12, '0')];
  return {
    ...{ receipt_id: number, status_code: 0, message: 'accepted', terminal_id: 'EP000000000001', fiscal_sign: s },
    ...{ qr_code_url: `https://ofd.soliq.uz/check?t=EP000000000001&r=${String(number)}&c=${c}&s=${s}`, date: c },
  };
}
