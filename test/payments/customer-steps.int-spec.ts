// A customer's own step (a code sent to the phone, a code that a wallet shows) takes the money once, in time, or not at all.
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

describe('a one-time code (multicard)', () => {
  const payment = { provider: 'multicard', token: 'otp-token-0001' };
  const confirm = (id: string, otp: unknown) => fixture.ask('POST', `/v1/payments/${id}/confirm`, { otp });

  it('is asked for, and with it the money is held, the receipt registered, the money taken', async () => {
    const { status, body } = await fixture.pay(payment);
    expect([status, body.status, body.next_action]).toEqual([202, 'pending', { type: 'otp' }]);
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'pending', captures: 0 }]);
    expect((await confirm(body.id, '112233')).status).toBe(200);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures: 1 }]);
    // The answer to the first may have been lost.
    expect((await confirm(body.id, '112233')).status).toBe(200);
  });

  it('may be wrong once, and holds nothing by it', async () => {
    const { body } = await fixture.pay(payment);
    const wrong = await confirm(body.id, '000000');
    expect([wrong.body.status, wrong.body.next_action]).toEqual(['pending', { type: 'otp' }]);
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'pending' }]);
    await confirm(body.id, '112233');
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });

  it('that came with the payment is tried at once', async () => {
    const { status, body } = await fixture.pay({ ...payment, otp: '112233' });
    expect([status, body.status]).toEqual([201, 'captured']);
  });

  it('is kept nowhere once it was tried', async () => {
    const { body } = await fixture.pay(payment);
    await confirm(body.id, '112233');
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    const { prisma } = fixture.gateway;
    expect(await prisma.payment.findUnique({ where: { id: body.id } })).toMatchObject({ instrumentSealed: null });
  });

  it('whose answer is lost is settled by the status, and tried no second time', async () => {
    const { body } = await fixture.pay(payment);
    await fixture.faults({ fault: 'drop_after', next: 1 });
    await confirm(body.id, '112233');
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1 }]);
  });

  it('is no longer wanted after a cancel, and never of a payment that waits for none', async () => {
    const { body } = await fixture.pay(payment);
    await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    const late = await confirm(body.id, '112233');
    expect([late.status, late.body.code]).toEqual([409, 'payment_not_confirmable']);
    const other = await fixture.pay({ provider: 'multicard' });
    expect((await confirm(other.body.id, '112233')).status).toBe(409);
    expect((await confirm(other.body.id, 'abc')).status).toBe(422);
    const path = `/v1/payments/${other.body.id}/confirm`;
    const headers = await fixture.stranger(['payments:write']);
    expect((await fixture.ask('POST', path, { otp: '112233' }, headers)).status).toBe(404);
  });
});

describe('a card that the customer gives to Payme on the merchant’s page', () => {
  async function byPage(method: string, params: Record<string, unknown>, auth = 'box') {
    const body = JSON.stringify({ id: 1, method, params });
    const init = { method: 'POST', headers: { 'content-type': 'application/json', 'x-auth': auth }, body };
    const answer = await fetch(`${fixture.simulatorUrl}/payme/api`, init);
    return (await answer.json()) as { result?: { card: { token: string; verify: boolean } }; error?: { code: number } };
  }
  const card = { number: '8600495473316478', expire: '0399' };

  it('is a token here, and takes money once it is verified', async () => {
    const made = await byPage('cards.create', { card, save: true });
    const token = made.result?.card.token ?? '';
    expect(made.result?.card).toMatchObject({ number: '860049******6478', expire: '03/99', verify: false });
    const early = await fixture.pay({ provider: 'payme', token });
    await fixture.until(early.body.id, { status: 'declined', receipt: 'cancelled' });
    await byPage('cards.get_verify_code', { token });
    expect((await byPage('cards.verify', { token, code: '000000' })).error?.code).toBe(-31103);
    expect((await byPage('cards.verify', { token, code: '666666' })).result?.card.verify).toBe(true);
    const { body } = await fixture.pay({ provider: 'payme', token });
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    // A page may not take a card away, the merchant's server may.
    expect((await byPage('cards.remove', { token })).error?.code).toBe(-32504);
    await byPage('cards.remove', { token }, 'box:payme-key');
    const late = await fixture.pay({ provider: 'payme', token });
    await fixture.until(late.body.id, { status: 'declined', receipt: 'cancelled' });
    // What was refused is kept as little as what was taken with.
    const { prisma } = fixture.gateway;
    for (const {
      body: { id },
    } of [early, late])
      expect(await prisma.payment.findUnique({ where: { id } })).toMatchObject({ instrumentSealed: null });
  });
});

describe('a code that the wallet shows (Click Pass)', () => {
  const payment = { provider: 'click', qr_code: 'otp-data-of-a-wallet' };

  it('holds the money, registers the receipt, and only then confirms', async () => {
    const { status, body } = await fixture.pay(payment);
    expect([status, body.status]).toEqual([201, 'captured']);
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures: 1, refunds: 0 }]);
    expect(body.extra_info).toEqual({
      ...{
        payment_id: expect.stringMatching(/^\d+$/),
        payment_provider: 64,
        phone: '998901234567',
        rrn: null,
        card_type: 2,
      },
    });
    const [row] = await fixture.gateway.prisma.$queryRaw<{ extra_info: unknown }[]>`
      SELECT extra_info FROM receipts WHERE id = ${body.receipt.id}`;
    expect(row?.extra_info).toMatchObject({ paymentProvider: 64, phone: '998901234567', cardType: 2 });
    const states = (await fixture.events(body.id)).map((type) => type.slice('payment.'.length));
    expect(states).toEqual(['created', 'authorizing', 'authorized', 'capturing', 'captured']);
  });

  it('lets the money go by itself when the register refuses', async () => {
    fixture.register = 'rejects';
    await fixture.faults({ fault: 'expire_hold', next: 1, delay_ms: 2_000 });
    const { body } = await fixture.pay(payment);
    await fixture.until(body.id, { status: 'voided', receipt: 'rejected' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'declined', captures: 0 }]);
  });

  it('gives the receipt to its register for twenty of the thirty seconds only', async () => {
    fixture.register = 'sleeps';
    const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
    expect(body.status).toBe('authorized');
    const { prisma } = fixture.gateway;
    const [row] = await prisma.$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM r.dispatch_before - p.state_since)::float8 AS seconds
        FROM payments p JOIN receipts r ON r.id = p.receipt_id WHERE p.id = ${body.id}`;
    expect(row?.seconds).toBeGreaterThan(15);
    expect(row?.seconds).toBeLessThan(21);
    fixture.register = 'registers';
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });

  it('refunds the receipt when the confirmation comes too late', async () => {
    await fixture.faults({ fault: 'expire_hold', next: 1 });
    const { body } = await fixture.pay(payment);
    await fixture.until(body.id, { status: 'voided', receipt: 'registered' });
    const refunds = await fixture.ask('GET', `/v1/receipts/${body.receipt.id}/refunds`);
    expect(refunds.body['data']).toMatchObject([{ status: 'registered', total: PRICE }]);
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 0 }]);
  });

  it('confirms once, also when the answer is lost', async () => {
    fixture.register = 'sleeps';
    const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
    await fixture.faults({ fault: 'drop_after', next: 1, path: '/click_pass/confirm' });
    fixture.register = 'registers';
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 0 }]);
  });

  it.each([
    ['where no provider reads codes', { provider: 'payme', qr_code: 'otp-data-of-a-wallet' }, '/payment/qr_code'],
    ['beside a token', { ...payment, token: 'token-0001' }, '/payment/qr_code'],
    ['with a late capture', { ...payment, capture: 'manual' }, '/payment/capture'],
    ['that looks like a card', { ...payment, qr_code: '8600495473316478' }, '/payment/qr_code'],
  ])('is refused %s', async (_name, asked, pointer) => {
    const { status, body } = await fixture.pay(asked);
    expect([status, body.errors[0]?.pointer]).toEqual([422, pointer]);
  });
});
