// What Click does not let us read is not taken for "there is no such payment": money that was taken would be forgotten.
import type { HttpExchange, HttpRequest } from '../http-exchange.js';
import type { CallOutcome, PaymentRef } from '../port.js';
import { ClickClient } from './click.client.js';

const REF: PaymentRef = {
  ...{ ourRef: 'pay_1', providerRef: null, flow: 'charge', amountTiyin: 150_050, createdAtMs: 1_712_345_678_000 },
};
const ORDER = { amountTiyin: 150_050, key: '1', lines: null };
const LINK = {
  terminalId: 'UZ000000000001',
  receiptSeq: 7,
  fiscalSign: '1',
  dateTime: '20260102080405',
  isRefund: false,
};

function clientWith(answer: (request: HttpRequest) => { status: number; body: unknown }): ClickClient {
  const exchange: HttpExchange = (request) => Promise.resolve({ kind: 'answered', ...answer(request) });
  const who = { serviceId: '12345', merchantUserId: '3333', secretKey: 'SECRET123' };
  return new ClickClient({ apiUrl: 'https://api.click.uz/v2/merchant', ...who }, exchange);
}

describe.each([400, 401, 403, 406, 410])('readings answered HTTP %i', (status) => {
  const client = clientWith(() => ({ status, body: { error_code: -1, error_note: 'no' } }));
  const calls: [string, (ref: PaymentRef) => Promise<CallOutcome>][] = [
    ['status', (ref) => client.fetchStatus(ref)],
    ['void', (ref) => client.void(ref)],
    ['document', (ref) => client.fetchDocument(ref, { which: 'sale', sale: null, isMoneyBack: false, lines: [] })],
  ];
  // By its own id the next two move money, or attach a link: those calls are refused as before.
  const byOurRef: typeof calls = [
    ...calls,
    ['refund', (ref) => client.refund(ref, ORDER)],
    ['link', (ref) => client.attachLink(ref, { url: 'https://ofd.soliq.uz/check', ...LINK })],
  ];

  it.each(byOurRef)('%s by our reference: nothing was learned', async (_name, call) => {
    expect(await call(REF)).toEqual({ kind: 'unsent', detail: `HTTP ${String(status)}` });
  });

  it.each(calls)('%s by the id that Click gave: nothing was learned', async (_name, call) => {
    expect(await call({ ...REF, providerRef: '777' })).toEqual({ kind: 'unsent', detail: `HTTP ${String(status)}` });
  });
});

it('one day of three that was not answered may be the payment’s', async () => {
  let asked = 0;
  const client = clientWith(() => ({ status: (asked += 1) === 2 ? 403 : 404, body: {} }));
  expect(await client.fetchStatus(REF)).toMatchObject({ kind: 'unsent' });
});

it.each([
  [404, {}],
  [200, { error_code: -16, error_note: 'no such payment' }],
])('HTTP %i %j on each day: there is no such payment', async (status, body) => {
  const client = clientWith(() => ({ status, body }));
  expect(await client.fetchStatus(REF)).toMatchObject({ kind: 'status', status: 'not_found' });
});

it('a charge that Click refused unread is refused', async () => {
  const client = clientWith(() => ({ status: 401, body: {} }));
  const instrument = { token: 'token-0001', phone: null, qr: null, otp: null };
  const order = { ourRef: 'pay_1', amountTiyin: 150_050, description: '', callbackUrl: null, returnUrl: null };
  expect(await client.authorize({ ...order, lines: null, saleLines: [] }, instrument, REF)).toMatchObject({
    ...{ kind: 'refused', code: '401' },
  });
});
