// Hints that anyone can send: whatever their number, nothing of them is stored and the provider is hardly asked.
import { randomUUID } from 'node:crypto';
import { post } from './kit/callers.js';
import { paymentsFixture } from './payments-fixture.js';

const fixture = paymentsFixture();
const FLOOD = 300;
let readings = 0;

beforeAll(async () => {
  await fixture.choose('uzum', { page: 'checkout', pay_type: 'ONE_STEP' });
  fixture.simulator.server.on('request', ({ url }: { url?: string }) => {
    if (url?.endsWith('/payment/getOrderStatus') === true) readings += 1;
  });
});

function flood(hint: (call: number) => object): Promise<{ status: number }[]> {
  const url = fixture.accounts.uzum?.url ?? '';
  return Promise.all(Array.from({ length: FLOOD }, (_, call) => post(url, hint(call))()));
}

it('a flood for one order that has ended reads its status once at most, and stores nothing', async () => {
  const { body } = await fixture.pay({ provider: 'uzum' });
  await fixture.payOnPage(body);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const [order] = await fixture.simulated(body.id);
  await fixture.untilQuiet();
  const before = [await fixture.kept(body.id), readings];
  const hint = { orderId: order?.id, operationState: 'SUCCESS', operationType: 'REFUND', orderNumber: body.id };
  const answers = await flood(() => hint);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await fixture.kept(body.id)).toBe(before[0]);
  expect(readings - (before[1] ?? 0)).toBeLessThanOrEqual(1);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect((await fixture.read(body.id)).status).toBe('captured');
});

it('keeps the pace of all gateways together: what another one has read is covered', async () => {
  const { body } = await fixture.pay({ provider: 'uzum' });
  await fixture.payOnPage(body);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const [order] = await fixture.simulated(body.id);
  // As another gateway leaves it, its clock an hour ahead so that no test is too slow for it.
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET hinted_at = now() + interval '1 hour', due_at = NULL WHERE id = ${body.id}`;
  const before = readings;
  const answers = await flood(() => ({ orderId: order?.id, operationType: 'REFUND', orderNumber: body.id }));
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect(readings).toBe(before);
});

it('a flood for orders that are not there is answered and asks nothing of the provider', async () => {
  await fixture.untilQuiet();
  const kept = (): Promise<number> => fixture.gateway.prisma.providerCallback.count({ where: { paymentId: null } });
  const before = [await kept(), readings];
  const answers = await flood(() => ({ orderId: randomUUID(), operationType: 'COMPLETE' }));
  expect(new Set(answers.map(({ status }) => (status === 200 || status === 500 ? 'answered' : status)))).toEqual(
    new Set(['answered']),
  );
  expect([await kept(), readings]).toEqual(before);
});

it('one that is too large is refused', async () => {
  const said = { orderId: randomUUID(), operationType: 'COMPLETE', more: 'x'.repeat(8 * 1024) };
  expect((await post(fixture.accounts.uzum?.url ?? '', said)()).status).toBe(413);
});
