// Money goes back exactly as far as the sale does: each part once, never more than was taken, never on a guess.
import { until } from '../../libs/runtime/src/testing/until.js';
import { multicard } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const PIECES = 4;
const WHOLE = PIECES * PRICE;

/** A sale of four pieces, paid and registered. */
async function sold(payment: Record<string, unknown> = { provider: 'multicard', token: 'token-0001' }) {
  const sale = fixture.sale(payment);
  const [item] = sale['items'] as [Record<string, unknown>];
  const { body } = await fixture.ask('POST', '/v1/payments', { ...sale, items: [{ ...item, qty: PIECES }] });
  await fixture.payOnPage(body);
  const view = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  // The link is attached behind the answer: that call must not take the faults that a test sets up now.
  const open = () => fixture.gateway.prisma.payment.count({ where: { id: body.id, dueAt: { not: null } } });
  await until('nothing of it is under way', open, (count) => count === 0);
  return view;
}

function refund(receiptId: string, pieces: number | null, wait = 5) {
  const body = pieces === null ? {} : { lines: [{ line: 1, qty: pieces }] };
  return fixture.ask('POST', `/v1/receipts/${receiptId}/refunds`, body, { prefer: `wait=${String(wait)}` });
}

function untilBack(paymentId: string, refunded: number, status = 'captured') {
  const read = () => fixture.read(paymentId);
  return until('the money is back', read, (view) => view.refunded === refunded && view.status === status);
}

/** What a person found out at the provider about the part that was under way. */
async function resolve(paymentId: string, outcome: string): Promise<void> {
  const said = { outcome, reason: 'found in the cabinet' };
  expect((await fixture.ask('POST', `/v1/operator/payments/${paymentId}/resolve`, said)).status).toBe(204);
}

it.each([
  ['multicard, held', { provider: 'multicard', token: 'token-0001' }],
  ['click, charged', { provider: 'click', token: 'token-0001' }],
  ['click, on its page', { provider: 'click' }],
  ['click, at a till', { provider: 'click', qr_code: 'otp-of-a-wallet' }],
])('gives back the part that was returned, then the rest, both legs shown (%s)', async (_name, payment) => {
  const { id, receipt } = await sold(payment);
  const first = await refund(receipt.id, 1);
  expect(first.status).toBe(201);
  const half = await untilBack(id, PRICE);
  expect(half.refunds).toEqual([{ receipt_id: first.body.id, amount: PRICE, status: 'done' }]);
  expect(await fixture.simulated(id)).toMatchObject([{ status: 'captured', refunds: 1, refunded: PRICE }]);
  const rest = await refund(receipt.id, null);
  const whole = await untilBack(id, WHOLE, 'refunded');
  expect(whole.refunds.at(-1)).toEqual({ receipt_id: rest.body.id, amount: WHOLE - PRICE, status: 'done' });
  expect(await fixture.simulated(id)).toMatchObject([{ status: 'refunded', refunds: 2, refunded: WHOLE }]);
  expect((await refund(receipt.id, 1)).body.code).toBe('nothing_left');
});

it('refunds nothing while the provider may still take the money; afterwards it goes back', async () => {
  const sale = fixture.sale({ provider: 'multicard' });
  const { body } = await fixture.ask('POST', '/v1/payments', sale);
  const [invoice] = await fixture.simulated(body.id);
  await fixture.atProvider(body.id, { status: 'reserved' });
  await multicard(fixture, { uuid: invoice?.id ?? '', orderId: body.id, amount: PRICE });
  // Our verdict is given, and what it came to is not read yet.
  await fixture.until(body.id, { status: 'reserved', receipt: 'registered' });
  const early = await refund(body.receipt.id, null);
  expect([early.status, early.body.code]).toEqual([409, 'payment_not_settled']);
  await fixture.atProvider(body.id, { status: 'captured' });
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  expect((await refund(body.receipt.id, null)).status).toBe(201);
  await untilBack(body.id, PRICE, 'refunded');
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'refunded', refunds: 1, refunded: PRICE }]);
});

it('gives back parts that were asked for at the same time one after the other, and never more than was taken', async () => {
  const { id, receipt } = await sold();
  const answers = await Promise.all(Array.from({ length: PIECES + 2 }, () => refund(receipt.id, 1)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(PIECES);
  await untilBack(id, WHOLE, 'refunded');
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: PIECES, refunded: WHOLE }]);
});

describe.each([
  ['multicard', { provider: 'multicard', token: 'token-0001' }],
  ['click', { provider: 'click', token: 'token-0001' }],
])('%s shows no sum of what it gave back', (_name, payment) => {
  it.each([
    ['drop_after', true],
    ['error_after', true],
    ['malformed', true],
    ['drop_before', false],
    ['error_before', false],
  ])('so an unanswered part is a person’s, and goes back once (%s)', async (fault, isDone) => {
    const { id, receipt } = await sold(payment);
    await fixture.faults({ fault, next: 1, path: '/partial' });
    await refund(receipt.id, 1);
    await fixture.until(id, { status: 'manual' });
    expect(await fixture.simulated(id)).toMatchObject([{ refunds: isDone ? 1 : 0 }]);
    // What has not happened is asked for once more when a person has said so.
    await resolve(id, isDone ? 'part_refunded' : 'captured');
    await untilBack(id, PRICE);
    expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1, refunded: PRICE }]);
  });
});

it('takes a decision that is repeated for one about the part that was read, not about the next', async () => {
  const { id, receipt } = await sold({ provider: 'multicard', token: 'token-0001' });
  await fixture.faults({ fault: 'drop_after', next: 1, path: '/partial' });
  await refund(receipt.id, 1);
  const read = await fixture.until(id, { status: 'manual' });
  const decide = (outcome: string, { status_since, refunded }: Pick<typeof read, 'status_since' | 'refunded'>) =>
    fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, {
      ...{ outcome, reason: 'found in the cabinet', status_since, refunded },
    });
  await fixture.faults({ fault: 'drop_before', next: 1, path: '/partial' });
  expect((await decide('part_refunded', read)).status).toBe(204);
  await untilBack(id, PRICE);
  await refund(receipt.id, 1);
  const next = await fixture.until(id, { status: 'manual' });
  for (const stale of [read, { ...next, refunded: read.refunded }, { ...next, status_since: read.status_since }]) {
    const answer = await decide('part_refunded', stale);
    expect([answer.status, answer.body.code]).toEqual([409, 'payment_changed']);
  }
  expect(await fixture.read(id)).toMatchObject({ status: 'manual', refunded: PRICE });
  expect((await decide('captured', next)).status).toBe(204);
  await untilBack(id, 2 * PRICE);
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 2, refunded: 2 * PRICE }]);
});

it('decides on the part that is under way first, also when an older one has become due beside it', async () => {
  const { id, receipt } = await sold();
  fixture.register = 'sleeps';
  const older = await refund(receipt.id, 1, 0);
  const younger = await refund(receipt.id, 2, 0);
  // Its fate can be read only later.
  await fixture.faults({ fault: 'drop_after', next: 1, path: '/partial' }, { fault: 'error_before', next: 2 });
  await fixture.registered(younger.body.id);
  await fixture.until(id, { status: 'refund_unknown' });
  await fixture.registered(older.body.id);
  await fixture.until(id, { status: 'manual' });
  await resolve(id, 'part_refunded');
  const both = await untilBack(id, 3 * PRICE);
  expect(both.refunds.map(({ amount, status }) => [amount, status])).toEqual([
    [PRICE, 'done'],
    [2 * PRICE, 'done'],
  ]);
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 2, refunded: 3 * PRICE }]);
});

it('moves no money for a part that the register refuses, and the part can be refunded again', async () => {
  const { id, receipt } = await sold();
  fixture.register = 'rejects';
  const refused = await refund(receipt.id, 1);
  expect(refused.status).toBe(422);
  fixture.register = 'registers';
  await refund(receipt.id, 1);
  const view = await untilBack(id, PRICE);
  expect(view.refunds.map(({ status }) => status)).toEqual(['dropped', 'done']);
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1, refunded: PRICE }]);
});

it('refunds the rest of the receipt when the provider gives back all that was left', async () => {
  const { id, receipt } = await sold();
  await refund(receipt.id, 1);
  await untilBack(id, PRICE);
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET state = 'refunded', refunded_tiyin = amount_tiyin, due_at = now() WHERE id = ${id}`;
  await until(
    'the receipt is refunded',
    async () => (await fixture.ask('GET', `/v1/receipts/${receipt.id}`)).body['refunded'],
    (refunded) => (refunded as unknown as { complete: boolean }).complete,
  );
  const { body } = await fixture.ask('GET', `/v1/receipts/${receipt.id}/refunds`);
  expect((body['data'] as unknown[]).length).toBe(2);
});

it('keeps the money of a sale whose second registration was taken back', async () => {
  const { id, receipt } = await sold();
  const { prisma } = fixture.gateway;
  const surplus = `rcp_${'0'.repeat(25)}s`;
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id, cashier_id,
                          document, total_tiyin, vat_total_tiyin, refund_of)
    SELECT ${surplus}, merchant_id, client_id, 'surplus', body_hash, 'refund', 'accepted', nextval('lane_place_seq'), device_id, branch_id, cashier_id,
           document, total_tiyin, vat_total_tiyin, id FROM receipts WHERE id = ${receipt.id}`;
  await fixture.registered(surplus);
  // The saga has read it, and has nothing to do.
  const row = () => prisma.payment.findUniqueOrThrow({ where: { id } });
  await until('the payment comes to rest', row, ({ dueAt }) => dueAt === null);
  expect(await fixture.read(id)).toMatchObject({ status: 'captured', refunded: 0, refunds: [] });
  await refund(receipt.id, 1);
  await untilBack(id, PRICE);
  expect(await fixture.simulated(id)).toMatchObject([{ status: 'captured', refunds: 1, refunded: PRICE }]);
});

it.each([
  ['payme', { provider: 'payme', token: 'token-0001' }],
  ['an invoice of multicard', { provider: 'multicard' }],
])('refuses a part before anything is stored where only the whole sum goes back (%s)', async (_name, payment) => {
  const { receipt } = await sold(payment);
  const before = await fixture.stored();
  const { status, body } = await refund(receipt.id, 1);
  expect([status, body.code]).toEqual([422, 'partial_refund_unsupported']);
  expect(await fixture.stored()).toEqual(before);
});

it('leaves a refund that the provider refuses to a person, who says what became of it', async () => {
  const { id, receipt } = await sold();
  const [money] = await fixture.simulated(id);
  await fixture.faults({ fault: 'refuse_refund', next: 1 });
  await refund(receipt.id, 1);
  await fixture.until(id, { status: 'manual' });
  expect(money).toMatchObject({ refunds: 0 });
  await resolve(id, 'part_refunded');
  expect(await untilBack(id, PRICE)).toMatchObject({ refunds: [{ status: 'done' }] });
});

it.each([
  ['after the provider had done it', true],
  ['before the provider received it', false],
])('gives the part back once when its caller died %s', async (_name, isDone) => {
  const { id, receipt } = await sold();
  const [money] = await fixture.simulated(id);
  fixture.register = 'sleeps';
  const { body: refunding } = await refund(receipt.id, 1, 0);
  if (isDone) {
    const init = { method: 'DELETE', headers: { 'content-type': 'application/json' } };
    const body = JSON.stringify({ refund_amount: PRICE, ofd: [] });
    await (
      await fetch(`${fixture.simulatorUrl}/multicard/payment/${money?.id ?? ''}/partial`, { ...init, body })
    ).text();
  }
  // As the intent's commit leaves it: the call is open, and no process will close it.
  const { prisma } = fixture.gateway;
  await prisma.$transaction([
    prisma.$executeRaw`DELETE FROM payment_refunds WHERE receipt_id = ${refunding.id}`,
    prisma.$executeRaw`
      INSERT INTO payment_refunds (payment_id, receipt_id, amount_tiyin, state, reason, called_at)
      SELECT ${id}, r.id, r.total_tiyin, 'requested', 'a test', now() FROM receipts r WHERE r.id = ${refunding.id}`,
    prisma.$executeRaw`INSERT INTO payment_calls (payment_id, call, lease_id) VALUES (${id}, 'refund', 'of a dead worker')`,
    prisma.$executeRaw`UPDATE payments SET state = 'refunding', state_since = now(), due_at = now() WHERE id = ${id}`,
  ]);
  await fixture.until(id, { status: 'manual' });
  await resolve(id, isDone ? 'part_refunded' : 'captured');
  await untilBack(id, PRICE);
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1, refunded: PRICE }]);
});

it('refuses a part where an account at Click has parts switched off', async () => {
  const { receipt } = await sold({ provider: 'click', token: 'token-0001' });
  const path = `/v1/provider-accounts/${fixture.accountIds['click'] ?? ''}`;
  await fixture.ask('PATCH', path, { settings: { partial_refunds: 'off' } });
  const { status, body } = await refund(receipt.id, 1);
  expect([status, body.code]).toEqual([422, 'partial_refund_unsupported']);
  await fixture.ask('PATCH', path, { settings: { partial_refunds: 'on' } });
});

describe('a sale of several sellers in one payment', () => {
  const [FIRST, SECOND] = [{ tin: '300000001' }, { pinfl: '12345678901234' }];

  it('shows each one’s share, and gives back what is one’s own: receipt and money', async () => {
    // What the fixture's register cannot put into the document is left out of it, and stays on the line.
    await fixture.ask('PATCH', '/v1/merchant', { unsupported_fields: 'omit' });
    const sale = fixture.sale({ provider: 'stripe', token: 'pm_card_0001' });
    const [item] = sale['items'] as [Record<string, unknown>];
    const items = [
      { ...item, price: 33_333, commission: FIRST },
      { ...item, price: 77_777, qty: '0.777', commission: SECOND },
      { ...item, price: 11_111, commission: FIRST },
      { ...item, price: 1 },
    ];
    const { body } = await fixture.ask('POST', '/v1/payments', { ...sale, items });
    const { id, receipt, sellers, amount } = await fixture.until(body.id, {
      status: 'captured',
      receipt: 'registered',
    });
    expect(sellers).toEqual([
      { tin: FIRST?.tin, pinfl: null, amount: 44_444 },
      { tin: null, pinfl: SECOND?.pinfl, amount: 60_433 },
      { tin: null, pinfl: null, amount: 1 },
    ]);
    expect(sellers.reduce((sum, share) => sum + share.amount, 0)).toBe(amount);
    const back = (seller: unknown) => fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, { seller });
    expect((await back(SECOND)).status).toBe(201);
    await untilBack(id, 60_433);
    expect((await back(SECOND)).body.errors).toMatchObject([{ pointer: '/seller', code: 'exceeds_left' }]);
    expect((await back({ tin: '999999999' })).body.errors).toMatchObject([
      { pointer: '/seller', code: 'line_unknown' },
    ]);
    expect((await back(FIRST)).status).toBe(201);
    await untilBack(id, 60_433 + 44_444);
    expect((await back({ own: true })).status).toBe(201);
    await untilBack(id, amount, 'refunded');
    expect(await fixture.simulated(id)).toMatchObject([{ captures: 1, refunds: 3, refunded: amount }]);
  });
});

it('shows a receipt that is refunded further than its money, until a person has found the rest back', async () => {
  const { id, receipt } = await sold();
  fixture.register = 'sleeps';
  expect((await refund(receipt.id, 1, 0)).status).toBe(202);
  // As of a release that let a refund in while the money was not taken yet.
  await fixture.gateway.prisma.$executeRaw`DELETE FROM payment_refunds WHERE payment_id = ${id}`;
  fixture.register = 'registers';
  const shown = await until(
    'it is shown, and a person’s',
    () => fixture.disagreement(id),
    (found) => found?.next_actor === 'operator',
  );
  expect(shown).toMatchObject({ kind: 'refund_open', status: 'captured', receipt_status: 'registered' });
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 0 }]);
  await resolve(id, 'part_refunded');
  expect(await fixture.read(id)).toMatchObject({ status: 'captured', refunded: PRICE });
  await until(
    'it is shown no more',
    () => fixture.disagreement(id),
    (found) => found === undefined,
  );
});
