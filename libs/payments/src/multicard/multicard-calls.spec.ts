// Multicard's calls and answers are read as its published pages have them, whatever else is in them.
import { createHash } from 'node:crypto';
import { tashkentTimeMs } from '../wire.js';
import { multicardHoldStatus } from './multicard.transform.js';
import { readMulticardCall } from './multicard.wire.js';

const SECRET = 'SECRET123';
const ACCOUNT = { storeId: '6', secret: SECRET };
const hex = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex');

/** The examples of the two pages, signed with our secret: the hashes that are printed there follow from no known one. */
const SUCCESS = {
  ...{ store_id: 6, amount: 20_000, invoice_id: '2024864028760', billing_id: '20241214242009869794410864028760' },
  ...{ payment_time: '2024-12-14 14:36:31', phone: '998930601725', card_pan: '860030******5959', ps: 'uzcard' },
  ...{ card_token: '6225f3c93f7a880142782fa4', uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367d' },
  receipt_url: 'https://dev-checkout.multicard.uz/check/e60d8ebc-b9fe-11ef-b159-005056b4367d',
  sign: hex('md5', `6202486402876020000${SECRET}`),
};
const WEBHOOK = {
  ...{ uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367d', amount: 200_000, invoice_id: 'test', status: 'progress' },
  ...{ billing_id: '20241214242009869794410864028760', payment_time: '2024-12-14 14:36:31', refund_time: null },
  ...{ phone: '998930601725', card_pan: '860030******5959', ps: 'uzcard', card_token: '6225f3c93f7a880142782fa4' },
  ...{ receipt_url: null, sign: hex('sha1', `e60d8ebc-b9fe-11ef-b159-005056b4367dtest200000${SECRET}`) },
};

const read = (body: object, account = ACCOUNT) => readMulticardCall(JSON.stringify(body), account);

it('takes the page’s success callback, and the webhook that names no store', () => {
  const { uuid } = SUCCESS;
  expect(read(SUCCESS)).toEqual({
    kind: 'call',
    call: { scheme: 'success', uuid, invoiceId: '2024864028760', amountTiyin: 20_000, status: null },
  });
  expect(read(WEBHOOK)).toEqual({
    kind: 'call',
    call: { scheme: 'webhook', uuid, invoiceId: 'test', amountTiyin: 200_000, status: 'progress' },
  });
});

it('takes the number of a store whose account was set up with its UUID', () => {
  const account = { ...ACCOUNT, storeId: '0f1e2d3c-b9fe-11ef-b159-005056b4367d' };
  expect(read(SUCCESS, account)).toMatchObject({ kind: 'call' });
});

it.each([
  ['of another store', { ...SUCCESS, store_id: 7, sign: hex('md5', `7202486402876020000${SECRET}`) }],
  ['without its store', { ...SUCCESS, store_id: undefined }],
  ['with another sum', { ...SUCCESS, amount: 20_001 }],
  ['with another signature', { ...SUCCESS, sign: '0'.repeat(32) }],
  ['a webhook of another payment', { ...WEBHOOK, uuid: 'e60d8ebc-b9fe-11ef-b159-005056b4367e' }],
  ['a webhook whose sum was changed', { ...WEBHOOK, amount: 2 }],
])('refuses a callback %s', (_name, body) => {
  expect(read(body)).toMatchObject({ kind: 'fault' });
});

it('reads the end of a hold as the time that it is, in Tashkent', () => {
  const payment = { uuid: SUCCESS.uuid, status: 'progress', payment_amount: 20_000, otp_hash: null };
  const hold = { id: 753_967, status: 'active', expiry: '2025-03-08 23:12:15', payment };
  expect(multicardHoldStatus(hold)).toMatchObject({
    ...{ status: 'authorized', amountTiyin: 20_000, providerRef: SUCCESS.uuid },
    holdExpiresAtMs: Date.parse('2025-03-08T18:12:15Z'),
  });
  expect(multicardHoldStatus({ ...hold, expiry: 60 })).toMatchObject({ holdExpiresAtMs: null });
});

it.each(['', '2025-03-08', '2025-13-08 23:12:15', '08.03.2025 23:12', '2025-03-08T23:12:15'])(
  'does not guess a time from %j',
  (text) => {
    expect(tashkentTimeMs(text)).toBeNull();
  },
);
