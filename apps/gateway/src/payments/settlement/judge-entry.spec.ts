// Promise: each way in which a register and our books can disagree about one payment is named, and agreement is not.
import { judgeEntry, type KnownPayment } from './judge-entry.js';
import type { RegisterEntry } from './register-rows.js';

const PERIOD = { from: '2026-03-04', to: '2026-03-04' };
const ENTRY: RegisterEntry = {
  ...{ number: 2, providerRef: 'p1', ourRef: null, paidTiyin: 100, refundedTiyin: 0, commissionTiyin: null },
  ...{ day: '2026-03-04', payments: 1 },
};
const PAYMENT: KnownPayment = {
  ...{ id: 'pay_1', number: 1n, provider_ref: 'p1', receipt_id: 'rcp_1', state: 'captured' as const },
  ...{ receipt_status: 'registered', amount_tiyin: 100n, refunded_tiyin: 0n, extra_ref: null },
};

test.each<[string, Partial<RegisterEntry>, Partial<KnownPayment> | null, bigint | null, string[]]>([
  ['the same', {}, {}, null, []],
  ['a payment that is not ours', {}, null, null, ['extra']],
  ['one that was declined here', {}, { state: 'declined' }, null, ['extra']],
  ['one that was declined here and went back there', { refundedTiyin: 100 }, { state: 'declined' }, null, []],
  ['a second charge of the order', {}, { extra_ref: 'p1' }, null, ['extra']],
  ['a second charge that went back', { refundedTiyin: 100 }, { extra_ref: 'p1' }, null, []],
  ['another sum', { paidTiyin: 99 }, {}, null, ['amount']],
  ['the same twice', { paidTiyin: 200, payments: 2 }, {}, null, ['duplicate']],
  ['more back there', { refundedTiyin: 50 }, {}, null, ['refund']],
  ['less back there: on another day', {}, { refunded_tiyin: 50n }, null, []],
  [
    'the refund alone',
    { paidTiyin: 0, payments: 0, refundedTiyin: 100 },
    { state: 'refunded', refunded_tiyin: 100n },
    null,
    [],
  ],
  ['no receipt', {}, { receipt_status: 'unknown' }, null, ['receipt']],
  [
    'no receipt of money that is back',
    {},
    { receipt_status: 'cancelled', state: 'refunded', refunded_tiyin: 100n },
    null,
    [],
  ],
  ['another day', { day: '2026-03-05' }, {}, null, ['day']],
  ['the commission of the rule', { commissionTiyin: 500 }, {}, 500n, []],
  ['a commission rounded to som', { commissionTiyin: 500 }, {}, 560n, []],
  ['another commission', { commissionTiyin: 500 }, {}, 1_000n, ['commission']],
  ['a commission without a rule', { commissionTiyin: 500 }, {}, null, []],
])('%s', (...[, entry, payment, expected, wanted]) => {
  const known = payment && { ...PAYMENT, ...payment };
  expect(judgeEntry({ ...ENTRY, ...entry }, known, PERIOD, expected).map(({ kind }) => kind)).toEqual(wanted);
});
