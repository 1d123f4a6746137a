// ATMOS: a customer's code may be wrong and tried again, and a callback moves nothing by itself.
import { atmosCall, atmosForged } from './kit/pageless-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();
const PAYMENT = { provider: 'atmos', token: 'otp-token' };
const confirm = (id: string, otp: string) => fixture.ask('POST', `/v1/payments/${id}/confirm`, { otp });

describe.each(['charge', 'hold'])('with a code of the customer’s (%s)', (mode) => {
  beforeAll(() => fixture.choose('atmos', { card_code: 'customer', mode }));

  it('waits for the code, takes a wrong one for none, and the right one once', async () => {
    const { status, body } = await fixture.pay(PAYMENT);
    expect([status, body.status, body.next_action.type]).toEqual([202, 'pending', 'otp']);
    await confirm(body.id, '000000');
    await fixture.until(body.id, { status: 'pending' });
    expect((await fixture.read(body.id)).next_action.type).toBe('otp');
    expect((await fixture.simulated(body.id)).every(({ captures }) => captures === 0)).toBe(true);
    await confirm(body.id, '112233');
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 0 }]);
  });

  it('a payment that is cancelled while it waits takes nothing', async () => {
    const { body } = await fixture.pay(PAYMENT);
    await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    expect((await fixture.simulated(body.id)).every(({ captures }) => captures === 0)).toBe(true);
  });
});

it('a callback is only a reason to read the status: forged, false and repeated ones change nothing', async () => {
  await fixture.choose('atmos', { card_code: 'customer', mode: 'charge' });
  const { body } = await fixture.pay(PAYMENT);
  const [known] = await fixture.simulated(body.id);
  const about = { transactionId: known?.id ?? '', invoice: body.id };
  await fixture.untilQuiet();
  const before = await fixture.kept(body.id);
  for (const forged of atmosForged(fixture, about)) expect((await forged()).status).toBe(403);
  expect(await fixture.kept(body.id)).toBe(before);
  // Well signed, and not so: nothing was taken.
  const lie = atmosCall(fixture, about);
  for (let call = 0; call < 2; call += 1) expect(await lie()).toMatchObject({ status: 200 });
  expect((await fixture.read(body.id)).status).toBe('pending');
  await confirm(body.id, '112233');
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
});

it('a callback about another payment of the order is an extra charge, once; what is replayed is kept a hundred times at most', async () => {
  await fixture.choose('atmos', { card_code: 'fixed', mode: 'charge' });
  const { body } = await fixture.pay({ provider: 'atmos', token: 'token-0001' });
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const about = { transactionId: '987654321', invoice: body.id };
  const call = atmosCall(fixture, about);
  for (let time = 0; time < 3; time += 1) expect((await call()).status).toBe(200);
  expect((await fixture.read(body.id)).extra_charges).toMatchObject([
    { provider_ref: '987654321', amount: PRICE, status: 'reported' },
  ]);
  expect(await fixture.disagreement(body.id)).toMatchObject({ kind: 'charged_twice' });
  const { prisma } = fixture.gateway;
  // What ninety-five more would have left.
  await prisma.$executeRaw`
    INSERT INTO provider_callbacks (account_id, address, payment_id)
    SELECT account_id, id, id FROM payments, generate_series(1, 95) WHERE id = ${body.id}`;
  for (let time = 0; time < 5; time += 1) expect((await call()).status).toBe(200);
  expect(await prisma.providerCallback.count({ where: { paymentId: body.id } })).toBe(100);
  expect((await atmosCall(fixture, about, { more: 'x'.repeat(32 * 1024) })()).status).toBe(413);
});
