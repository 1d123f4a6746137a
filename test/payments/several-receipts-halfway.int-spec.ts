// One payment, several sellers' receipts, stopped half-way: no more goes back than is left, and a receipt that only a person can decide on is named.
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const OTHER_PRICE = 50_001;
const WHOLE = PRICE + OTHER_PRICE;

/** Charged; both receipts wait in their lanes. */
async function charged() {
  fixture.register = 'sleeps';
  const sale = fixture.sale({ provider: 'click', token: 'token-0001' });
  const [item] = sale['items'] as [Record<string, unknown>];
  const items = [{ ...item, price: OTHER_PRICE, commission: { tin: '300000001' } }];
  const { body } = await fixture.ask(
    'POST',
    '/v1/payments',
    { ...sale, further_receipts: [{ items }] },
    { prefer: 'wait=0' },
  );
  const { receipt, further_receipts: further } = await untilStatuses(body.id, 'captured', ['accepted', 'accepted']);
  return { id: body.id, first: receipt.id, other: further[0]?.id ?? '' };
}

function untilStatuses(id: string, status: string, receipts: string[]) {
  return until(
    `payment ${id} is ${status}, its receipts ${receipts.join(', ')}`,
    () => fixture.read(id),
    ({ status: now, receipt, further_receipts: further }) =>
      now === status && [receipt, ...further].map((each) => each.status).join() === receipts.join(),
  );
}

it('gives back what is left, and no more, where a part went back since all of it was written down', async () => {
  const { id, first, other } = await charged();
  await fixture.registered(first);
  const part = await fixture.ask('POST', `/v1/receipts/${first}/refunds`, {}, { prefer: 'wait=0' });
  expect(part.status).toBe(202);
  const { prisma } = fixture.gateway;
  // The other register refuses; the gateway that has written down that all goes back dies, and the part's receipt is registered.
  await prisma.$transaction(async (tx) => {
    await tx.$executeRaw`
      UPDATE receipts SET status = 'rejected', rejection = '{"code": "E-013", "rule": null, "detail": "refused", "line": null}'
       WHERE id = ${other}`;
    await tx.$executeRaw`
      INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason) VALUES (${id}, ${WHOLE}, 'requested', 'the register refused the receipt')`;
    await tx.$executeRaw`
      UPDATE receipts SET status = 'registered', terminal_id = 'UZ000000000001', receipt_seq = 999999, registered_at = now(), evidence = 'answer',
             ofd_status = 'sent' WHERE id = ${part.body.id}`;
  });
  const view = await untilStatuses(id, 'refunded', ['registered', 'rejected']);
  expect(view.refunds.map(({ amount, status }) => [amount, status])).toEqual([
    [PRICE, 'done'],
    [OTHER_PRICE, 'done'],
  ]);
  expect(await fixture.simulated(id)).toMatchObject([{ status: 'refunded', refunds: 2, refunded: WHOLE }]);
});

it('names the person where one receipt of a payment is unknown', async () => {
  const { id, first, other } = await charged();
  await fixture.registered(first);
  await fixture.gateway.prisma.$executeRaw`UPDATE receipts SET status = 'unknown' WHERE id = ${other}`;
  const found = await until(
    'it is shown',
    () => fixture.disagreement(id),
    (each) => each !== undefined,
  );
  expect(found).toMatchObject({ kind: 'money_without_receipt', receipt_status: 'registered', next_actor: 'operator' });
  expect(found?.next_step).toContain('GET /v1/operator/unknown');
  await fixture.registered(other);
  await untilStatuses(id, 'captured', ['registered', 'registered']);
});
