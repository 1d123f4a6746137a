import { nextStep, type SagaSnapshot } from '#payments';
import type { ReceiptStatus } from '#fiscal-domain';
import { standingOf, standingWithoutMoney, type FiscalRefund } from './several-receipts.js';

type Given = readonly [ReceiptStatus, FiscalRefund?];

const sales = (given: readonly Given[]) => given.map(([status, back = 'none']) => ({ status, fiscal_refund: back }));

describe('while the money stays or may come', () => {
  it.each<[string, Given[], string, string]>([
    ['all wait', [['awaiting_payment'], ['awaiting_payment']], 'awaiting_payment', 'none'],
    ['one is behind', [['registered'], ['accepted']], 'accepted', 'none'],
    ['one is at its register', [['registered'], ['sending']], 'sending', 'none'],
    ['one is unknown beside one under way', [['sending'], ['unknown']], 'unknown', 'none'],
    ['all are registered', [['registered'], ['registered']], 'registered', 'none'],
    ['one was refused', [['registered'], ['rejected'], ['accepted']], 'rejected', 'none'],
    ['one was cancelled', [['sending'], ['cancelled']], 'cancelled', 'none'],
    ['one seller has all back', [['registered', 'registered'], ['registered']], 'registered', 'partial'],
    [
      'all sellers have all back',
      [
        ['registered', 'registered'],
        ['registered', 'registered'],
      ],
      'registered',
      'registered',
    ],
    [
      'one is on its way back',
      [
        ['registered', 'registered'],
        ['registered', 'pending'],
      ],
      'registered',
      'pending',
    ],
    [
      'one could not be refunded',
      [
        ['registered', 'registered'],
        ['registered', 'failed'],
      ],
      'registered',
      'failed',
    ],
  ])('%s', (_name, given, receipt, fiscalRefund) => {
    expect(standingOf(sales(given))).toEqual({ receipt, fiscalRefund });
  });
});

describe('without money', () => {
  it.each<[string, Given[], string, string]>([
    ['what has not left is cancelled first', [['registered'], ['accepted']], 'accepted', 'none'],
    ['what is registered is refunded beside one that is unknown', [['unknown'], ['registered']], 'registered', 'none'],
    ['then the unknown one is waited for', [['unknown'], ['registered', 'pending']], 'unknown', 'pending'],
    ['a refund that is missing is begun', [['registered', 'registered'], ['registered']], 'registered', 'partial'],
    ['all is back, or never was', [['registered', 'registered'], ['rejected']], 'registered', 'registered'],
    ['none was ever registered', [['cancelled'], ['rejected']], 'rejected', 'none'],
  ])('%s', (_name, given, receipt, fiscalRefund) => {
    expect(standingWithoutMoney(sales(given))).toEqual({ receipt, fiscalRefund });
  });
});

// The worker died between the refunds of two sales.
it.each<[SagaSnapshot['state']]>([['authorized'], ['capture_refused'], ['voided'], ['refunded']])(
  'what is missing of the refunds is begun, and nothing is taken (%s)',
  (state) => {
    const now: SagaSnapshot = {
      ...{
        flow: 'hold',
        state,
        receipt: 'registered',
        fiscalRefund: 'partial',
        isRefundedAhead: false,
        refundRequested: false,
        mayBeBack: false,
        mayBeCharged: false,
        isOfCopy: false,
        isFoundByOurRef: false,
        isReceiptKept: false,
        canRefund: true,
      },
      ...{ isPrepared: true, link: 'none', fiscalisedBy: 'register', code: 'none', waitsForCapture: false },
      documents: { next: 'await', nextRefund: 'await', sale: false, refund: false, isOverdue: false },
      ...{ cancelRequested: false, outOfTime: false },
    };
    expect(nextStep(now)).toEqual({ kind: 'start_fiscal_refund' });
  },
);
