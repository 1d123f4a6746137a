// Promise: an answer of a register that says what cannot be is not readable, so that nothing is recorded by it.
import { parseSaleResponse } from './shapes.js';

const RECEIPT = {
  terminalId: 'UZ000000000001',
  receiptSeq: 7,
  fiscalSign: '123456789012',
  qrUrl: 'https://ofd.example/7',
};

test.each([
  ['the last millisecond of 9999', Date.UTC(10_000, 0) - 1, true],
  ['the year 10 000, which the ledger cannot pass on', Date.UTC(10_000, 0), false],
  ['what no clock shows', Number.MAX_SAFE_INTEGER, false],
  ['before 1970', -1, false],
])('a time of %s', (_what, transactionTime, isReadable) => {
  const answer = parseSaleResponse({ receipt: { ...RECEIPT, transactionTime }, ofdSent: true });
  expect(answer?.receipt.transactionTime).toBe(isReadable ? transactionTime : undefined);
});
