// Promise: a register whose clock is wrong is named, with how much, until it has sold with a right one or nothing for an hour.
import { createLogger } from '#runtime';
import { DeviceClocks } from './device-clocks.js';
import { RecordAnswer, type AnswerInHand } from './record-answer.js';

let nowMs = Date.UTC(2026, 0, 1);
let clocks: DeviceClocks;
beforeEach(() => (clocks = new DeviceClocks(() => nowMs)));

const shown = (): [string, number][] => [...clocks.read()];

test.each([
  ['as late as an answer may be', -29_000, []],
  ['a second ahead', 1_000, []],
  ['an hour ahead', 3_600_000, [['dev_1', 3_600_000]]],
  ['five hours behind', -18_000_000, [['dev_1', -18_000_000]]],
])('%s', (_name, aheadMs, expected) => {
  clocks.note('dev_1', nowMs + aheadMs);
  expect(shown()).toEqual(expected);
});

test('is shown no more once it is right, or has sold nothing for an hour', () => {
  clocks.note('dev_1', nowMs + 600_000);
  clocks.note('dev_2', nowMs - 600_000);
  clocks.note('dev_1', nowMs);
  expect(shown()).toEqual([['dev_2', -600_000]]);
  nowMs += 3_600_001;
  expect(shown()).toEqual([]);
});

describe('of what a register has just answered', () => {
  const answer = (evidence: 'answer' | 'journal'): AnswerInHand => ({
    receiptId: 'rcp_1',
    close: {
      ...{ attemptId: 'att_1', receiptId: 'rcp_1', deviceId: 'dev_1', evidence, lastKnown: null },
      baseline: { terminalId: 'UZ1', journalId: null, sequence: 1, reading: null },
      registration: {
        ...{ terminalId: 'UZ1', receiptSeq: 1, fiscalSign: 'sign', verificationUrl: null, transactionTimeMs: nowMs },
        ...{ ofdSent: true, ofdError: null, recordedFields: [], shiftNumber: null },
      },
    },
  });
  /** The database is away for the first try and ten minutes. */
  const recorded = async (inHand: AnswerInHand): Promise<[string, number][]> => {
    let tries = 0;
    const closeRegistered = (): Promise<'closed'> => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve('closed');
    };
    const store = { closeRegistered } as never;
    const spool = { keep: () => Promise.resolve(), drop: () => Promise.resolve() };
    const pause = (): Promise<void> => Promise.resolve(void (nowMs += 600_000));
    const answers = new RecordAnswer(store, spool, createLogger('test', 'silent'), pause, clocks);
    const lane = { patiently: (work: () => Promise<unknown>) => work() } as never;
    expect(await answers.record(lane, inHand)).toMatchObject({ kind: 'closed' });
    return shown();
  };

  test('how long recording took is not the clock’s', async () => {
    const inHand = answer('answer');
    expect(await recorded(inHand)).toEqual([]);
    inHand.close.registration.transactionTimeMs = nowMs + 3_600_000;
    expect(await recorded(inHand)).toEqual([['dev_1', 3_600_000]]);
  });

  test('what stood in its journal says nothing', async () => {
    const inHand = answer('journal');
    inHand.close.registration.transactionTimeMs = nowMs - 3_600_000;
    expect(await recorded(inHand)).toEqual([]);
  });
});

test('an emulated register is not shown', () => {
  clocks.note('dev_test_1', nowMs + 3_600_000);
  expect(shown()).toEqual([]);
});
