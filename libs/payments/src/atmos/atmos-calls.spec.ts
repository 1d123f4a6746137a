// ATMOS: where the customer is asked for a code, no other one is ever sent.
import type { HttpAnswer, HttpRequest } from '../http-exchange.js';
import type { PaymentOrder, PaymentRef } from '../port.js';
import { AtmosClient } from './atmos.client.js';

const ORDER: PaymentOrder = {
  ...{ ourRef: 'pay_1', amountTiyin: 100, description: '', callbackUrl: null, returnUrl: null },
  ...{ lines: null, saleLines: [] },
};
const REF: PaymentRef = { ourRef: 'pay_1', providerRef: '7', flow: 'hold', amountTiyin: 100, createdAtMs: 0 };
const INSTRUMENT = { token: 'card', phone: null, qr: null, otp: null };

function atmos(asksCode: boolean) {
  const sent: HttpRequest[] = [];
  const options = { consumerKey: 'k', consumerSecret: 's', storeId: '1', terminalId: '', holdMinutes: 60 };
  const client = new AtmosClient({ apiUrl: 'https://a', ...options, asksCode }, (request) => {
    if (request.url.endsWith('/token'))
      return Promise.resolve<HttpAnswer>({ kind: 'answered', status: 200, body: { access_token: 't' } });
    sent.push(request);
    const body = { result: { code: 'OK' }, hold_id: '7', status: 'a new word', amount: 100 };
    return Promise.resolve<HttpAnswer>({ kind: 'answered', status: 200, body });
  });
  return { client, sent };
}

it.each(['hold', 'charge'] as const)(
  'asks for the code where none was given (%s), whatever was answered before',
  async (flow) => {
    const { client, sent } = atmos(true);
    expect(await client.prepare(ORDER, 'hold', INSTRUMENT)).toMatchObject({ status: 'in_flight', nextAction: null });
    sent.length = 0;
    expect(await client.authorize(ORDER, INSTRUMENT, { ...REF, flow })).toMatchObject({
      ...{ kind: 'status', status: 'pending', providerRef: '7', nextAction: { type: 'otp' } },
    });
    expect(sent).toEqual([]);
  },
);

it('sends the fixed code of a bound card only where the customer is not asked', async () => {
  const { client, sent } = atmos(false);
  await client.authorize(ORDER, INSTRUMENT, REF);
  expect(sent[0]?.body).toEqual({ otp: '111111' });
});
