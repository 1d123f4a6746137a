// A part of a payment is never given back twice, and never taken for the whole.
import { statusOf, type MoneyStatus } from '../port.js';
import { afterCall, type AfterCall } from './after-call.js';

type Reading = [status: MoneyStatus, isRefundSeen: boolean | null, isSettled: boolean];

function read(isWholeRefund: boolean, [status, isRefundSeen, isSettled]: Reading): string {
  const after: AfterCall = {
    before: 'refund_unknown',
    outcome: statusOf(status),
    isSettled,
    isWholeRefund,
    isRefundSeen,
  };
  return afterCall('read_status', after);
}

it.each<[string, Reading, string]>([
  ['the sum shows it: the rest is still taken', ['captured', true, false], 'captured'],
  ['the sum is as before, and it may still be under way', ['captured', false, false], 'refund_unknown'],
  ['the sum is as before, long after: it may be asked for again', ['captured', false, true], 'captured'],
  ['no sum, or another one, and it may still be under way', ['captured', null, false], 'refund_unknown'],
  ['no sum, or another one, long after: people', ['captured', null, true], 'manual'],
  ['all of the money is gone where a part was asked for: people', ['refunded', true, true], 'manual'],
  ['nothing can be read', ['in_flight', null, true], 'refund_unknown'],
])('a part: %s', (_name, reading, state) => {
  expect(read(false, reading)).toBe(state);
});

it.each<[string, Reading, string]>([
  ['gone', ['refunded', null, false], 'refunded'],
  ['called failed by its provider', ['declined', null, false], 'refunded'],
  ['the sum shows it', ['captured', true, false], 'refunded'],
  ['still taken, long after', ['captured', false, true], 'captured'],
  ['called given back, and no sum of it yet', ['refunded', false, false], 'refund_unknown'],
  ['called given back, and no sum of it, long after: people', ['refunded', false, true], 'manual'],
  ['some of it gone before, and no sum', ['captured', null, true], 'manual'],
])('the rest: %s', (_name, reading, state) => {
  expect(read(true, reading)).toBe(state);
});

it.each([
  [true, 'refunded'],
  [false, 'captured'],
])('the refund’s own answer is enough (all of it: %s)', (isWholeRefund, state) => {
  const after = { before: 'captured', outcome: statusOf('refunded'), isSettled: false, isRefundSeen: null } as const;
  expect(afterCall('refund', { ...after, isWholeRefund })).toBe(state);
});
