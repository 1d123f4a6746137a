// Promise 1 of payments: a payment that can be reached can also be ended, with money and receipt in agreement, or names the person who must.
import fc from 'fast-check';
import { RECEIPT_STATUSES, type ReceiptStatus } from '#fiscal-domain';
import { statusOf, type CallOutcome, type MoneyStatus, type PaymentFlow } from '../port.js';
import { afterCall, stateDuring } from './after-call.js';
import { nextStep, type SagaSnapshot, type SagaStep } from './next-step.js';
import {
  assertPaymentMove,
  canMovePayment,
  isMoneyHeld,
  isWithoutMoney,
  PAYMENT_STATES,
  type PaymentMover,
  type PaymentState,
} from './payment-state.js';

const FLOWS: readonly PaymentFlow[] = ['hold', 'charge', 'invoice', 'inbound', 'veto'];
const STATUSES: readonly MoneyStatus[] = [
  'not_found',
  'pending',
  'in_flight',
  'reserved',
  'authorized',
  'captured',
  'declined',
  'voided',
  'refunded',
  'manual',
];
/** Of one call: how long ago it was, and what the provider's sums show of a refund. */
const READINGS = [true, false].flatMap((isSettled) =>
  [true, false, null].map((isRefundSeen) => ({ isSettled, isRefundSeen })),
);
const OUTCOMES: readonly CallOutcome[] = [
  ...STATUSES.map((status) => statusOf(status)),
  { kind: 'refused', code: 'x', detail: '' },
  { kind: 'unknown', detail: '' },
  { kind: 'unsent', detail: '' },
];

type FiscalisedBy = SagaSnapshot['fiscalisedBy'];
/** And whether its end was compared with what the provider says. */
type World = SagaSnapshot & { isCompared: boolean };

function start(flow: PaymentFlow, canRefund: boolean, fiscalisedBy: FiscalisedBy = 'register'): World {
  return {
    ...{ flow, canRefund, fiscalisedBy },
    documents: { next: 'submit', nextRefund: 'fetch', sale: false, refund: false, isOverdue: false },
    state: 'created',
    receipt: 'awaiting_payment',
    fiscalRefund: 'none',
    isRefundedAhead: false,
    refundRequested: false,
    mayBeBack: false,
    mayBeCharged: false,
    isOfCopy: false,
    isFoundByOurRef: false,
    isReceiptKept: false,
    isPrepared: false,
    link: 'missing',
    code: 'none',
    waitsForCapture: false,
    cancelRequested: false,
    outOfTime: false,
    isCompared: false,
  };
}

const RECEIPT_MOVES: Partial<Record<ReceiptStatus, readonly ReceiptStatus[]>> = {
  accepted: ['sending', 'cancelled'],
  sending: ['registered', 'rejected', 'accepted', 'unknown'],
  unknown: ['registered', 'accepted', 'rejected'],
};

/** What the world may do by itself: the register, the customer, the merchant, the provider, time. */
function byTheWorld(now: World): World[] {
  const after: World[] = (RECEIPT_MOVES[now.receipt] ?? []).map((receipt) => ({ ...now, receipt }));
  if (!now.cancelRequested) after.push({ ...now, cancelRequested: true });
  if (!now.outOfTime) after.push({ ...now, outOfTime: true });
  // The database is put back from a copy.
  if (now.state === 'created' && !now.mayBeCharged) after.push({ ...now, mayBeCharged: true });
  if (now.refundRequested && !now.mayBeBack) after.push({ ...now, mayBeBack: true });
  if (now.fiscalisedBy === 'provider') after.push(...byTheProvidersRegister(now));
  else if (now.fiscalRefund === 'pending')
    after.push({ ...now, fiscalRefund: 'registered' }, { ...now, fiscalRefund: 'failed' });
  if (now.flow === 'hold' && now.state === 'created' && now.isPrepared && now.code === 'none')
    after.push({ ...now, code: 'awaited' });
  if (now.state === 'pending' && now.code === 'awaited') after.push({ ...now, code: 'given' });
  // An invoice on the phone is paid through the provider's calls as well.
  if (now.flow === 'inbound' || now.flow === 'invoice') {
    if (now.state === 'pending') after.push({ ...now, state: 'reserved' });
    if (now.state === 'reserved') after.push({ ...now, state: 'pending' });
    if (now.state === 'reserved' && now.receipt === 'awaiting_payment')
      after.push({ ...now, state: 'captured', receipt: now.fiscalisedBy === 'provider' ? now.receipt : 'accepted' });
    if (now.state === 'captured') after.push({ ...now, state: 'refunded', refundRequested: false });
  }
  // A payment that is over is refused at the question if no later refusal is possible.
  const isOver = now.cancelRequested || now.outOfTime;
  if (now.flow === 'veto' && now.state === 'pending' && !(isOver && now.fiscalisedBy === 'provider'))
    after.push({ ...now, state: 'reserved' });
  // A person accepts a receipt that cannot be refunded.
  const isLeftOver = isWithoutMoney(now.state) || now.state === 'capture_refused';
  if (isLeftOver && now.receipt === 'registered' && now.fiscalRefund !== 'registered' && !now.isReceiptKept)
    after.push({ ...now, isReceiptKept: true });
  // What the comparison with the provider finds of payments that had ended, once each.
  const found = isWithoutMoney(now.state) && now.state !== 'refunded' ? (['captured', 'authorized'] as const) : [];
  for (const state of found) {
    expectLegal(now.state, state, 'comparison');
    if (!now.isCompared) after.push({ ...now, state, isCompared: true });
  }
  if (now.state === 'captured' && !now.isCompared) after.push({ ...now, state: 'refunded', isCompared: true });
  return after;
}

/** A document that it makes is known here sooner or later, or never; one of a sale only where money was taken. */
function byTheProvidersRegister(now: World): World[] {
  const { documents } = now;
  const after: World[] = [];
  if (documents.next === 'fetch') after.push({ ...now, documents: { ...documents, next: 'await' } });
  if (!documents.sale && (now.state === 'captured' || now.state === 'refunded'))
    after.push({ ...now, documents: { ...documents, sale: true } });
  if (!documents.refund && documents.sale && now.state === 'refunded')
    after.push({ ...now, documents: { ...documents, refund: true } });
  if (!documents.isOverdue && now.state === 'refunded')
    after.push({ ...now, documents: { ...documents, isOverdue: true } });
  return after;
}

function byTheSaga(now: World, step: SagaStep): World[] {
  switch (step.kind) {
    case 'move':
      expectLegal(now.state, step.to);
      return [{ ...now, state: step.to }];
    case 'release_receipt':
      expect(now).toMatchObject({ receipt: 'awaiting_payment', fiscalisedBy: 'register' });
      return [{ ...now, receipt: 'accepted' }];
    case 'register_receipt':
      expect(now.fiscalisedBy).toBe('provider');
      return [step.document === 'sale' ? { ...now, receipt: 'registered' } : { ...now, fiscalRefund: 'registered' }];
    case 'cancel_receipt':
      expect(['awaiting_payment', 'accepted']).toContain(now.receipt);
      return [{ ...now, receipt: 'cancelled' }];
    case 'start_fiscal_refund':
      expect(now).toMatchObject({ receipt: 'registered', fiscalRefund: 'none' });
      return [{ ...now, fiscalRefund: 'pending' }];
    case 'request_refund':
      return [{ ...now, refundRequested: true }];
    case 'presume_refund_asked':
      expectLegal(now.state, 'refunding');
      return [{ ...now, state: 'refunding', mayBeBack: false }];
    case 'call':
      return OUTCOMES.flatMap((outcome) => READINGS.map((reading) => called(now, step.call, outcome, reading)));
    case 'wait':
    case 'operator':
    case 'done':
      return [];
  }
}

function called(
  now: World,
  name: Extract<SagaStep, { kind: 'call' }>['call'],
  outcome: CallOutcome,
  reading: (typeof READINGS)[number],
): World {
  const during = stateDuring(name);
  if (during) expectLegal(now.state, during);
  const state = afterCall(name, { before: now.state, outcome, isWholeRefund: true, ...reading });
  if (state !== now.state) expectLegal(during ?? now.state, state);
  return {
    ...now,
    state,
    isPrepared: now.isPrepared || (name === 'prepare' && outcome.kind === 'status'),
    documents:
      name === 'submit_lines' && outcome.kind === 'status' ? { ...now.documents, next: 'fetch' } : now.documents,
    link: name === 'attach_link' && outcome.kind === 'status' ? 'attached' : now.link,
    code: name === 'authorize' && outcome.kind === 'status' ? 'none' : now.code,
    refundRequested: state === 'refunded' ? false : now.refundRequested,
  };
}

function expectLegal(from: PaymentState, to: PaymentState, by: PaymentMover = 'worker'): void {
  assertPaymentMove(from, to, by);
}

function successors(now: World): World[] {
  return [...byTheSaga(now, nextStep(now)), ...byTheWorld(now)];
}

function reachable(from: World): Map<string, World> {
  const seen = new Map([[JSON.stringify(from), from]]);
  const open = [from];
  for (let now = open.pop(); now; now = open.pop()) {
    for (const next of successors(now)) {
      const key = JSON.stringify(next);
      if (!seen.has(key)) {
        seen.set(key, next);
        open.push(next);
      }
    }
  }
  return seen;
}

/** Done and right: paid with a receipt, or neither, or a receipt that was refunded. */
function agrees(now: SagaSnapshot): boolean {
  if (now.state === 'captured') {
    const isPaid = now.fiscalRefund !== 'registered' && !now.isReceiptKept;
    return now.receipt === 'registered' && isPaid;
  }
  if (!isWithoutMoney(now.state)) return false;
  if (now.receipt === 'registered') return now.fiscalRefund === 'registered' || now.isReceiptKept;
  return now.receipt === 'rejected' || now.receipt === 'cancelled';
}

const WAYS = FLOWS.flatMap((flow) =>
  [true, false].flatMap((canRefund) =>
    (['register', 'provider'] as const).map((fiscalisedBy) => ({ flow, canRefund, fiscalisedBy })),
  ),
);

describe.each(WAYS)(
  'flow $flow, refunds by us: $canRefund, registered by the $fiscalisedBy',
  ({ flow, canRefund, fiscalisedBy }) => {
    const all = reachable(start(flow, canRefund, fiscalisedBy));

    it('says done only where money and receipt agree', () => {
      const wrong = [...all.values()].filter((now) => nextStep(now).kind === 'done' && !agrees(now));
      expect(wrong).toEqual([]);
    });

    it('gives a receipt to a lane only where no provider registers it', () => {
      const lanes = [...all.values()].filter(({ receipt }) => ['accepted', 'sending', 'unknown'].includes(receipt));
      expect(lanes.length > 0).toBe(fiscalisedBy === 'register');
    });

    it('never stands still anywhere else: there is a way to an end, or a person is named', () => {
      // Backwards from every end over the edges: what cannot reach one is stuck.
      const before = new Map<string, string[]>();
      for (const [key, now] of all)
        for (const next of successors(now).map((each) => JSON.stringify(each)))
          before.set(next, [...(before.get(next) ?? []), key]);
      const ends = [...all].filter(([, now]) => ['done', 'operator'].includes(nextStep(now).kind)).map(([key]) => key);
      const ending = new Set(ends);
      for (let key = ends.pop(); key !== undefined; key = ends.pop())
        for (const earlier of before.get(key) ?? [])
          if (!ending.has(earlier)) {
            ending.add(earlier);
            ends.push(earlier);
          }
      const stuck = [...all.keys()].filter((key) => !ending.has(key));
      expect(stuck).toEqual([]);
    });

    it('asks the provider, and waits for no other party, where money is held whose receipt is registered', () => {
      // A reservation of the providers that call us is none of money.
      const isHeld = ({ state }: World): boolean => isMoneyHeld(state) && (state !== 'reserved' || flow === 'veto');
      const held = [...all.values()].filter(
        (now) => isHeld(now) && now.receipt === 'registered' && now.fiscalRefund === 'none',
      );
      // Where the receipt is to be refunded first, that begins at once.
      const wrong = held.filter((now) => !['call', 'start_fiscal_refund'].includes(nextStep(now).kind));
      expect(wrong).toEqual([]);
    });

    it('takes no money for a receipt that was refunded, cancelled or refused', () => {
      const wrong = [...all.values()].filter((now) => {
        const step = nextStep(now);
        const isTaking = step.kind === 'call' && (step.call === 'capture' || step.call === 'authorize');
        const isVoid = now.receipt === 'rejected' || now.receipt === 'cancelled' || now.fiscalRefund === 'registered';
        return isTaking && (isVoid || now.isReceiptKept);
      });
      expect(wrong).toEqual([]);
    });
  },
);

it.each(WAYS)(
  'a copy of the database has no money asked for, and none back, before its provider was read (%j)',
  (way) => {
    const { flow, canRefund, fiscalisedBy } = way;
    const created = { ...start(flow, canRefund, fiscalisedBy), mayBeCharged: true };
    expect(nextStep(created)).toEqual({ kind: 'move', to: flow === 'inbound' ? 'pending' : 'authorizing' });
    const due: World = { ...created, state: 'captured', receipt: 'registered', refundRequested: true, mayBeBack: true };
    expect(nextStep(due).kind).toBe(canRefund ? 'presume_refund_asked' : 'operator');
  },
);

it('answers any snapshot at all with a step, also one that should not exist', () => {
  fc.assert(
    fc.property(
      fc.record({
        flow: fc.constantFrom(...FLOWS),
        state: fc.constantFrom(...PAYMENT_STATES),
        receipt: fc.constantFrom(...RECEIPT_STATUSES),
        fiscalRefund: fc.constantFrom('none', 'pending', 'registered', 'failed'),
        isRefundedAhead: fc.boolean(),
        refundRequested: fc.boolean(),
        mayBeBack: fc.boolean(),
        mayBeCharged: fc.boolean(),
        isOfCopy: fc.boolean(),
        isFoundByOurRef: fc.boolean(),
        isReceiptKept: fc.boolean(),
        canRefund: fc.boolean(),
        isPrepared: fc.boolean(),
        link: fc.constantFrom('none', 'missing', 'attached'),
        fiscalisedBy: fc.constantFrom('register', 'provider'),
        documents: fc.record({
          next: fc.constantFrom('submit', 'fetch', 'await'),
          nextRefund: fc.constantFrom('fetch', 'await'),
          ...{ sale: fc.boolean(), refund: fc.boolean(), isOverdue: fc.boolean() },
        }),
        code: fc.constantFrom('none', 'awaited', 'given'),
        waitsForCapture: fc.boolean(),
        cancelRequested: fc.boolean(),
        outOfTime: fc.boolean(),
      }),
      (now) => {
        const step = nextStep(now);
        if (step.kind === 'move') expect(canMovePayment(now.state, step.to, 'worker')).toBe(true);
        if (step.kind === 'call') {
          const during = stateDuring(step.call);
          if (during) expect(canMovePayment(now.state, during, 'worker')).toBe(true);
        }
      },
    ),
  );
});

it('moves no payment that ended, and none that waits for a person', () => {
  const ended = PAYMENT_STATES.filter((state) => isWithoutMoney(state) || state === 'manual');
  const worker = ended.flatMap((from) => PAYMENT_STATES.filter((to) => canMovePayment(from, to, 'worker')));
  expect(worker).toEqual([]);
  expect(() => assertPaymentMove('manual', 'captured', 'provider')).toThrow('not moved from manual to captured');
});

it.each([
  ['authorizing', 'authorize_unknown'],
  ['capturing', 'capture_unknown'],
  ['voiding', 'void_unknown'],
  ['refunding', 'refund_unknown'],
] as const)('a call left open in %s whose status says nothing is %s: a person may end that', (before, unknown) => {
  const reading = { isSettled: true, isWholeRefund: true, isRefundSeen: null };
  const says = (outcome: CallOutcome): PaymentState => afterCall('read_status', { before, outcome, ...reading });
  expect([
    says({ kind: 'unknown', detail: '' }),
    says({ kind: 'unsent', detail: '' }),
    says(statusOf('in_flight')),
  ]).toEqual([unknown, unknown, unknown]);
  expect(canMovePayment(before, unknown, 'worker')).toBe(true);
});

it.each(['authorizing', 'capturing', 'voiding', 'refunding'] as const)(
  'a call left open in %s: whatever its status says, the payment goes on from there',
  (before) => {
    for (const outcome of OUTCOMES)
      for (const reading of READINGS)
        for (const isWholeRefund of [true, false]) {
          const state = afterCall('read_status', { before, outcome, isWholeRefund, ...reading });
          expect([outcome, state, state === before || canMovePayment(before, state, 'worker')]).toEqual([
            ...[outcome, state],
            true,
          ]);
        }
  },
);

it('asks again only by reading while it does not know what a call did', () => {
  const unknown = PAYMENT_STATES.filter((state) => state.endsWith('_unknown') || /(ing)$/.test(state));
  for (const state of unknown.filter((each) => each !== 'pending'))
    expect(nextStep({ ...start('hold', true), state })).toEqual({ kind: 'call', call: 'read_status' });
});

test('of a copy that was put back: what may be taken or sold by now does not end by a wish or a clock', () => {
  const created = start('hold', true, 'register');
  const found = { isOfCopy: true, isFoundByOurRef: true };
  for (const over of [{ cancelRequested: true }, { outOfTime: true }]) {
    expect(nextStep({ ...created, ...over, ...found })).toEqual({ kind: 'move', to: 'pending' });
    expect(nextStep({ ...created, ...over, ...found, isOfCopy: false })).toMatchObject({
      kind: 'move',
      to: 'cancelRequested' in over ? 'cancelled' : 'expired',
    });
  }
  const captured = { ...created, state: 'captured', receipt: 'awaiting_payment', cancelRequested: true } as const;
  expect(nextStep({ ...captured, isOfCopy: true })).toEqual({ kind: 'release_receipt' });
  expect(nextStep(captured)).toEqual({ kind: 'cancel_receipt' });
});
