// Promise: an answer of a register that says what cannot be is not readable, so that nothing is recorded by it.
import { judgeCall } from './answers.js';
import { parseSaleResponse, parseStatus } from './shapes.js';

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

const STATUS = {
  ...{ app: 'x', version: '1', systemVersion: '1', port: 1, fmInitialized: true, activated: true },
  subscriptionState: 'active',
};
const REFUSAL = { code: 'F-003', reason: 'clock_behind', message: 'The clock is behind' };

// What is beyond the specification is taken in our form, and says nothing in another.
test('why its module refuses every receipt', () => {
  expect(parseStatus({ ...STATUS, fmRefusal: { ...REFUSAL, more: 1 } })?.fmRefusal).toEqual(REFUSAL);
});

test.each([
  undefined,
  null,
  true,
  'F-003',
  [],
  {},
  { ...REFUSAL, message: 7 },
  { ...REFUSAL, code: '' },
  { ...REFUSAL, code: 'E-016' },
])('a field of that name as %j leaves the status as it is', (fmRefusal) => {
  expect(parseStatus({ ...STATUS, fmRefusal })).toEqual(STATUS);
});

test('its words are taken up to a length, and end with a whole character', () => {
  const message = `${'x'.repeat(499)}😀${'x'.repeat(1_000_000)}`;
  const refusal = parseStatus({ ...STATUS, fmRefusal: { ...REFUSAL, reason: message, message } })?.fmRefusal;
  expect(refusal).toEqual({ code: 'F-003', reason: 'x'.repeat(499), message: 'x'.repeat(499) });
});

test('so are those of a refusal', () => {
  const error = { code: 'F-003', message: 'x'.repeat(1_000_000), rule: 'y'.repeat(1_000_000) };
  const body = Buffer.from(JSON.stringify({ success: false, error }));
  const answer = judgeCall({ kind: 'answered', httpStatus: 409, headers: {}, body }, parseStatus);
  expect(answer).toMatchObject({ kind: 'refused', code: 'F-003', message: 'x'.repeat(500), rule: 'y'.repeat(500) });
});
