// What no machine can decide about money a person decides, with the reason on the trail, and money and receipt agree afterwards.
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import { countForPerson } from '../../apps/gateway/src/payments/repository/payments-for-person.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const REASON = 'seen in the cabinet of the provider';

/** As a status of the provider leaves it that its people are at work on (Payme's 20). */
async function manual(): Promise<PaymentView> {
  const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001', capture: 'manual' });
  expect(body).toMatchObject({ status: 'authorized', receipt: { status: 'awaiting_payment' } });
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET state = 'manual', waits_for_capture = false, state_since = now() - interval '90 seconds',
                        reason = 'the provider handles it by hand' WHERE id = ${body.id}`;
  return body;
}

const resolve = (id: string, outcome: string, more: Record<string, unknown> = {}) =>
  fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, { outcome, reason: REASON, ...more });

it('shows it with its age and who goes on', async () => {
  const { id } = await manual();
  const found = await fixture.disagreement(id);
  expect(found).toMatchObject({
    ...{ kind: 'manual', amount: PRICE, reason: 'the provider handles it by hand' },
    next_step: 'operator: find out at the provider, then POST /v1/operator/payments/{id}/resolve',
  });
  expect(found?.age_seconds).toBeGreaterThanOrEqual(90);
});

it.each([
  ['captured', 'captured', 'registered'],
  ['voided', 'voided', 'cancelled'],
  ['declined', 'declined', 'cancelled'],
  ['refunded', 'refunded', 'cancelled'],
])('says %s: the payment ends %s, its receipt %s', async (outcome, status, receipt) => {
  const { id } = await manual();
  expect((await resolve(id, outcome)).status).toBe(204);
  const view = await fixture.until(id, { status, receipt });
  expect(view.refunded).toBe(outcome === 'refunded' ? PRICE : 0);
  const trail = await fixture.gateway.audited(id);
  expect(trail).toMatchObject([
    { action: 'payment.resolve', before: { status: 'manual' }, after: { status: outcome, reason: REASON } },
  ]);
  expect((await fixture.events(id)).filter((type) => type === `payment.${outcome}`)).toHaveLength(1);
});

it('says captured of a sale that the register then refuses: the money goes back', async () => {
  const { id } = await manual();
  // The hold was charged by the provider's people.
  await fixture.atProvider(id, { status: 'captured' });
  fixture.register = 'rejects';
  await resolve(id, 'captured');
  await fixture.until(id, { status: 'refunded', receipt: 'rejected' });
  expect(await fixture.simulated(id)).toMatchObject([{ captures: 1, refunds: 1 }]);
});

/** Where a call was not answered, and its status says nothing either. */
async function unanswered(state: string, age: string): Promise<PaymentView> {
  const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001', capture: 'manual' });
  // Its lease is held: no worker reads the status meanwhile.
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET lease_id = 'test', lease_until = now() + interval '1 hour' WHERE id = ${body.id}`;
  for (const next of [state === 'void_unknown' ? 'voiding' : 'capturing', state])
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET state = ${next}::payment_state, waits_for_capture = false,
                          state_since = now() - ${age}::interval WHERE id = ${body.id}`;
  return body;
}

describe('a call that is not answered for ever', () => {
  it('is a person’s after ten minutes, and not before', async () => {
    const { id } = await unanswered('capture_unknown', '9 minutes');
    const early = await resolve(id, 'captured');
    expect([early.status, early.body.code]).toEqual([409, 'payment_not_manual']);
    expect((await fixture.read(id)).status).toBe('capture_unknown');
  });

  it.each([
    ['capture_unknown', 'captured', 'registered'],
    ['capture_unknown', 'voided', 'cancelled'],
    ['void_unknown', 'voided', 'cancelled'],
  ])('%s, said %s: its receipt is %s', async (state, outcome, receipt) => {
    const { id } = await unanswered(state, '11 minutes');
    expect((await resolve(id, outcome)).status).toBe(204);
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET lease_id = NULL, lease_until = NULL, due_at = now() WHERE id = ${id}`;
    await fixture.until(id, { status: outcome, receipt });
    expect(await fixture.gateway.audited(id)).toMatchObject([
      { before: { status: state }, after: { status: outcome } },
    ]);
  });

  it.each([
    ['capture_unknown', 'refunded'],
    ['void_unknown', 'part_refunded'],
  ])('%s cannot have become %s: 422', async (state, outcome) => {
    const { id } = await unanswered(state, '11 minutes');
    const answer = await resolve(id, outcome);
    expect([answer.status, answer.body.errors[0]?.pointer]).toEqual([422, '/outcome']);
    expect((await fixture.read(id)).status).toBe(state);
  });
});

it('money that only its provider gives back: a person says that it is back', async () => {
  fixture.register = 'rejects';
  const { body } = await fixture.pay({ provider: 'payme' });
  await fixture.payOnPage(body);
  // Payme's Merchant API has no call of ours that gives back.
  await until(
    'a person is awaited',
    () => fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id: body.id } }),
    ({ state, awaitsOperator }) => state === 'captured' && awaitsOperator,
  );
  expect(await fixture.disagreement(body.id)).toMatchObject({
    kind: 'money_without_receipt',
    next_step: expect.stringContaining('/resolve') as string,
  });
  expect((await resolve(body.id, 'voided')).status).toBe(422);
  expect((await resolve(body.id, 'refunded')).status).toBe(204);
  const view = await fixture.until(body.id, { status: 'refunded', receipt: 'rejected' });
  expect(view.refunded).toBe(PRICE);
});

describe('a call whose caller died, and whose status cannot be read', () => {
  it('is unknown, and a person’s after ten minutes', async () => {
    const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001', capture: 'manual' });
    await fixture.faults({ fault: 'error_before', rate: 1 });
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET state = 'capturing', waits_for_capture = false, due_at = now() WHERE id = ${body.id}`;
    await fixture.until(body.id, { status: 'capture_unknown' });
    expect((await resolve(body.id, 'voided')).status).toBe(409);
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET state_since = now() - interval '11 minutes' WHERE id = ${body.id}`;
    expect(await fixture.disagreement(body.id)).toMatchObject({
      kind: 'unknown',
      next_step: expect.stringContaining('/resolve') as string,
    });
    expect((await resolve(body.id, 'voided')).status).toBe(204);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
  });
});

describe('a key that was revoked while money was held for a registered receipt', () => {
  const account = (apiUrl: string) => fixture.choose('multicard', { api_url: apiUrl, secret: 'multi-secret' });
  afterAll(() => account(`${fixture.simulatorUrl}/multicard`));

  it.each([
    ['voided', 1],
    ['captured', 0],
  ])('is ended by a person after ten minutes: %s', async (outcome, refunds) => {
    await account(`${fixture.simulatorUrl}/multicard`);
    fixture.register = 'sleeps';
    const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' }, { prefer: 'wait=0' });
    await fixture.until(body.id, { status: 'authorized', receipt: 'accepted' });
    // Nothing listens there: no capture leaves.
    await account('http://127.0.0.1:9/multicard');
    fixture.register = 'registers';
    const { prisma } = fixture.gateway;
    await until(
      'a capture was tried',
      () => prisma.paymentCall.count({ where: { paymentId: body.id, call: 'capture' } }),
      (calls) => calls > 0,
    );
    // In the moment of a try its state is another one.
    const early = await resolve(body.id, outcome);
    expect([early.status, early.body.code]).toEqual([409, 'payment_not_manual']);
    await prisma.$executeRaw`
      UPDATE payment_calls SET started_at = started_at - interval '11 minutes' WHERE payment_id = ${body.id}`;
    await until(
      'it is shown',
      () => fixture.disagreement(body.id),
      (shown) => shown?.kind === 'receipt_without_money' && shown.next_step.includes('/resolve'),
    );
    await until(
      'it is ended',
      () => resolve(body.id, outcome),
      ({ status }) => status === 204,
    );
    await fixture.until(body.id, { status: outcome, receipt: 'registered' });
    if (refunds > 0) await fixture.untilRefunded(body.receipt.id);
    expect(await fixture.refundsOf(body.receipt.id)).toHaveLength(refunds);
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 0 }]);
  });
});

describe('a receipt without money that no register refunds', () => {
  /** Its money went back at the provider, by itself. */
  async function moneyGone(ago: string, before = () => Promise.resolve(0)): Promise<PaymentView> {
    const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' });
    fixture.register = 'rejects';
    await before();
    await fixture.atProvider(body.id, { status: 'refunded' });
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET state = 'refunded', refunded_tiyin = amount_tiyin, due_at = now(), news = news + 1,
                          state_since = now() - ${ago}::interval WHERE id = ${body.id}`;
    return body;
  }
  const payment = (id: string) => fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id } });

  it('is a person’s once the register has refused it, who says that it stays', async () => {
    const { id, receipt } = await moneyGone('1 second');
    const waiting = await until(
      'a person is awaited',
      () => payment(id),
      ({ awaitsOperator }) => awaitsOperator,
    );
    expect(waiting.dueAt).toBeNull();
    expect(await fixture.disagreement(id)).toMatchObject({
      ...{ kind: 'receipt_without_money', next_actor: 'operator' },
      next_step: expect.stringContaining('outcome accepted') as string,
    });
    expect((await resolve(id, 'accepted')).status).toBe(204);
    await until(
      'it is at rest',
      () => payment(id),
      ({ awaitsOperator, dueAt }) => !awaitsOperator && dueAt === null,
    );
    expect(await fixture.disagreement(id)).toBeUndefined();
    expect(await fixture.read(id)).toMatchObject({ status: 'refunded', receipt: { status: 'registered' } });
    expect(await fixture.refundsOf(receipt.id)).toMatchObject([{ status: 'rejected' }]);
    expect(await fixture.gateway.audited(id)).toMatchObject([
      { action: 'payment.resolve', before: { status: 'refunded' }, after: { status: 'accepted', reason: REASON } },
    ]);
    // Said once: a repetition is about nothing any more.
    expect((await resolve(id, 'accepted')).body.code).toBe('payment_not_manual');
  });

  describe('because the module that sold is gone', () => {
    const terminal = (change: 'add' | 'take') => fixture.gateway.prisma.$executeRaw`
      UPDATE devices SET terminal_id = CASE WHEN ${change === 'add'} THEN 'X' || terminal_id ELSE substr(terminal_id, 2) END
       WHERE id = ${fixture.deviceId}`;
    afterEach(() => terminal('take'));

    it('is a person’s, and the gateway’s again by retry', async () => {
      const { id, receipt } = await moneyGone('1 second', () => terminal('add'));
      await until(
        'it is read',
        () => payment(id),
        ({ dueAt }) => dueAt !== null && dueAt.getTime() > Date.now(),
      );
      expect(await fixture.disagreement(id)).toMatchObject({
        ...{ kind: 'receipt_without_money', next_actor: 'gateway' },
        next_step: expect.stringContaining('outcome accepted') as string,
      });
      expect((await resolve(id, 'accepted')).status).toBe(204);
      await until(
        'it is at rest',
        () => payment(id),
        ({ dueAt }) => dueAt === null,
      );
      expect(await fixture.disagreement(id)).toBeUndefined();
      // That was a mistake.
      expect((await fixture.ask('POST', `/v1/operator/payments/${id}/retry`, { reason: REASON })).status).toBe(204);
      await until(
        'it is tried again',
        () => payment(id),
        ({ dueAt }) => dueAt !== null && dueAt.getTime() > Date.now(),
      );
      expect(await fixture.disagreement(id)).toMatchObject({ kind: 'receipt_without_money' });
      expect(await fixture.refundsOf(receipt.id)).toEqual([]);
    });
  });

  it('is the gateway’s while a worker has it, which may be refunding it', async () => {
    const { id } = await moneyGone('11 minutes');
    await until(
      'a person is awaited',
      () => payment(id),
      ({ awaitsOperator }) => awaitsOperator,
    );
    await fixture.gateway.prisma.$executeRaw`
      UPDATE payments SET lease_id = 'test', lease_until = now() + interval '1 minute' WHERE id = ${id}`;
    expect(await resolve(id, 'accepted')).toMatchObject({ status: 409, body: { code: 'payment_changed' } });
    expect((await payment(id)).receiptKeptAt).toBeNull();
  });
});

describe('are counted for the alarm', () => {
  const counted = () => countForPerson(fixture.gateway.prisma);

  it.each([
    ['manual', 'state_since = now()', 1],
    ['capture_unknown', "state_since = now() - interval '9 minutes'", 0],
    ['capture_unknown', "state_since = now() - interval '11 minutes'", 1],
    ['authorized', 'awaits_operator = true', 1],
    ['authorized', `discrepancy = '{"ours": "authorized"}'`, 1],
    ['authorized', 'waits_for_capture = true', 0],
  ])('%s, %s: %i', async (state, set, more) => {
    const before = await counted();
    const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001', capture: 'manual' });
    // No worker changes it meanwhile.
    const { prisma } = fixture.gateway;
    await prisma.$executeRaw`
      UPDATE payments SET lease_id = 'test', lease_until = now() + interval '1 hour' WHERE id = ${body.id}`;
    if (state === 'capture_unknown')
      await prisma.$executeRaw`UPDATE payments SET state = 'capturing' WHERE id = ${body.id}`;
    await prisma.$executeRawUnsafe(`UPDATE payments SET state = '${state}', ${set} WHERE id = '${body.id}'`);
    expect((await counted()) - before).toBe(more);
    await prisma.$executeRaw`
      UPDATE payments SET awaits_operator = false, discrepancy = NULL, state_since = now() WHERE id = ${body.id}`;
  });
});

describe('is refused, and changes nothing', () => {
  it('where no person is needed', async () => {
    const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' });
    const answer = await resolve(body.id, 'voided');
    expect([answer.status, answer.body.code]).toEqual([409, 'payment_not_manual']);
    expect(await fixture.gateway.audited(body.id)).toEqual([]);
  });

  it.each([
    [{ reason: 'no' }, '/reason'],
    [{ reason: undefined }, '/reason'],
    [{ outcome: 'authorized' }, '/outcome'],
    [{ status_since: 'yesterday' }, '/status_since'],
    [{ refunded: -1 }, '/refunded'],
    [{ refunded: '0' }, '/refunded'],
  ])('without a reason or a known outcome: %o', async (more, pointer) => {
    const { id } = await manual();
    const answer = await resolve(id, 'captured', more);
    expect([answer.status, answer.body.errors[0]?.pointer]).toEqual([422, pointer]);
    expect((await fixture.read(id)).status).toBe('manual');
  });

  it('to a stranger and to whom the right was not given', async () => {
    const { id } = await manual();
    const { gateway } = fixture;
    const stranger = await fixture.stranger(['operator:resolve']);
    const seller = { authorization: `Bearer ${await gateway.createToken(gateway.merchantId, ['payments:write'])}` };
    const body = { outcome: 'voided', reason: REASON };
    for (const [headers, status] of [
      [stranger, 404],
      [seller, 403],
    ] as const)
      for (const action of ['resolve', 'retry']) {
        const given = action === 'retry' ? { reason: REASON } : body;
        expect((await fixture.ask('POST', `/v1/operator/payments/${id}/${action}`, given, headers)).status).toBe(
          status,
        );
      }
    expect(await gateway.audited(id)).toEqual([]);
  });
});

it('tries a link again that the provider had refused', async () => {
  const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' });
  const link = body.receipt.fiscal?.verification_url;
  await fixture.untilLinked(body.id, link);
  await fixture.gateway.prisma.$executeRaw`UPDATE payments SET link = 'refused' WHERE id = ${body.id}`;
  expect((await fixture.ask('POST', `/v1/operator/payments/${body.id}/retry`, { reason: REASON })).status).toBe(204);
  const { prisma } = fixture.gateway;
  const read = () => prisma.payment.findUniqueOrThrow({ where: { id: body.id } });
  await until('the link is attached', read, (payment) => payment.link === 'attached');
  expect(await fixture.gateway.audited(body.id)).toMatchObject([
    { action: 'payment.retry', after: { reason: REASON } },
  ]);
});
