// Promise: what a register answered is recorded by the next start, also where the attempt was resolved meanwhile, and is never lost.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registration } from '#fiscal-domain';
import type { AttemptOfReceipt } from '#ledger';
import { createLogger } from '#runtime';
import { AnswerFiles } from './answer-files.js';
import type { AnswerInHand } from './record-answer.js';
import { RecordAnswer } from './record-answer.js';
import { ReplayAnswers } from './replay-answers.js';
import { BASELINE, LaneRows } from './testing/lane-rows.js';

const REGISTRATION: Registration = {
  terminalId: 'UZ1',
  receiptSeq: 41,
  fiscalSign: '123456789012',
  verificationUrl: 'https://ofd.example/1',
  transactionTimeMs: Date.parse('2026-01-02T03:04:05Z'),
  ofdSent: true,
  ofdError: null,
  recordedFields: [],
  shiftNumber: null,
};
const logger = createLogger('test', 'silent');

let rows: LaneRows;
let folder: string;
let files: AnswerFiles;
let replay: ReplayAnswers;
let published: string[];

beforeAll(async () => {
  rows = await LaneRows.start();
});
afterAll(() => rows?.stop());
beforeEach(async () => {
  await rows.clear();
  await rows.holdLane();
  folder = join(mkdtempSync(join(tmpdir(), 'fiscal-spool-')), 'answers');
  files = new AnswerFiles(folder);
  published = [];
  const recorder = new RecordAnswer(rows.ours, files, logger, delay);
  replay = new ReplayAnswers(files, recorder, { notify: (id) => void published.push(id) }, logger);
});
afterEach(async () => {
  await rows.session.end();
  rmSync(join(folder, '..'), { recursive: true });
});

const answerTo = (attempt: { receiptId: string; attemptId: string }, receiptSeq = 41): AnswerInHand => ({
  receiptId: attempt.receiptId,
  close: {
    attemptId: attempt.attemptId,
    receiptId: attempt.receiptId,
    deviceId: rows.deviceId,
    registration: { ...REGISTRATION, receiptSeq },
    evidence: 'answer',
    baseline: { ...BASELINE, sequence: receiptSeq },
    lastKnown: { receiptSeq, growth: null },
  },
});

test('a folder that is not there yet holds nothing', async () => {
  expect(await files.list()).toEqual([]);
  await replay.replay();
});

test('of an attempt that is still open: registered as if nothing had happened, and published', async () => {
  const attempt = await rows.createOpenAttempt();
  await files.keep(answerTo(attempt));
  await replay.replay();
  expect(await rows.receipt(attempt.receiptId)).toMatchObject({
    ...{ status: 'registered', receipt_seq: '41', fiscal_sign: REGISTRATION.fiscalSign, evidence: 'answer' },
  });
  expect(await rows.lane()).toMatchObject({ baseline: { sequence: 41 }, last_known: { receiptSeq: 41 } });
  expect([published, readdirSync(folder)]).toEqual([[attempt.receiptId], []]);
});

test.each<[string, (attempt: AttemptOfReceipt) => Promise<unknown>, string]>([
  [
    'parked as unknown: proved',
    (attempt) => rows.others.closeUnknown(attempt, { why: 'parked' }, { mustSettle: true }),
    'registered',
  ],
  [
    'called not registered: not sent again',
    (attempt) => rows.others.closeNotRegistered(attempt, {}, rows.laneLock),
    'registered',
  ],
])('of an attempt that another relay has %s', async (_what, resolve, status) => {
  const attempt = await rows.createOpenAttempt();
  await files.keep(answerTo(attempt));
  await resolve(attempt);
  await replay.replay();
  expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status, receipt_seq: '41' });
  expect(readdirSync(folder)).toEqual([]);
});

test('recorded by two relays that share the folder: once', async () => {
  const attempt = await rows.createOpenAttempt();
  await files.keep(answerTo(attempt));
  const answer = (await files.read(attempt.attemptId))!;
  await rows.others.closeRegistered(answer.close);
  await replay.replay();
  expect(await rows.events()).toEqual(['receipt.registered']);
  await files.drop(attempt.attemptId);
  expect([await files.read(attempt.attemptId), readdirSync(folder)]).toEqual([null, []]);
});

test('what the ledger does not take stays for a person: a receipt that a restored copy lacks, a sequence of another one', async () => {
  const [first, second] = [await rows.createOpenAttempt(), { receiptId: 'rcp_lost', attemptId: 'att_lost' }];
  await rows.ours.closeRegistered(answerTo(first).close);
  const third = await rows.createOpenAttempt();
  for (const attempt of [second, third]) await files.keep(answerTo(attempt));
  await replay.replay();
  expect(readdirSync(folder).sort()).toEqual(['att_lost.json.refused', `${third.attemptId}.json.refused`].sort());
  expect(await rows.receipt(third.receiptId)).toMatchObject({ status: 'sending' });
  expect(await files.list()).toEqual([]);
});

test('half a file and one that is no answer keep no other from being recorded', async () => {
  const attempt = await rows.createOpenAttempt();
  await files.keep(answerTo(attempt));
  writeFileSync(join(folder, 'att_0.json'), '{"version":1,"ans');
  writeFileSync(join(folder, 'att_1.json.7.part'), '{}');
  await replay.replay();
  expect(await rows.receipt(attempt.receiptId)).toMatchObject({ status: 'registered' });
  expect(readdirSync(folder).sort()).toEqual(['att_0.json', 'att_1.json.7.part']);
});
