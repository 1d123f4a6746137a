// Promise: what an answer means is decided by one table; whatever is odd is unclear, never success and never failure.
import { LOCAL_RULES, type FmInfo, type LocalStatus, type SaleResponse } from './local-api.js';
import {
  checkIdentity,
  decideAnswer,
  decideRefusal,
  decideRepeat,
  hasExtensions,
  readingOf,
  whatWasLost,
  type Baseline,
  type RegisterAnswer,
} from './outcome.js';

const SUMS = ['saleCash', 'saleCard', 'refundCash', 'refundCard', 'saleVat', 'refundVat'] as const;
const TERMINAL = 'UZ000000000001';
const KEYED: Baseline = { terminalId: TERMINAL, journalId: 'journal-1', sequence: 41, reading: null };
const UNKNOWN: Baseline = { terminalId: null, journalId: null, sequence: null, reading: null };

describe('definitive codes', () => {
  const DOCUMENT_CODES = [
    ...['E-003', 'E-004', 'E-005', 'E-006', 'E-007', 'E-008', 'E-009', 'E-010', 'E-011', 'E-012', 'E-013', 'E-014'],
    ...['E-015', 'E-017', 'E-018'],
  ];

  test.each(DOCUMENT_CODES)('%s speaks of the document: rejected', (code) => {
    const answer = refused(code, { rule: LOCAL_RULES[code as keyof typeof LOCAL_RULES], details: { itemIndex: 2 } });
    const rule = LOCAL_RULES[code as keyof typeof LOCAL_RULES];
    expect(decide(answer)).toEqual({ kind: 'rejected', rejection: { code, rule, detail: 'no', line: 3 } });
  });

  test.each(['E-001', 'E-016', 'F-001', 'F-003', 'F-005', 'S-001', 'S-002', 'S-003'])(
    '%s speaks of the device: blocked, the receipt waits',
    (code) => {
      expect(decide(refused(code))).toEqual({ kind: 'device_refused', state: 'blocked', reason: `${code}: no` });
    },
  );

  test('E-002: expired', () => {
    expect(decide(refused('E-002'))).toEqual({ kind: 'device_refused', state: 'expired', reason: 'E-002: no' });
  });

  test('F-002: the shift is closed', () => {
    expect(decide(refused('F-002'))).toEqual({ kind: 'shift_closed' });
  });

  test('F-005 about the payment speaks of the document: rejected, whatever its type', () => {
    const refused = { code: 'F-005', message: 'no', details: { reason: 'payment_mismatch' } };
    expect(decideRefusal(refused, false)).toMatchObject({ kind: 'rejected', rejection: { code: 'F-005' } });
    const other = { ...refused, details: { reason: 'shift_full' } };
    expect(decideRefusal(other, false)).toMatchObject({ kind: 'device_refused' });
  });

  test('F-003 about the lifetime sums speaks of the document: they never shrink, and smaller receipts wait behind it', () => {
    const full = { code: 'F-003', message: 'no', details: { reason: 'sums_full' } };
    const rejected = { kind: 'rejected', rejection: { code: 'F-003', rule: null, detail: 'no', line: null } };
    expect(decideRefusal(full, false)).toEqual(rejected);
    expect(decideRepeat({ baseline: KEYED, isRefund: false }, refused('F-003', full))).toEqual({
      kind: 'refused',
      outcome: rejected,
    });
  });

  test.each(['memory_full', 'shift_memory_full', 'unsent_too_old', 'clock_behind'])(
    'F-003, %s: speaks of the module, which may change: the receipt waits',
    (reason) => {
      const refusal = { code: 'F-003', message: 'no', details: { reason } };
      expect(decideRefusal(refusal, false)).toMatchObject({ kind: 'device_refused', state: 'blocked' });
      expect(decideRefusal(refusal, true)).toMatchObject({ kind: 'device_refused', state: 'blocked' });
    },
  );

  test('F-005 on a refund speaks of the refund: rejected', () => {
    expect(decideRefusal({ code: 'F-005', message: 'no' }, true)).toMatchObject({ kind: 'rejected' });
    const exceeds = { code: 'F-005', message: 'no', details: { reason: 'refund_exceeds_sales' } };
    expect(decideRefusal(exceeds, true)).toMatchObject({ kind: 'rejected' });
  });

  test('F-005 about a full shift speaks of the shift, also on a refund: it waits for the next one', () => {
    const full = { code: 'F-005', message: 'no', details: { reason: 'shift_full' } };
    expect(decideRefusal(full, true)).toMatchObject({ kind: 'device_refused', state: 'blocked' });
    expect(decideRepeat({ baseline: KEYED, isRefund: true }, refused('F-005', full))).toMatchObject({
      kind: 'refused',
      outcome: { kind: 'device_refused' },
    });
  });

  describe('413: no request of this size is taken, and no other time would change that', () => {
    const FOREIGN = { ...KEYED, journalId: null };
    const tooLarge = { kind: 'rejected', rejection: { code: 'payload_too_large', rule: null, line: null } };
    const page: RegisterAnswer = { kind: 'unclear', reason: 'http_error', httpStatus: 413, excerpt: '<html>' };

    test('in the words of the local API: rejected', () => {
      expect(decide(refused('S-003', { httpStatus: 413 }))).toMatchObject(tooLarge);
      expect(decide(refused('F-001', { httpStatus: 413 }))).toMatchObject({ kind: 'device_refused' });
    });

    test('in other words: rejected where the counters are to confirm it, else asked again by its key', () => {
      expect(decideAnswer({ baseline: FOREIGN, isRefund: false }, page)).toMatchObject(tooLarge);
      expect(decideAnswer({ baseline: KEYED, isRefund: false }, page)).toMatchObject({ kind: 'unclear' });
      expect(decideRepeat({ baseline: KEYED, isRefund: false }, page)).toMatchObject({
        kind: 'refused',
        outcome: tooLarge,
      });
    });

    test('beside a success it proves nothing', () => {
      const both: RegisterAnswer = { ...page, reason: 'contradiction' };
      expect(decideAnswer({ baseline: FOREIGN, isRefund: false }, both)).toMatchObject({ kind: 'unclear' });
      expect(decideRepeat({ baseline: KEYED, isRefund: false }, both)).toMatchObject({ kind: 'unproven' });
    });
  });

  test.each(['S-004', 'S-005', 'T-001', 'T-003', 'F-004', 'E-019', 'E-000', 'e-013', ''])(
    'code «%s» proves nothing',
    (code) => {
      expect(decide(refused(code))).toEqual({ kind: 'unclear', reason: `code ${code}: no` });
    },
  );

  test.each([
    ['no details', undefined, null],
    ['null', null, null],
    ['text', 'itemIndex 2', null],
    ['an index that is none', { itemIndex: '2' }, null],
    ['half an index', { itemIndex: 0.5 }, null],
    ['the first item', { itemIndex: 0 }, 1],
  ])('line of a rejection with %s', (_name, details, line) => {
    expect(decide(refused('E-013', { details }))).toMatchObject({ rejection: { line } });
  });
});

describe('what was not sent and what is unclear', () => {
  test('nothing was sent', () => {
    expect(decide({ kind: 'not_sent', reason: 'ECONNREFUSED' })).toEqual({ kind: 'not_sent', reason: 'ECONNREFUSED' });
  });

  test.each(['timeout', 'reset', 'unreadable', 'too_large', 'contradiction', 'http_error', 'redirect'])(
    '%s is unclear',
    (reason) => {
      expect(decide({ kind: 'unclear', reason })).toEqual({ kind: 'unclear', reason });
    },
  );
});

describe('a success counts only from the expected terminal and above the last sequence', () => {
  test.each<[string, Baseline, [terminalId: string, receiptSeq: number], object]>([
    ['the next sequence', KEYED, [TERMINAL, 42], { kind: 'registered', foreignSales: false }],
    ['a larger one: another program sells there', KEYED, [TERMINAL, 44], { kind: 'registered', foreignSales: true }],
    ['nothing is known yet', UNKNOWN, [TERMINAL, 7], { kind: 'registered', foreignSales: false }],
    ['the terminal is known, the sequence not', { ...KEYED, sequence: null }, [TERMINAL, 7], { kind: 'registered' }],
    ['the same sequence again', KEYED, [TERMINAL, 41], { kind: 'unclear' }],
    ['a smaller sequence', KEYED, [TERMINAL, 3], { kind: 'unclear' }],
    ['another terminal', KEYED, ['UZ000000000002', 42], { kind: 'unclear' }],
    [
      'another terminal, though nothing of the sequence is known',
      { ...KEYED, sequence: null },
      ['UZ9', 1],
      { kind: 'unclear' },
    ],
  ])('%s', (_name, baseline, [terminalId, receiptSeq], expected) => {
    const answer = registered({ terminalId, receiptSeq });
    expect(decideAnswer({ baseline, isRefund: false }, answer)).toMatchObject(expected);
  });

  test('what is recorded of it', () => {
    expect(decide(registered({ receiptSeq: 42 }))).toEqual({
      kind: 'registered',
      foreignSales: false,
      registration: {
        ...{ terminalId: TERMINAL, receiptSeq: 42, fiscalSign: '123', verificationUrl: 'https://ofd.example/q' },
        ...{
          transactionTimeMs: 1_700_000_000_000,
          ofdSent: true,
          ofdError: null,
          recordedFields: [],
          shiftNumber: null,
        },
      },
    });
  });

  test('an advance has no sign, and an unsent receipt has its reason', () => {
    const response = sale({ receiptSeq: 42 });
    delete response.receipt.fiscalSign;
    delete response.receipt.qrUrl;
    const answer: RegisterAnswer = {
      ...{ kind: 'registered', httpStatus: 200 },
      response: { ...response, ofdSent: false, ofdError: 'T-001' },
    };
    const bare = { fiscalSign: null, verificationUrl: null, ofdSent: false, ofdError: 'T-001' };
    expect(decide(answer)).toMatchObject({ registration: bare });
  });
});

describe('repetition under the same key (§5.5)', () => {
  test.each<[string, RegisterAnswer, object]>([
    ['registered now', registered({ receiptSeq: 42 }), { kind: 'registered', evidence: 'journal' }],
    ['registered before, others after it', registered({ receiptSeq: 45 }), { kind: 'registered' }],
    ['registered by an attempt before this one', registered({ receiptSeq: 12 }), { kind: 'registered' }],
    ['registered by another terminal', registered({ terminalId: 'UZ9', receiptSeq: 42 }), { kind: 'unproven' }],
    ['not sent', { kind: 'not_sent', reason: 'guard' }, { kind: 'unproven', reason: 'guard' }],
    ['unclear again', { kind: 'unclear', reason: 'timeout' }, { kind: 'unproven', reason: 'timeout' }],
    ['another document under this key', refused('S-005'), { kind: 'conflict', reason: 'S-005: no' }],
    ['the shift is closed', refused('F-002'), { kind: 'shift_closed' }],
    ['an internal error', refused('S-004'), { kind: 'unproven' }],
    ['an unknown code', refused('X-1'), { kind: 'unproven' }],
    ['the document is refused', refused('E-013'), { kind: 'refused', outcome: { kind: 'rejected' } }],
    [
      'the device refuses',
      refused('F-001'),
      { kind: 'refused', outcome: { kind: 'device_refused', state: 'blocked' } },
    ],
    ['expired', refused('E-002'), { kind: 'refused', outcome: { kind: 'device_refused', state: 'expired' } }],
    ['F-005 on a sale', refused('F-005'), { kind: 'refused', outcome: { kind: 'device_refused' } }],
  ])('%s', (_name, answer, expected) => {
    expect(decideRepeat({ baseline: KEYED, isRefund: false }, answer)).toMatchObject(expected);
  });

  test('F-005 on a refund', () => {
    const outcome = decideRepeat({ baseline: KEYED, isRefund: true }, refused('F-005'));
    expect(outcome).toMatchObject({ kind: 'refused', outcome: { kind: 'rejected' } });
  });
});

describe('who answers (§5.1)', () => {
  const FOREIGN: Baseline = { ...KEYED, journalId: null, reading: readingOf(info({ currentReceiptSeq: 40 })) };

  test.each<[string, Baseline, [Partial<LocalStatus>, Partial<FmInfo>], 'same' | 'replaced']>([
    ['the one we know', KEYED, [{}, {}], 'same'],
    ['no terminal was known', UNKNOWN, [{ journalId: 'other' }, { terminalId: 'UZ9', currentReceiptSeq: 0 }], 'same'],
    ['others have sold since', KEYED, [{}, { currentReceiptSeq: 60 }], 'same'],
    ['another terminal', KEYED, [{}, { terminalId: 'UZ9' }], 'replaced'],
    ['another journal', KEYED, [{ journalId: 'journal-2' }, {}], 'replaced'],
    ['no journal any more', KEYED, [{ journalId: undefined, capabilities: [] }, {}], 'replaced'],
    ['a smaller sequence: restored from a copy', KEYED, [{}, { currentReceiptSeq: 40 }], 'replaced'],
    ['foreign: counts from another document', FOREIGN, [{ journalId: undefined }, { currentReceiptSeq: 40 }], 'same'],
    [
      'foreign: below its own earlier reading',
      FOREIGN,
      [{ journalId: undefined }, { currentReceiptSeq: 39 }],
      'replaced',
    ],
    [
      'foreign: never read',
      { ...FOREIGN, reading: null },
      [{ journalId: undefined }, { currentReceiptSeq: 1 }],
      'same',
    ],
    ['foreign: another terminal', FOREIGN, [{ journalId: undefined }, { terminalId: 'UZ9' }], 'replaced'],
  ])('%s', (_name, known, [statusFields, infoFields], expected) => {
    expect(checkIdentity(known, status(statusFields), info(infoFields)).kind).toBe(expected);
  });

  test.each(SUMS)('%s that shrank means a copy that was put back, whatever the sequence says', (key) => {
    const before = readingOf(info({}));
    const known: Baseline = { terminalId: TERMINAL, journalId: null, sequence: 40, reading: before };
    const less = { ...before.sums, [key]: before.sums[key] - 1 };
    const more = { ...before.sums, [key]: before.sums[key] + 1 };
    expect(whatWasLost({ ...before, sums: more }, { ...before, sequence: 50 })).toContain(key);
    expect(whatWasLost({ ...before, sums: less }, before)).toBeNull();
    const bare = status({ capabilities: undefined, journalId: undefined });
    const identity = checkIdentity(
      { ...known, reading: { ...before, sums: more } },
      bare,
      info({ currentReceiptSeq: 50 }),
    );
    expect(identity).toMatchObject({ kind: 'replaced', reason: expect.stringContaining(key) });
  });

  test.each<[string, Partial<LocalStatus>, boolean]>([
    ['both capabilities and a journal', {}, true],
    ['no journal id', { journalId: undefined }, false],
    ['one capability', { capabilities: ['idempotency'] }, false],
    ['the other capability', { capabilities: ['journal'] }, false],
    ['none', { capabilities: undefined }, false],
  ])('extensions: %s', (_name, fields, expected) => {
    expect(hasExtensions(status(fields))).toBe(expected);
  });

  test('a reading is terminal, sequence and the six sums, nothing else', () => {
    const reading = readingOf(info({ receiptCount: 9, zreportCount: 9 }));
    expect(reading).toEqual({
      ...{ terminalId: TERMINAL, sequence: 41 },
      sums: { saleCash: 1, saleCard: 2, refundCash: 3, refundCard: 4, saleVat: 5, refundVat: 6 },
    });
  });
});

function decide(answer: RegisterAnswer): unknown {
  return decideAnswer({ baseline: KEYED, isRefund: false }, answer);
}

function refused(code: string, more: { rule?: string; details?: unknown; httpStatus?: number } = {}): RegisterAnswer {
  return { kind: 'refused', httpStatus: 400, code, message: 'no', ...more };
}

function registered(receipt: { terminalId?: string; receiptSeq: number }): RegisterAnswer {
  return { kind: 'registered', httpStatus: 200, response: sale(receipt) };
}

function sale({ terminalId = TERMINAL, receiptSeq }: { terminalId?: string; receiptSeq: number }): SaleResponse {
  const receipt = { terminalId, receiptSeq, fiscalSign: '123', qrUrl: 'https://ofd.example/q' };
  return { success: true, receipt: { ...receipt, transactionTime: 1_700_000_000_000 }, receiptHtml: '', ofdSent: true };
}

function status(fields: Partial<LocalStatus>): LocalStatus {
  const about = { app: 'register', version: '1', systemVersion: '1', port: 8080, fmInitialized: true, activated: true };
  const extensions = { capabilities: ['idempotency', 'journal'], journalId: 'journal-1' };
  return { ...about, subscriptionState: 'active', ...extensions, ...fields };
}

function info(fields: Partial<FmInfo>): FmInfo {
  return {
    ...{ terminalId: TERMINAL, version: '1', type: 1, receiptCount: 0, receiptMaxCount: 5_000 },
    ...{ zreportCount: 0, zreportMaxCount: 900, currentReceiptSeq: 41 },
    ...{ AccumulatedSaleCash: 1, AccumulatedSaleCard: 2, AccumulatedRefundCash: 3, AccumulatedRefundCard: 4 },
    ...{ AccumulatedSaleVAT: 5, AccumulatedRefundVAT: 6 },
    ...fields,
  };
}
