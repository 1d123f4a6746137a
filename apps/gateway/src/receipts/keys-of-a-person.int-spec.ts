// Promise: a person who sells for two merchants under one idempotency key is refused at the second, for good and without a word of the receipt of the first.
import { newId } from '#runtime';
import { SessionRepository } from '../access/people/sessions/session.repository.js';
import { hashSessionToken, newTerminalToken } from '../access/people/sessions/session-token.js';
import { SalesFixture, SIGN, type SalesAnswer } from './testing/sales-fixture.js';

let sales: SalesFixture;
let first: string;
let second: string;
let terminalOf: Record<string, string> = {};
/** Of the person's command line. */
let token: string;

beforeAll(async () => {
  sales = await SalesFixture.start();
  const { gateway } = sales;
  const { prisma } = gateway;
  [first, second] = [gateway.merchantId, await gateway.createMerchant()];
  const { deviceId, terminalId } = await gateway.createDevice({ merchantId: second });
  terminalOf = { [first]: sales.device.terminalId, [second]: terminalId };
  const cashier = { id: newId('csh'), merchantId: second, branchId: second.replace('mer_', 'brn_') };
  await prisma.cashier.create({ data: { ...cashier, code: 'anna', name: 'Anna', defaultDeviceId: deviceId } });
  const userId = newId('usr');
  await prisma.user.create({ data: { id: userId, email: `${userId}@shop.uz`, name: 'Anna' } });
  for (const merchantId of [first, second])
    await prisma.membership.create({ data: { id: newId('mem'), userId, merchantId, role: 'owner' } });
  token = newTerminalToken();
  const session = { hash: hashSessionToken(token), userId, login: 'password', address: null, userAgent: null } as const;
  await gateway.app.get(SessionRepository).insert(prisma, { ...session, idToken: null, sid: null });
});
afterAll(() => sales?.stop());

function askAs(merchant: string, path: string, body: unknown, key: string): Promise<SalesAnswer> {
  return sales.ask('POST', path, body, { token, headers: { 'fgw-merchant': merchant, 'idempotency-key': key } });
}

const sell = (merchant: string, price: number, key: string): Promise<SalesAnswer> =>
  askAs(merchant, '/v1/receipts', sales.saleOf([sales.item('bread', price, 1)]), key);

/** As a relay leaves it. */
async function register(receiptId: string, terminalId: string): Promise<void> {
  const url = `https://ofd.soliq.uz/check?t=${terminalId}&r=1&c=20261120100000&s=${SIGN}`;
  await sales.gateway.prisma.$executeRaw`
    UPDATE receipts SET status = 'registered', terminal_id = ${terminalId}, receipt_seq = 1, fiscal_sign = ${SIGN}, verification_url = ${url},
                        registered_at = now(), evidence = 'answer', ofd_status = 'pending', ofd_deadline_at = now() + interval '48 hours'
     WHERE id = ${receiptId}`;
}

test.each([
  ['the same sale', 4_500_00],
  ['another one', 5_500_00],
])(
  '%s: 422 at every try, and nothing of the other merchant in it; under another key it is sold',
  async (name, price) => {
    const key = `sale ${name}`;
    const sold = await sell(first, 4_500_00, key);
    expect(sold.status).toBe(202);
    for (const tried of [1, 2]) {
      const { status, body } = await sell(second, price, key);
      expect([tried, status, body.code]).toEqual([tried, 422, 'idempotency_mismatch']);
      expect(JSON.stringify(body)).not.toContain(sold.body.id);
    }
    expect((await sell(second, price, `${key} here`)).status).toBe(202);
    const again = await sell(first, 4_500_00, key);
    expect([again.status, again.body.id]).toEqual([202, sold.body.id]);
  },
);

test('a refund as well', async () => {
  const ids: string[] = [];
  for (const merchant of [first, second]) {
    const { body } = await sell(merchant, 4_500_00, `to be refunded ${merchant}`);
    await register(body.id, terminalOf[merchant] ?? '');
    ids.push(body.id);
  }
  const [there = '', here = ''] = ids;
  const refund = (merchant: string, saleId: string): Promise<SalesAnswer> =>
    askAs(merchant, `/v1/receipts/${saleId}/refunds`, {}, 'refund');
  const made = await refund(first, there);
  expect(made.status).toBe(202);
  const { status, body } = await refund(second, here);
  expect([status, body.code]).toEqual([422, 'idempotency_mismatch']);
  expect(JSON.stringify(body)).not.toContain(made.body.id);
});
