// Uzum's answers are read as its published documents have them: what was taken is not called done, what cannot be found is a person's.
import type { HttpAnswer, HttpRequest } from '../http-exchange.js';
import type { PaymentRef } from '../port.js';
import { UzumCheckoutClient } from './uzum-checkout.client.js';
import { uzumOrderStatus } from './uzum-checkout.transform.js';
import { UzumFastPayClient } from './uzum-fastpay.client.js';

const NOW_MS = 1_712_345_678_901;
const ID = 'a98dcb7e-5b6e-431d-b780-5fd7d93d7e3d';
const WHERE = { apiUrl: 'https://mobile.apelsin.uz', serviceId: '1', userId: '8461', secretKey: 's', cashboxCode: 'c' };

function fastPay(answers: readonly object[], nowMs = NOW_MS) {
  const sent: HttpRequest[] = [];
  const open = [...answers];
  const client = new UzumFastPayClient({ ...WHERE, nowMs: () => nowMs }, (request) => {
    sent.push(request);
    return Promise.resolve<HttpAnswer>({ kind: 'answered', status: 200, body: open.shift() });
  });
  return { client, sent };
}

const REF: PaymentRef = { ourRef: 'pay_1', providerRef: null, flow: 'charge', amountTiyin: 100, createdAtMs: NOW_MS };
const NO_SUCH_CODE = { error_code: 400, error_message: 'apelsin.pay.wrong.prefix.otp.data' };

describe('Fast Pay', () => {
  it('finds a payment whose answer was lost as the duplicate of itself, by a code that pays nothing', async () => {
    const duplicate = { payment_id: ID, payment_status: 'DUPLICATED', error_code: 0 };
    const { client, sent } = fastPay([duplicate, { payment_id: ID, payment_status: 'SUCCESS', error_code: 0 }]);
    expect(await client.fetchStatus(REF)).toMatchObject({ status: 'captured', providerRef: ID });
    expect(sent[0]?.body).toMatchObject({ order_id: 'pay_1', otp_data: '0'.repeat(43) });
    expect(sent[1]?.body).toEqual({ payment_id: ID, service_id: 1 });
  });

  it('takes no other answer for proof: unknown at first, after ten minutes a person’s', async () => {
    expect(await fastPay([NO_SUCH_CODE]).client.fetchStatus(REF)).toMatchObject({ kind: 'unknown' });
    const late = fastPay([NO_SUCH_CODE], NOW_MS + 600_001);
    expect(await late.client.fetchStatus(REF)).toMatchObject({ status: 'manual' });
  });

  it.each([
    ['order.id.duplicated', 'unknown'],
    ['operation.is.inProcess', 'unknown'],
    ['operation.failed', 'refused'],
    ['a.text.of.no.list', 'unknown'],
    [null, 'unknown'],
  ])('an error %s is %s', async (error_message, kind) => {
    const { client } = fastPay([{ error_code: 400, error_message }]);
    const order = { ourRef: 'pay_1', amountTiyin: 100, description: '', callbackUrl: null, returnUrl: null };
    const instrument = { token: null, phone: null, qr: '6'.repeat(43), otp: null };
    expect(await client.authorize({ ...order, lines: null, saleLines: [] }, instrument, REF)).toMatchObject({ kind });
  });
});

describe('Checkout', () => {
  const order = { orderId: ID, amount: 100, completedAmount: 100, refundedAmount: 0, operations: [] };

  it('nothing of an order is final while an operation of it is under way', () => {
    const operations = [{ operationType: 'COMPLETE', state: 'IN_PROGRESS' }];
    expect(uzumOrderStatus({ ...order, status: 'AUTHORIZED', operations })).toMatchObject({ status: 'in_flight' });
    expect(uzumOrderStatus({ ...order, status: 'NEW_WORD' })).toMatchObject({ status: 'in_flight' });
  });

  it('a part that was refunded leaves the rest taken, whatever the order is called', () => {
    const part = { ...order, status: 'REFUNDED', refundedAmount: 40 };
    expect(uzumOrderStatus(part)).toMatchObject({ status: 'captured', refundedTiyin: 40 });
    expect(uzumOrderStatus({ ...part, refundedAmount: 100 })).toMatchObject({ status: 'refunded' });
    expect(uzumOrderStatus({ ...part, completedAmount: undefined })).toMatchObject({ status: 'captured' });
  });

  it('another sum than the order’s that was completed is a person’s', () => {
    expect(uzumOrderStatus({ ...order, status: 'COMPLETED' })).toMatchObject({ status: 'captured' });
    expect(uzumOrderStatus({ ...order, status: 'COMPLETED', completedAmount: 60 })).toMatchObject({ status: 'manual' });
  });

  it('sends a browser to the shop’s page or to none, never to the address of callbacks', async () => {
    const sent: HttpRequest[] = [];
    const where = { apiUrl: 'https://c', terminalId: 't', apiKey: 'k', sellerTin: '' };
    const client = new UzumCheckoutClient(where, (request) => {
      sent.push(request);
      return Promise.resolve<HttpAnswer>({ kind: 'unsent', detail: '' });
    });
    const sale = { ourRef: 'pay_1', amountTiyin: 100, description: '', callbackUrl: 'https://gw/cb', returnUrl: null };
    const instrument = { token: 'binding', phone: null, qr: null, otp: null };
    await client.authorize({ ...sale, lines: null, saleLines: [] }, instrument, { ...REF, providerRef: ID });
    expect(sent[0]?.body).toMatchObject({ returnUrl: '' });
  });
});
