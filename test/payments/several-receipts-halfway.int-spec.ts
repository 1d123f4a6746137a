// One payment, several sellers' receipts, stopped half-way: a receipt that only a person can decide on is named.
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture } from './payments-fixture.js';

const fixture = paymentsFixture();

const OTHER_PRICE = 50_001;

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
