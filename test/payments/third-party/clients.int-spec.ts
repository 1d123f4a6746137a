// What public clients of merchants' do that the gateway does not: the simulators answer it as the documents say (docs/payments/providers.md, "Clients of others").
import { KitSimulator } from '../kit/simulator.js';

const simulator = new KitSimulator();
const SUM = 112_000;
const BOUND = { type: 'bind', bindingId: 'binding-1' };

beforeAll(() => simulator.start());
afterAll(() => simulator.stop());

type Fields = Record<string, unknown>;
type Answer = Fields & { result: Fields; data: Fields };

async function ask(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const init = { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${simulator.url}${path}`, {
    ...init,
    headers: { 'content-type': 'application/json', ...headers },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe('Uzum Checkout, without X-Operation-Id', () => {
  const checkout = (call: string, body: unknown): Promise<Answer> => ask(`/uzum/checkout/api/v1/${call}`, body);

  async function paid(orderNumber: string, payType: string): Promise<string> {
    const order = { amount: SUM, currency: 860, orderNumber, paymentParams: { payType } };
    const { result } = await checkout('payment/register', order);
    const { orderId } = result as { orderId: string };
    expect(await checkout('payment/merchantPay', { orderId, processData: BOUND })).toMatchObject({ errorCode: 0 });
    return orderId;
  }

  it('each call is an operation of its own, and none has a key', async () => {
    const orderId = await paid('keyless-1', 'ONE_STEP');
    for (const amount of [50_000, SUM - 50_000])
      expect(await checkout('acquiring/refund', { orderId, amount })).toMatchObject({ errorCode: 0 });
    const { result } = await checkout('payment/getOrderStatus', { orderId });
    expect(result).toMatchObject({ refundedAmount: SUM });
    expect(JSON.stringify(result)).not.toContain('merchantOperationId');
    expect(await simulator.money('keyless-1')).toMatchObject({ taken: 1, back: SUM });
  });

  it('a hold is released after it was paid', async () => {
    const orderId = await paid('keyless-2', 'TWO_STEP');
    expect(await checkout('acquiring/reverse', { orderId, amount: SUM })).toMatchObject({ errorCode: 0 });
    expect(await simulator.money('keyless-2')).toMatchObject({ taken: 0, statuses: ['voided'] });
  });
});

describe('Octo, two stages', () => {
  const keys = { octo_shop_id: 10_000, octo_secret: 'octo-secret' };
  const octo = (call: string, body: object): Promise<Answer> => ask(`/octo/api/${call}`, { ...keys, ...body });

  async function held(shop_transaction_id: string): Promise<string> {
    const more = { auto_capture: false, init_time: '2026-01-02 08:04:05', currency: 'UZS', total_sum: SUM / 100 };
    const { data } = await octo('prepare_payment', { shop_transaction_id, ...more });
    const { octo_pay_url, octo_payment_UUID } = data as { octo_pay_url: string; octo_payment_UUID: string };
    await simulator.press(octo_pay_url);
    return octo_payment_UUID;
  }

  it('takes less than was held, and the rest is not the shop’s', async () => {
    const confirmed = { octo_payment_UUID: await held('less-1'), accept_status: 'capture', final_amount: 900 };
    expect(await octo('set_accept', confirmed)).toMatchObject({ error: 0, data: { total_sum: 900 } });
    const refund = { octo_payment_UUID: confirmed.octo_payment_UUID, shop_refund_id: 'r-1' };
    expect(await octo('refund', { ...refund, amount: 901 })).toMatchObject({ error: 3 });
  });

  it.each([[0], [SUM / 100 + 1]])('never takes %d', async (final_amount) => {
    const octo_payment_UUID = await held(`less-${String(final_amount)}`);
    const answer = await octo('set_accept', { octo_payment_UUID, accept_status: 'capture', final_amount });
    expect(answer).toMatchObject({ error: 3 });
  });
});

describe('Payme, receipts', () => {
  // With the slash at the end that some clients put there.
  const payme = (method: string, params: object): Promise<Answer> =>
    ask('/payme/api/', { id: 1, method, params }, { 'x-auth': 'box:key' });

  it.each([
    ['none', {}],
    ['one without lines', { detail: {} }],
    ['one of their own making', { detail: { key: 'value' } }],
  ])('are paid whatever detail they have: %s', async (name, more) => {
    const { result } = await payme('receipts.create', {
      amount: SUM,
      account: { order_id: `detail ${name}` },
      ...more,
    });
    const { _id: id } = result['receipt'] as { _id: string };
    expect(await payme('receipts.pay', { id, token: 'token-0001' })).toMatchObject({
      result: { receipt: { state: 4 } },
    });
    expect(await simulator.money(`detail ${name}`)).toMatchObject({ taken: 1 });
  });
});

it('Click, token payment: one without its own reference is refused', async () => {
  const body = { service_id: 1, card_token: 'token-0001', amount: SUM / 100, merchant_trans_id: 'order-1' };
  expect(await ask('/click/v2/merchant/card_token/payment', body)).toMatchObject({ error_code: -2 });
  expect(await simulator.money('order-1')).toMatchObject({ taken: 0 });
});
