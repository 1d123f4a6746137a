// Promise: a callback is accepted only where its receiver can verify it: nothing is sent unsigned.
import 'reflect-metadata';
import { parseCidr } from '#outgoing';
import { newId } from '#runtime';
import { SalesFixture, type SalesAnswer } from '../../receipts/testing/sales-fixture.js';
import { Receiver } from './testing/receiver.js';

let fixture: SalesFixture;
let receiver: Receiver;

beforeAll(async () => {
  const network = parseCidr('127.0.0.0/8');
  if (network.kind === 'invalid') throw new Error(network.reason);
  fixture = await SalesFixture.start({ WEBHOOK_ALLOWED_CIDRS: [network.cidr] });
  receiver = await Receiver.start();
});
afterAll(async () => {
  await receiver?.stop();
  await fixture?.stop();
});
afterEach(() => fixture.gateway.prisma.webhookSecret.deleteMany());

const outcome = ({ status, body }: SalesAnswer): string =>
  `${status} ${body.code ?? body.status} ${body.errors?.[0]?.pointer ?? ''}`.trimEnd();
const sale = (more: object = {}): object => fixture.saleOf([fixture.item('bread', 1_000, 2)], more);
const withCallback = (more: object = {}): object => sale({ callback_url: `${receiver.url}/callback`, ...more });
const post = (body: object, key?: string): Promise<SalesAnswer> =>
  fixture.ask('POST', '/v1/receipts', body, key === undefined ? {} : { headers: { 'idempotency-key': key } });

async function showSecret(): Promise<string> {
  const token = await fixture.gateway.createToken(fixture.gateway.merchantId, ['webhooks:admin']);
  const answer = await fixture.gateway.post('/v1/webhooks/callbacks/rotate-secret', {}, token);
  expect(answer.status).toBe(200);
  return (answer.body as unknown as { secret: string }).secret;
}

test('422 for callback_url without a secret that was shown, and nothing is stored', async () => {
  const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
  const before = await fixture.gateway.world();
  expect(outcome(await post(withCallback()))).toBe('422 callback_secret_missing /callback_url');
  expect(outcome(await fixture.ask('POST', '/v1/receipts/validate', withCallback()))).toBe(
    '422 callback_secret_missing /callback_url',
  );
  const batch = await fixture.ask('POST', '/v1/receipts/batch', { receipts: [withCallback({ external_id: 'b-1' })] });
  expect(batch.body.data[0]).toMatchObject({ status: 422, problem: { code: 'callback_secret_missing' } });
  const refund = await fixture.refund(saleId, { callback_url: `${receiver.url}/callback` });
  expect(outcome(refund)).toBe('422 callback_secret_missing /callback_url');
  expect(refund.body.detail).toContain('/v1/webhooks/callbacks/rotate-secret');
  expect(await fixture.gateway.world()).toBe(before);
  expect(outcome(await post(sale()))).toBe('202 accepted');
});

test('from the moment in which it was shown, callbacks are taken', async () => {
  expect(outcome(await post(withCallback()))).toBe('422 callback_secret_missing /callback_url');
  expect(await showSecret()).toMatch(/^whsec_/);
  expect(outcome(await post(withCallback()))).toBe('202 accepted');
  const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
  expect(outcome(await fixture.refund(saleId, { callback_url: `${receiver.url}/callback` }))).toBe('202 accepted');
});

test('what was taken before the rule is answered as ever, and its callback is not sent unsigned', async () => {
  await showSecret();
  const first = await post(withCallback(), 'before');
  const saleId = await fixture.sell([fixture.item('bread', 1_000, 1)]);
  const body = { callback_url: `${receiver.url}/callback`, external_id: 'refund-before' };
  const refund = await fixture.refund(saleId, body);
  await fixture.gateway.prisma.webhookSecret.deleteMany();
  const again = await post(withCallback(), 'before');
  expect([again.status, again.body.id]).toEqual([202, first.body.id]);
  const refundAgain = await fixture.refund(saleId, body);
  expect([refundAgain.status, refundAgain.body.id]).toEqual([202, refund.body.id]);
  const receivedBefore = receiver.received.length;
  await fixture.gateway.prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    VALUES (${newId('evt')}, ${fixture.gateway.merchantId}, 'receipt.unknown', ${first.body.id}, '{}')`;
  const delivery = async () =>
    fixture.gateway.prisma.webhookDelivery.findFirst({ where: { subjectId: first.body.id } });
  while ((await delivery())?.state !== 'failed') await new Promise((resolve) => setTimeout(resolve, 20));
  const attempts = await fixture.gateway.prisma.webhookAttempt.findMany({
    where: { deliveryId: (await delivery())?.id ?? '' },
  });
  expect(attempts).toMatchObject([{ number: 1, outcome: 'not_sent', httpStatus: null }]);
  expect(receiver.received).toHaveLength(receivedBefore);
});
