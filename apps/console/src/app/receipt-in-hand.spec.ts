// Promise: whatever a customer shows of a receipt (the link, the QR code, the paper) leads to it.
import { receiptInHand } from './receipt-in-hand.js';

const document = { kind: 'document', terminal_id: 'UZ230700000042', receipt_seq: '4711' };
const NUMBER = '01m8kr8xd1ydb51cg75hxhss6p';

test.each([
  ['https://ofd.soliq.uz/check?t=UZ230700000042&r=4711&c=20261129183614&s=375808952399', document],
  ['ofd.soliq.uz/check?t=UZ230700000042&r=4711', document],
  ['UZ230700000042 4711', document],
  ['uz230700000042 / 004711', document],
  ['UZ230700000042 № 4711', document],
  [`rcp_${NUMBER}`, { kind: 'receipt', id: `rcp_${NUMBER}` }],
  [`rcp_test_${NUMBER}`, { kind: 'receipt', id: `rcp_test_${NUMBER}` }],
  [`https://fiscal.example.uz/r/${NUMBER}.Yol-QugEm4L38W4L`, { kind: 'receipt', id: `rcp_${NUMBER}` }],
  [
    `https://fiscal.example.uz/r/test_${NUMBER}.Yol-QugEm4L38W4L?lang=ru`,
    { kind: 'receipt', id: `rcp_test_${NUMBER}` },
  ],
])('%s', (typed, found) => {
  expect(receiptInHand(typed)).toEqual(found);
});

test.each([
  '',
  'УПД-2026/11',
  '4711',
  'UZ230700000042',
  'check?t=UZ230700000042',
  'https://ofd.soliq.uz/check?t=&r=1',
  'x?t=UZ1&r=0',
])('%s is none of these', (typed) => expect(receiptInHand(typed)).toBeNull());
