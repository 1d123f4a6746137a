// Promise: each way in which a register and our books can disagree about one payment is named, and agreement is not.
import { judgeDays, judgePayment, judgeUnknown, type KnownPayment } from './judge-payment.js';
import { addRow, type RegisterEntry, type RegisterRow } from './register-rows.js';

const PERIOD = { from: '2026-03-04', to: '2026-03-04' };
const ROW: RegisterRow = {
  ...{ number: 2, providerRef: 'p1', ourRef: null, paidTiyin: 100, refundedTiyin: 0, commissionTiyin: null },
  day: '2026-03-04',
};
const PAYMENT: KnownPayment = {
  ...{ id: 'pay_1', number: 1n, provider_ref: 'p1', receipt_id: 'rcp_1', state: 'captured' as const },
  ...{ receipt_status: 'registered', amount_tiyin: 100n, refunded_tiyin: 0n, extra_ref: null },
};

function entriesOf(rows: readonly Partial<RegisterRow>[]): RegisterEntry[] {
  const entries = new Map<string, RegisterEntry>();
  for (const row of rows) addRow(entries, { ...ROW, ...row });
  return [...entries.values()];
}

function judged(rows: readonly Partial<RegisterRow>[], given: Partial<KnownPayment>, expected: bigint | null = null) {
  const payment = { ...PAYMENT, ...given };
  const entries = entriesOf(rows);
  const ofDays = entries.flatMap((entry) => judgeDays(entry, payment, PERIOD));
  return [...ofDays, ...judgePayment({ payment, entries }, expected)];
}

const BACK: Partial<RegisterRow> = { paidTiyin: 0, refundedTiyin: 100 };
const SECOND: Partial<RegisterRow> = { number: 3, providerRef: 'p2', ourRef: 'pay_1' };

test.each<[string, Partial<RegisterRow>[], Partial<KnownPayment>, bigint | null, string[]]>([
  ['the same', [{}], {}, null, []],
  ['one that was declined here', [{}], { state: 'declined' }, null, ['extra']],
  ['one that was declined here and went back there', [{ refundedTiyin: 100 }], { state: 'declined' }, null, []],
  ['one that was declined here, back under another id', [{}, { ...SECOND, ...BACK }], { state: 'declined' }, null, []],
  ['a second charge of the order', [{}], { extra_ref: 'p1' }, null, ['extra']],
  ['a second charge that went back', [{ refundedTiyin: 100 }], { extra_ref: 'p1' }, null, []],
  ['another sum', [{ paidTiyin: 99 }], {}, null, ['amount']],
  ['the same twice', [{}, {}], {}, null, ['duplicate']],
  ['the same twice, once given back', [{}, {}, BACK], {}, null, []],
  ['two charges under two ids', [{}, SECOND], {}, null, ['duplicate']],
  [
    'three charges under three ids',
    [{}, SECOND, { ...SECOND, providerRef: 'p3' }],
    {},
    null,
    ['duplicate', 'duplicate'],
  ],
  ['two charges under two ids, one given back', [{}, SECOND, { ...SECOND, ...BACK }], {}, null, []],
  [
    'two charges under two ids, one given back under a third',
    [{}, SECOND, { ...BACK, providerRef: 'r1' }],
    {},
    null,
    [],
  ],
  ['more back there', [{ refundedTiyin: 50 }], {}, null, ['refund']],
  [
    'more back there, under ids of the refunds’ own',
    [{}, { ...BACK, providerRef: 'r1', refundedTiyin: 30 }, { ...BACK, providerRef: 'r2', refundedTiyin: 30 }],
    { refunded_tiyin: 50n },
    null,
    ['refund'],
  ],
  [
    'two parts that went back, under ids of their own',
    [{}, { ...BACK, providerRef: 'r1', refundedTiyin: 30 }, { ...BACK, providerRef: 'r2', refundedTiyin: 20 }],
    { refunded_tiyin: 50n },
    null,
    [],
  ],
  ['less back there: on another day', [{}], { refunded_tiyin: 50n }, null, []],
  ['the refund alone', [BACK], { state: 'refunded', refunded_tiyin: 100n }, null, []],
  ['no receipt', [{}], { receipt_status: 'unknown' }, null, ['receipt']],
  ['no receipt of money that is back', [{}], { receipt_status: 'cancelled', state: 'refunded' }, null, []],
  ['another day', [{ day: '2026-03-05' }], {}, null, ['day']],
  ['the commission of the rule', [{ commissionTiyin: 500 }], {}, 500n, []],
  ['a commission rounded to som', [{ commissionTiyin: 500 }], {}, 560n, []],
  ['another commission', [{ commissionTiyin: 500 }], {}, 1_000n, ['commission']],
  ['a commission without a rule', [{ commissionTiyin: 500 }], {}, null, []],
])('%s', (...[, rows, payment, expected, wanted]) => {
  expect(judged(rows, payment, expected).map(({ kind }) => kind)).toEqual(wanted);
});

test('a second charge is named by its own id and row, whichever comes first', () => {
  for (const rows of [
    [{}, SECOND],
    [SECOND, {}],
  ])
    expect(judged(rows, {})).toEqual([
      expect.objectContaining({ kind: 'duplicate', providerRef: 'p2', row: 3, oursTiyin: 100, theirsTiyin: 100 }),
    ]);
});

test('a row that names no payment of ours is extra by what is left of it', () => {
  const [entry] = entriesOf([{ refundedTiyin: 30 }]);
  expect(entry && judgeUnknown(entry)).toMatchObject({
    kind: 'extra',
    providerRef: 'p1',
    theirsTiyin: 70,
    paymentId: null,
  });
});

test('of rows under one id each has its own day', () => {
  expect(judged([{}, { ...BACK, number: 7, day: '2026-03-05' }], { refunded_tiyin: 100n })).toEqual([
    expect.objectContaining({ kind: 'day', day: '2026-03-05', row: 7 }),
  ]);
});
