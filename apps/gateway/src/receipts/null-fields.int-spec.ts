// Promise: null in an optional field is the same as leaving it out, from the body to the page that the buyer opens.
import 'reflect-metadata';
import { superuserOf } from '#database/testing';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

const TIN = '301234567';
const PINFL = '31234567890123';

let fixture: SalesFixture;
let admin: string;

beforeAll(async () => {
  fixture = await SalesFixture.start();
  const scopes = ['devices:admin', 'clients:admin', 'messages:write'];
  admin = await fixture.gateway.createToken(fixture.gateway.merchantId, scopes);
  await takesFields(['commission', 'customer', 'payment_provider']);
});
afterAll(() => fixture?.stop());

function takesFields(capabilities: string[]): Promise<unknown> {
  return fixture.gateway.prisma.device.update({ where: { id: fixture.device.deviceId }, data: { capabilities } });
}

/** As a release before this one could have stored it. */
async function storedWith(id: string, path: string, value: unknown): Promise<void> {
  const client = await superuserOf(fixture.gateway.database);
  await client.query('UPDATE receipts SET document = jsonb_set(document, $2::text[], $3::jsonb) WHERE id = $1', [
    ...[id, path, JSON.stringify(value)],
  ]);
  await client.end();
}

const sale = (more: object = {}, item: object = {}): Record<string, unknown> =>
  fixture.saleOf([fixture.item('bread', 1_000, 1, item)], more);

const said = ({ status, body }: SalesAnswer): unknown => [
  status,
  (body.errors ?? []).map(({ pointer, code }) => `${code} ${pointer}`),
];

/** Every optional field that a caller's program may know. */
const NOTHING = {
  ...{ type: null, branch_id: null, device_id: null, external_id: null, customer: null, callback_url: null },
  ...{ metadata: null, notify: null },
};
const NOTHING_OF_ITEM = { sku: null, barcode: null, labels: null, discount: null, commission: null };
const NOTHING_OF_PAYMENT = {
  ...{ provider: null, cash: null, card: null, token: null, phone: null, qr_code: null, otp: null },
  ...{ card_range: null, return_url: null, capture: null },
};

test('a sale that says null everywhere is the sale that says nothing', async () => {
  const spoken = await fixture.ask('POST', '/v1/receipts/validate', sale());
  const payment = { method: 'cash', ...NOTHING_OF_PAYMENT };
  const empty = await fixture.ask('POST', '/v1/receipts/validate', sale({ ...NOTHING, payment }, NOTHING_OF_ITEM));
  expect(said(empty)).toEqual([200, []]);
  expect(empty.body).toEqual(spoken.body);
});

test.each([
  [{ tin: TIN, pinfl: null }, TIN],
  [{ tin: null, pinfl: PINFL }, '**********0123'],
])('goods sold for %j: the fiscal document names the one, and the page opens', async (commission, shown) => {
  let answer = await fixture.ask('POST', '/v1/receipts', sale({}, { commission }));
  await untilTrue(async () => {
    if (answer.status !== 202) answer = await fixture.ask('POST', '/v1/receipts', sale({}, { commission }));
    return answer.status === 202;
  });
  const { id } = answer.body;
  const { document } = (await fixture.gateway.receipt(id)) as { document: { lines: { commission: object }[] } };
  const [name, value] = Object.entries(commission).find(([, number]) => number !== null) ?? [];
  expect(document.lines[0]?.commission).toEqual({ [String(name)]: value });
  await fixture.register(id);
  expect(await pageOf(id)).toEqual([200, true]);

  async function pageOf(receiptId: string): Promise<unknown> {
    const { body } = await fixture.ask('GET', `/v1/receipts/${receiptId}`);
    const page = await fetch(`${fixture.gateway.base}/r/${String(body.receipt_url.split('/').pop())}?format=text`);
    return [page.status, (await page.text()).includes(shown)];
  }
});

test('the page of a receipt that an earlier release has stored with null opens', async () => {
  const id = await fixture.sell([fixture.item('bread', 1_000, 1)]);
  await storedWith(id, '{lines,0,commission}', { tin: TIN, pinfl: null });
  const page = await fixture.ask('GET', `/v1/receipts/${id}`);
  const { status } = await fetch(`${fixture.gateway.base}/r/${String(page.body.receipt_url.split('/').pop())}`);
  expect(status).toBe(200);
});

test('a buyer of whom only the phone is known is no buyer for the fiscal document', async () => {
  await fixture.ask('PATCH', '/v1/merchant', { unsupported_fields: 'refuse' }, { token: admin });
  await takesFields([]);
  const named = sale({ customer: { tin: TIN } });
  await untilTrue(async () => (await fixture.ask('POST', '/v1/receipts/validate', named)).status === 422);
  const customer = { phone: '998901234567', email: null, tin: null, pinfl: null };
  expect(said(await fixture.ask('POST', '/v1/receipts', sale({ customer })))).toEqual([202, []]);
});

test('an address of null is none: the message wants one', async () => {
  const id = await fixture.sell([fixture.item('bread', 1_000, 1)], { customer: { phone: '998901234567' } });
  await storedWith(id, '{customer,email}', null);
  const settings = { host: 'mail.example', from_address: 'chek@shop.example', from_name: 'Shop' };
  const account = await fixture.ask('POST', '/v1/message-accounts', { provider: 'smtp', settings }, { token: admin });
  expect(account.status).toBe(201);
  const answer = await fixture.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email' }, { token: admin });
  expect(said(answer)).toEqual([422, ['required /to']]);
});

test('an external_id that is required is not given by null', async () => {
  await fixture.ask('PATCH', '/v1/merchant', { requirements: { external_id: true } }, { token: admin });
  await untilTrue(async () => (await fixture.ask('POST', '/v1/receipts/validate', sale())).status === 422);
  const answer = await fixture.ask('POST', '/v1/receipts', sale({ external_id: null }));
  expect(said(answer)).toEqual([422, ['required /external_id']]);
});
