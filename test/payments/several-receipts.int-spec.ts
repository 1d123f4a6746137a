// One payment, several sellers' receipts at registers of their own: all are registered or the money goes back and none stays, each seller
// is refunded alone, and the parts are the whole to the tiyin.
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';
import { anId, askPayme } from './provider-callers.js';

const fixture = paymentsFixture();

const OTHER_PRICE = 50_001;
const WHOLE = PRICE + OTHER_PRICE;
const HELD = { provider: 'multicard', token: 'token-0001' };

let otherDevice = '';

beforeAll(async () => {
  ({ deviceId: otherDevice } = await fixture.gateway.createDevice());
});

type Sale = Record<string, unknown>;

/** Two sellers: the first one's goods at the first register, the other's at the second. */
function cart(payment: Sale, more: Sale = {}, other: Sale = {}): Sale {
  const sale = fixture.sale(payment, { device_id: fixture.deviceId });
  const [item] = sale['items'] as [Sale];
  const items = [{ ...item, price: OTHER_PRICE, commission: { tin: '300000001' } }];
  return { ...sale, further_receipts: [{ items, device_id: otherDevice, ...other }], ...more };
}

const buy = (payment: Sale, headers: Record<string, string> = {}) =>
  fixture.ask('POST', '/v1/payments', cart(payment), { prefer: 'wait=0', ...headers });

const statusesOf = ({ receipt, further_receipts: further }: Awaited<ReturnType<typeof fixture.read>>) =>
  [receipt, ...further].map(({ status }) => status);

function untilStatuses(id: string, status: string, receipts: string[]) {
  return until(
    `payment ${id} is ${status}, its receipts ${receipts.join(', ')}`,
    () => fixture.read(id),
    (view) => view.status === status && JSON.stringify(statusesOf(view)) === JSON.stringify(receipts),
  );
}

const isRefunded = async (receiptId: string, total: number): Promise<void> => {
  const read = () => fixture.refundsOf(receiptId);
  const found = await until('it is refunded', read, (all) => all.some(({ status }) => status === 'registered'));
  expect(found).toEqual([{ status: 'registered', total }]);
};

it.each([
  ['held', HELD, 1],
  ['charged', { provider: 'click', token: 'token-0001' }, 1],
  ['asked about (veto)', { provider: 'multicard' }, 1],
  ['taken by Payme', { provider: 'payme' }, 1],
  ['taken by Click', { provider: 'click' }, 1],
  ['taken by Uzum', { provider: 'uzum', token: 'binding-0001' }, 1],
])('%s once over the whole sum, every receipt registered at its own register', async (_name, payment, captures) => {
  const { body } = await buy(payment);
  await fixture.payOnPage(body);
  const view = await untilStatuses(body.id, 'captured', ['registered', 'registered']);
  expect(view.amount).toBe(WHOLE);
  expect([view.receipt, ...view.further_receipts]).toMatchObject([
    { device_id: fixture.deviceId, payment_id: body.id, total: PRICE },
    { device_id: otherDevice, payment_id: body.id, total: OTHER_PRICE },
  ]);
  expect(view.sellers).toEqual([
    { tin: null, pinfl: null, amount: PRICE },
    { tin: '300000001', pinfl: null, amount: OTHER_PRICE },
  ]);
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures, refunds: 0 }]);
  await until(
    'nothing is open',
    () => fixture.disagreement(body.id),
    (found) => found === undefined,
  );
  for (const { id } of [view.receipt, ...view.further_receipts]) {
    const { body: page } = await fixture.ask('GET', `/v1/payments?receipt_id=${id}`);
    expect(page['data']).toMatchObject([{ id: body.id, further_receipt_ids: [view.further_receipts[0]?.id] }]);
    const { body: timeline } = await fixture.ask('GET', `/v1/receipts/${id}/timeline`);
    expect(JSON.stringify(timeline)).toContain(body.id);
  }
});

it('is answered 201 once all receipts are registered, and 202 while one is not', async () => {
  fixture.register = 'sleeps';
  const waiting = fixture.ask('POST', '/v1/payments', cart(HELD), { prefer: 'wait=10' });
  const accepted = () =>
    fixture.gateway.prisma.receipt.findMany({ where: { status: 'accepted' }, orderBy: { totalTiyin: 'desc' } });
  const rows = await until('both are in their lanes', accepted, (all) => all.length === 2);
  for (const { id } of rows) await fixture.registered(id);
  expect((await waiting).status).toBe(201);
  const early = await fixture.ask('POST', '/v1/payments', cart(HELD), { prefer: 'wait=1' });
  expect(early.status).toBe(202);
  expect(statusesOf(early.body)).toEqual(['accepted', 'accepted']);
  fixture.register = 'registers';
  await untilStatuses(early.body.id, 'captured', ['registered', 'registered']);
});

describe.each([
  ['held', HELD, 'voided'],
  ['charged', { provider: 'click', token: 'token-0001' }, 'refunded'],
])('one register refuses (%s)', (_name, payment, end) => {
  it.each([
    ['the first', 0],
    ['the second', 1],
  ])('%s: the money is the customer’s again, and what was registered is refunded', async (_which, refused) => {
    fixture.register = 'sleeps';
    const { body } = await buy(payment);
    const view = await untilStatuses(body.id, payment === HELD ? 'authorized' : 'captured', ['accepted', 'accepted']);
    const ids = [view.receipt.id, view.further_receipts[0]?.id ?? ''];
    await fixture.registered(ids[1 - refused] ?? '');
    await fixture.rejected(ids[refused] ?? '');
    fixture.register = 'registers';
    const receipts = refused === 0 ? ['rejected', 'registered'] : ['registered', 'rejected'];
    await untilStatuses(body.id, end, receipts);
    await isRefunded(ids[1 - refused] ?? '', refused === 0 ? OTHER_PRICE : PRICE);
    expect(await fixture.refundsOf(ids[refused] ?? '')).toEqual([]);
    const [known] = await fixture.simulated(body.id);
    expect(known).toMatchObject(end === 'voided' ? { captures: 0 } : { captures: 1, refunded: WHOLE });
    await until(
      'nothing is open',
      () => fixture.disagreement(body.id),
      (found) => found === undefined,
    );
  });

  it('before the other one has left: that one is cancelled', async () => {
    fixture.register = 'sleeps';
    const { body } = await buy(payment);
    const view = await untilStatuses(body.id, payment === HELD ? 'authorized' : 'captured', ['accepted', 'accepted']);
    await fixture.rejected(view.receipt.id);
    await untilStatuses(body.id, end, ['rejected', 'cancelled']);
  });
});

it('shows money of which one receipt is missing', async () => {
  fixture.register = 'sleeps';
  const { body } = await buy({ provider: 'click', token: 'token-0001' });
  const view = await untilStatuses(body.id, 'captured', ['accepted', 'accepted']);
  await fixture.registered(view.receipt.id);
  const found = await until(
    'it is shown',
    () => fixture.disagreement(body.id),
    (each) => each !== undefined,
  );
  expect(found).toMatchObject({ kind: 'money_without_receipt' });
  await fixture.registered(view.further_receipts[0]?.id ?? '');
  await until(
    'it is shown no more',
    () => fixture.disagreement(body.id),
    (each) => each === undefined,
  );
});

it('gives each seller’s money back alone, and the rest with the last', async () => {
  const { body } = await buy(HELD);
  const { receipt, further_receipts: further } = await untilStatuses(body.id, 'captured', ['registered', 'registered']);
  const other = further[0]?.id ?? '';
  const part = await fixture.ask('POST', `/v1/receipts/${other}/refunds`, {}, { prefer: 'wait=5' });
  expect(part).toMatchObject({ status: 201, body: { total: OTHER_PRICE } });
  const untilBack = (refunded: number, status: string) =>
    until(
      'the money is back',
      () => fixture.read(body.id),
      (view) => view.refunded === refunded && view.status === status,
    );
  await untilBack(OTHER_PRICE, 'captured');
  expect((await fixture.ask('POST', `/v1/receipts/${other}/refunds`, {})).body.code).toBe('nothing_left');
  await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {}, { prefer: 'wait=5' });
  const whole = await untilBack(WHOLE, 'refunded');
  expect(whole.refunds.map(({ amount, status }) => [amount, status])).toEqual([
    [OTHER_PRICE, 'done'],
    [PRICE, 'done'],
  ]);
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'refunded', refunds: 2, refunded: WHOLE }]);
});

describe('a provider that gives back the whole sum only', () => {
  const paid = async () => {
    const { body } = await buy({ provider: 'payme', token: 'token-0001' });
    return untilStatuses(body.id, 'captured', ['registered', 'registered']);
  };

  it('one seller’s part is refused, and says how all of it goes back', async () => {
    const { receipt } = await paid();
    const { status, body } = await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {});
    expect([status, body.code]).toEqual([422, 'partial_refund_unsupported']);
    expect(body['detail']).toContain('/v1/payments/{id}/refunds');
  });

  it('all of it goes back at once, and then every receipt, however often it is asked', async () => {
    const { id, receipt, further_receipts: further } = await paid();
    const answers = await Promise.all([1, 2, 3].map(() => fixture.ask('POST', `/v1/payments/${id}/refunds`)));
    expect(new Set(answers.map(({ status, body }) => (status === 200 ? 200 : body.code)))).toEqual(new Set([200]));
    await fixture.until(id, { status: 'refunded' });
    await isRefunded(receipt.id, PRICE);
    await isRefunded(further[0]?.id ?? '', OTHER_PRICE);
    expect((await fixture.ask('POST', `/v1/payments/${id}/refunds`)).status).toBe(200);
    expect(await fixture.simulated(id)).toMatchObject([{ status: 'refunded', refunds: 1, refunded: WHOLE }]);
  });
});

describe('the whole of it is not given back', () => {
  const refusal = async (id: string) => {
    const { status, body } = await fixture.ask('POST', `/v1/payments/${id}/refunds`);
    return [status, body.code];
  };

  it('of one receipt, before the money is there, in the provider’s own cabinet, of another merchant', async () => {
    const single = await fixture.pay(HELD);
    expect(await refusal(single.body.id)).toEqual([409, 'payment_of_one_receipt']);
    const waiting = await buy({ provider: 'payme' });
    expect(await refusal(waiting.body.id)).toEqual([409, 'payment_not_settled']);
    await fixture.payOnPage(waiting.body);
    await untilStatuses(waiting.body.id, 'captured', ['registered', 'registered']);
    expect(await refusal(waiting.body.id)).toEqual([409, 'refund_by_provider']);
    const stranger = await fixture.stranger(['refunds:write']);
    expect((await fixture.ask('POST', `/v1/payments/${waiting.body.id}/refunds`, undefined, stranger)).status).toBe(
      404,
    );
  });

  it('while a part is on its way back', async () => {
    const { body } = await buy(HELD);
    const { further_receipts: further } = await untilStatuses(body.id, 'captured', ['registered', 'registered']);
    fixture.register = 'sleeps';
    await fixture.ask('POST', `/v1/receipts/${further[0]?.id ?? ''}/refunds`, {}, { prefer: 'wait=0' });
    expect(await refusal(body.id)).toEqual([409, 'payment_not_settled']);
    fixture.register = 'registers';
    const back = (view: { refunded: number }) => view.refunded === OTHER_PRICE;
    await until('the part is back', () => fixture.read(body.id), back);
    expect((await fixture.ask('POST', `/v1/payments/${body.id}/refunds`)).status).toBe(200);
    await fixture.until(body.id, { status: 'refunded' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ refunds: 2, refunded: WHOLE }]);
  });
});

describe('Payme takes its money back', () => {
  const taken = async (receipts: string[]) => {
    const { body } = await buy({ provider: 'payme' });
    const id = anId();
    await askPayme(fixture, 'CreateTransaction', {
      id,
      time: Date.now(),
      amount: WHOLE,
      account: { order_id: body.id },
    });
    await askPayme(fixture, 'PerformTransaction', { id });
    const view = await untilStatuses(body.id, 'captured', receipts);
    const back = () => askPayme(fixture, 'CancelTransaction', { id, reason: 5 });
    return { id: body.id, back, first: view.receipt.id, other: view.further_receipts[0]?.id ?? '' };
  };

  it('after every register has its receipt: each is refunded', async () => {
    const { id, back, first, other } = await taken(['registered', 'registered']);
    await back();
    await fixture.until(id, { status: 'refunded' });
    await isRefunded(first, PRICE);
    await isRefunded(other, OTHER_PRICE);
    expect((await fixture.simulated(id)).every(({ refunds }) => refunds === 0)).toBe(true);
  });

  it('before: both are cancelled', async () => {
    fixture.register = 'sleeps';
    const { id, back } = await taken(['accepted', 'accepted']);
    await back();
    await untilStatuses(id, 'refunded', ['cancelled', 'cancelled']);
  });

  it('while one is unknown: the other is refunded at once, that one when it proves registered', async () => {
    fixture.register = 'sleeps';
    const { id, back, first, other } = await taken(['accepted', 'accepted']);
    await fixture.registered(first);
    await fixture.gateway.prisma.receipt.update({ where: { id: other }, data: { status: 'unknown' } });
    await back();
    fixture.register = 'registers';
    await isRefunded(first, PRICE);
    expect(await fixture.refundsOf(other)).toEqual([]);
    await fixture.registered(other);
    await isRefunded(other, OTHER_PRICE);
    await untilStatuses(id, 'refunded', ['registered', 'registered']);
  });
});

it('is cancelled as a whole while no receipt has left', async () => {
  fixture.register = 'sleeps';
  const { body } = await buy(HELD);
  const { receipt } = await untilStatuses(body.id, 'authorized', ['accepted', 'accepted']);
  expect((await fixture.ask('POST', `/v1/payments/${body.id}/cancel`)).status).toBe(200);
  await untilStatuses(body.id, 'voided', ['cancelled', 'cancelled']);
  expect((await fixture.simulated(body.id))[0]).toMatchObject({ captures: 0 });
  expect(receipt.id).not.toBe('');
});

it('one of them registered: the payment is not cancelled any more', async () => {
  fixture.register = 'sleeps';
  const { body } = await buy(HELD);
  const { further_receipts: further } = await untilStatuses(body.id, 'authorized', ['accepted', 'accepted']);
  await fixture.registered(further[0]?.id ?? '');
  const { status, body: problem } = await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
  expect([status, problem.code]).toEqual([409, 'payment_not_cancellable']);
  fixture.register = 'registers';
  await untilStatuses(body.id, 'captured', ['registered', 'registered']);
});

it('is one payment under its key, and the same request again is that one', async () => {
  const headers = { 'idempotency-key': `cart-${String(Date.now())}` };
  const first = await buy(HELD, headers);
  await untilStatuses(first.body.id, 'captured', ['registered', 'registered']);
  const stored = await fixture.stored();
  const again = await buy(HELD, headers);
  expect([again.status, again.body.id, again.headers.get('idempotency-replayed')]).toEqual([
    201,
    first.body.id,
    'true',
  ]);
  const changed = await fixture.ask('POST', '/v1/payments', cart(HELD, {}, { metadata: { seller: '2' } }), headers);
  expect([changed.status, changed.body.code]).toEqual([422, 'idempotency_mismatch']);
  expect(await fixture.stored()).toEqual(stored);
});

describe('nothing is stored of', () => {
  const refused = async (path: string, body: Sale): Promise<[number, string[]]> => {
    const stored = await fixture.stored();
    const answer = await fixture.ask('POST', path, body);
    expect(await fixture.stored()).toEqual(stored);
    return [answer.status, answer.body.errors.map(({ pointer, code }) => `${pointer} ${code}`)];
  };

  it.each<[string, () => Sale, number, string[]]>([
    [
      'an item without a price',
      () => cart(HELD, {}, { items: [{ name: 'Non', qty: 1 }] }),
      422,
      ['/further_receipts/0/items/0/price'],
    ],
    ['no receipt', () => cart(HELD, { further_receipts: [] }), 422, ['/further_receipts']],
    [
      'too many',
      () =>
        cart(HELD, { further_receipts: Array.from({ length: 20 }, () => ({ items: fixture.sale(HELD)['items'] })) }),
      422,
      ['/further_receipts'],
    ],
    [
      'a payment of its own',
      () => cart(HELD, {}, { payment: { method: 'cash' } }),
      422,
      ['/further_receipts/0/payment'],
    ],
    [
      'an unknown cashier',
      () => cart(HELD, {}, { cashier_id: 'nowhere' }),
      422,
      ['/further_receipts/0/cashier_id cashier_unknown'],
    ],
    [
      'an unknown register',
      () => cart(HELD, {}, { device_id: 'dev_unknown' }),
      422,
      ['/further_receipts/0/device_id device_unknown'],
    ],
    [
      'a card number',
      () => cart(HELD, {}, { metadata: { card: '8600303230300001' } }),
      422,
      ['/further_receipts/0/metadata/card card_data_refused'],
    ],
    [
      'one external_id twice',
      () => cart(HELD, { external_id: 'twice' }, { external_id: 'twice' }),
      422,
      ['/further_receipts/0/external_id invalid_value'],
    ],
    [
      'what is wrong with both',
      () => cart(HELD, { cashier_id: 'nowhere' }, { cashier_id: 'nowhere-else' }),
      422,
      ['/cashier_id cashier_unknown', '/further_receipts/0/cashier_id cashier_unknown'],
    ],
  ])('%s', async (_name, body, status, errors) => {
    for (const path of ['/v1/payments', '/v1/receipts/validate']) {
      const [answered, found] = await refused(path, body());
      expect(answered).toBe(status);
      expect(found).toEqual(errors.map((error) => expect.stringContaining(error) as string));
    }
  });

  it('an external_id of another receipt', async () => {
    const external = `seller-${String(Date.now())}`;
    const first = await fixture.ask('POST', '/v1/payments', cart(HELD, {}, { external_id: external }));
    expect(first.status).toBeLessThan(300);
    await untilStatuses(first.body.id, 'captured', ['registered', 'registered']);
    const [status, errors] = await refused('/v1/payments', cart(HELD, {}, { external_id: external }));
    expect([status, errors]).toEqual([422, ['/further_receipts/0/external_id invalid_value']]);
  });

  it('money that was taken elsewhere', async () => {
    const cash = cart({ method: 'cash' });
    expect(await refused('/v1/receipts', cash)).toEqual([422, [expect.stringContaining('/further_receipts')]]);
    expect(await refused('/v1/receipts/validate', cash)).toEqual([422, ['/further_receipts invalid_value']]);
  });
});

it('shows what each receipt would become', async () => {
  const { status, body } = await fixture.ask('POST', '/v1/receipts/validate', cart(HELD));
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ valid: true, total: PRICE, device_id: fixture.deviceId },
    further_receipts: [{ total: OTHER_PRICE, device_id: otherDevice, cashier_id: fixture.cashierId }],
  });
});
